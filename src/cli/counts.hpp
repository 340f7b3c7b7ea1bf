#pragma once
/// \file counts.hpp
/// Numbers of nodes or ranks as people write several of them.

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::cli {

/// "8", "2,4,8", "1:2048:x2" (each twice the one before), "1:16:+1", and several of these with commas between; none for "".
/// \throws RequestError naming the option and what to write
[[nodiscard]] std::vector<int> counts_of(const std::string& text, std::string_view option);

}  // namespace fabricost::cli
