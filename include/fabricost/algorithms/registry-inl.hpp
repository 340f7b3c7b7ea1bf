#pragma once
/// \file registry-inl.hpp
/// Bodies of registry.hpp.

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core {

FABRICOST_BODY std::optional<Algorithm> parse_algorithm(std::string_view text) {
  constexpr auto aliases = detail::of_every([](auto one) { return std::string_view{one.alias}; });
  std::string wanted = folded(text);
  if (wanted == "collnet") wanted = algorithms::CollnetChain::alias;  // as logs of runs with NCCL_ALGO=COLLNET say it
  for (std::size_t i = 0; i < aliases.size(); ++i)
    if (!aliases[i].empty() && aliases[i] == wanted) return static_cast<Algorithm>(i);
  return parse_enum<Algorithm>(text, algorithm_names);
}

}  // namespace fabricost::core
