#pragma once
/// \file algorithm.hpp
/// The algorithms a prediction can name. An algorithm says what moves between which ranks, never over which hardware.

#include <fabricost/collective.hpp>

#include <array>
#include <optional>
#include <string_view>

namespace fabricost {

enum class Algorithm : unsigned char {
  ring, tree, nvls, nvls_tree, collnet_direct, collnet_chain, pat, halving_doubling, rabenseifner, bruck, pairwise, direct,
  torus_bucket, one_shot, two_shot, hierarchical, recursive_doubling
};
inline constexpr int algorithm_count = static_cast<int>(Algorithm::recursive_doubling) + 1;
inline constexpr std::array<std::string_view, algorithm_count> algorithm_names{
    "ring", "tree", "nvls", "nvls_tree", "collnet_direct", "collnet_chain", "pat", "halving_doubling",
    "rabenseifner", "bruck", "pairwise", "direct", "torus_bucket", "one_shot", "two_shot", "hierarchical",
    "recursive_doubling"};
[[nodiscard]] constexpr std::string_view name(Algorithm a) { return algorithm_names[static_cast<std::size_t>(a)]; }
static_assert(!algorithm_names.back().empty(), "every algorithm has a name");

/// Names in any case, with dashes or underscores; `sharp` is collnet_chain.
[[nodiscard]] inline std::optional<Algorithm> parse_algorithm(std::string_view text) {
  if (detail::folded(text) == "sharp") return Algorithm::collnet_chain;
  return detail::parse_enum<Algorithm>(text, algorithm_names);
}

}  // namespace fabricost
