#pragma once
/// \file claims.hpp
/// The number of the texts' claims by verdict. The counts come from reading all five texts sentence by sentence, 310 claims;
/// they are carried as they are.

#include <array>
#include <span>
#include <string_view>

namespace seed_tables {

struct ClaimCount {
  std::string_view topic;
  int right = 0, misleading = 0, wrong = 0, unverifiable = 0;
  std::string_view where{};  ///< section of the page

  [[nodiscard]] constexpr int all() const { return right + misleading + wrong + unverifiable; }
};

[[nodiscard]] std::span<const ClaimCount> claims_by_topic();
[[nodiscard]] std::span<const ClaimCount> claims_by_text();
[[nodiscard]] ClaimCount sum(std::span<const ClaimCount> counts);

}  // namespace seed_tables
