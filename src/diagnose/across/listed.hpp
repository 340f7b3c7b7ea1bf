#pragma once
/// \file listed.hpp
/// Ranks in words. Private.

#include <set>
#include <string>

namespace fabricost::diagnosis {

/// "3", "3 and 7", "0-5 and 7": at most eight parts.
[[nodiscard]] std::string listed(const std::set<int>& ranks);

}  // namespace fabricost::diagnosis
