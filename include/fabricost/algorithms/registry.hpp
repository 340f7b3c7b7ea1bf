#pragma once
/// The algorithms a prediction can name. To add one, include its file and name it here; definition.hpp
/// describes the file.

#include <fabricost/algorithms/binomial.hpp>
#include <fabricost/algorithms/bruck.hpp>
#include <fabricost/algorithms/direct.hpp>
#include <fabricost/algorithms/halving_doubling.hpp>
#include <fabricost/algorithms/hierarchical.hpp>
#include <fabricost/algorithms/in_network.hpp>
#include <fabricost/algorithms/pat.hpp>
#include <fabricost/algorithms/recursive_doubling.hpp>
#include <fabricost/algorithms/ring.hpp>
#include <fabricost/algorithms/peer_memory.hpp>
#include <fabricost/algorithms/torus_bucket.hpp>
#include <fabricost/algorithms/tree.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace fabricost::core {

namespace algorithms {
/// In the order of printed lists; append new ones.
using All = std::tuple<Ring, Tree, Nvls, NvlsTree, CollnetDirect, CollnetChain, Pat, HalvingDoubling, Rabenseifner, Bruck, Pairwise, Direct,
                       TorusBucket, OneShot, TwoShot, Hierarchical, RecursiveDoubling, Binomial>;
}  // namespace algorithms
inline constexpr int algorithm_count = std::tuple_size_v<algorithms::All>;

namespace detail {
template <class A, class... Each>
[[nodiscard]] consteval unsigned char place_in(std::type_identity<std::tuple<Each...>>) {
  unsigned char place = 0;
  if (!((std::is_same_v<A, Each> || (++place, false)) || ...)) throw "not in the list";
  return place;
}
}  // namespace detail
/// Position of an algorithm among all.
template <class A>
inline constexpr unsigned char place_of = detail::place_in<A>(std::type_identity<algorithms::All>{});

/// Their names in code, in that order.
enum class Algorithm : unsigned char {
  ring,
  tree,
  nvls,
  nvls_tree,
  collnet_direct,
  collnet_chain,
  pat,
  halving_doubling,
  rabenseifner,
  bruck,
  pairwise,
  direct,
  torus_bucket,
  one_shot,
  two_shot,
  hierarchical,
  recursive_doubling,
  binomial
};

namespace detail {
/// f of every algorithm's struct, as an array in registry order.
template <class F, class... Each>
[[nodiscard]] constexpr auto of_every(F f, std::type_identity<std::tuple<Each...>>) {
  return std::array{f(Each{})...};
}
template <class F>
[[nodiscard]] constexpr auto of_every(F f) {
  return of_every(f, std::type_identity<algorithms::All>{});
}

}  // namespace detail

/// f(A{}) of the algorithm's struct.
template <std::size_t place = 0, class F>
constexpr auto with_algorithm(Algorithm algorithm, F&& f) {
  if constexpr (place + 1 < std::tuple_size_v<algorithms::All>)
    if (static_cast<std::size_t>(algorithm) != place) return with_algorithm<place + 1>(algorithm, f);
  return f(std::tuple_element_t<place, algorithms::All>{});
}

/// f(A{}) of every algorithm's struct, in registry order.
template <class F>
void for_every_algorithm(F&& f) {
  std::apply([&](auto... each) { (f(each), ...); }, algorithms::All{});
}

inline constexpr auto algorithm_names = detail::of_every([](auto a) { return std::string_view{a.name}; });
static_assert(static_cast<int>(Algorithm::binomial) + 1 == algorithm_count);
[[nodiscard]] constexpr std::string_view name(Algorithm a) { return algorithm_names[static_cast<std::size_t>(a)]; }

/// Names in any case, with dashes or underscores, and aliases (`sharp` and `collnet` are collnet_chain).
[[nodiscard]] inline std::optional<Algorithm> parse_algorithm(std::string_view text) {
  constexpr auto aliases = detail::of_every([](auto one) { return std::string_view{one.alias}; });
  std::string wanted = folded(text);
  if (wanted == "collnet") wanted = algorithms::CollnetChain::alias;  // as logs of runs with NCCL_ALGO=COLLNET say it
  for (std::size_t i = 0; i < aliases.size(); ++i)
    if (!aliases[i].empty() && aliases[i] == wanted) return static_cast<Algorithm>(i);
  return parse_enum<Algorithm>(text, algorithm_names);
}

namespace detail {
inline constexpr auto one_partner = of_every([](auto a) { return algorithms::StepByStep<decltype(a)>; });
inline constexpr auto all_links = of_every([](auto a) { return a.all_links; });
inline constexpr auto nccl_names = of_every([](auto a) { return std::string_view{a.nccl_name}; });
/// One bit per collective.
[[nodiscard]] constexpr auto at_once_of(int level) {
  return of_every([level](auto a) {
    unsigned bits = 0;
    for (std::size_t op = 0; op < collective_names.size(); ++op)
      if (a.exchanges_at_once(static_cast<Collective>(op), level)) bits |= 1U << op;
    return bits;
  });
}
inline constexpr std::array at_once{at_once_of(0), at_once_of(1)};
}  // namespace detail

/// Spelling in NCCL_ALGO; empty if NCCL does not have it.
[[nodiscard]] constexpr std::string_view nccl_name(Algorithm a) { return detail::nccl_names[static_cast<std::size_t>(a)]; }
/// A rank has one partner per step and uses only the links to it.
[[nodiscard]] constexpr bool one_partner_a_step(Algorithm a) { return detail::one_partner[static_cast<std::size_t>(a)]; }
/// Switches of the network reduce (SHARP).
[[nodiscard]] constexpr bool is_collnet(Algorithm a) { return a == Algorithm::collnet_direct || a == Algorithm::collnet_chain; }
/// A rank sends over all of its links, whatever the number of ranks.
[[nodiscard]] constexpr bool uses_all_links(Algorithm a) { return detail::all_links[static_cast<std::size_t>(a)]; }
/// All ranks of a level send to each other at once, so the all-to-all taper applies. \param level 0 inside a
/// domain, 1 between domains
[[nodiscard]] constexpr bool exchanges_at_once(Algorithm a, Collective op, int level = 1) {
  return (detail::at_once[static_cast<std::size_t>(level)][static_cast<std::size_t>(a)] >> static_cast<unsigned>(op) & 1U) != 0;
}

}  // namespace fabricost::core

namespace fabricost {
namespace algorithms = core::algorithms;
using core::Algorithm;
using core::algorithm_names;
using core::nccl_name;
using core::parse_algorithm;
}  // namespace fabricost
