#pragma once
/// \file counts.hpp
/// Lists and ranges of node or rank counts.

#include <fabricost/namespaces.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// "8", "2,4,8", "1:2048:x2" (each twice the previous one), "1:16:+1", or several of these separated by
/// commas; none for "".
/// \throws RequestError naming the option and a valid value
[[nodiscard]] std::vector<int> counts_of(const std::string& text, std::string_view option);

}  // namespace fabricost::core
