#pragma once
/// \file listed.hpp
/// Ranks and names in words. Private.

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace fabricost::observe::diagnosis {

/// "3", "3 and 7", "0-5 and 7": at most eight parts.
[[nodiscard]] std::string listed(const std::set<int>& ranks);
/// "a, b and 3 more": the first `most` of a range of names.
template <class Names>
[[nodiscard]] std::string first_of(const Names& names, std::size_t most, std::string_view between = ", ") {
  std::string out;
  std::size_t count = 0;
  for (const std::string& one : names)
    if (++count <= most) out.append(out.empty() ? "" : between).append(one);
  return count > most ? out + " and " + std::to_string(count - most) + " more" : out;
}

}  // namespace fabricost::observe::diagnosis
