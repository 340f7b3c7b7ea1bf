#pragma once
/// How many random questions are asked, and what they are drawn from: FABRICOST_QUESTIONS and FABRICOST_SEED set both.
#include "support/number_of.hpp"
#include "support/random_cases.hpp"

#include <cstdint>

namespace physics {

using support::number_of;

/// The draw of question `i` of a kind: the same for the same seed.
inline support::Random dice(int kind, long long i) {
  const auto start = static_cast<std::uint64_t>(number_of("FABRICOST_SEED", 20261121));
  return support::Random{start * 1000003ULL + static_cast<std::uint64_t>(kind) * 7919ULL + static_cast<std::uint64_t>(i) * 104729ULL};
}

constexpr double rounding = 1 + 1e-9;

}  // namespace physics
