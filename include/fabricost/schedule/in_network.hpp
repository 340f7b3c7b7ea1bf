#pragma once
/// \file in_network.hpp
/// Algorithms in which switches combine or multiply data.
///
///   nvls            every GPU of a domain sends its part to the NVSwitches, which add and multicast: S (1 + 1/n) per
///                   direction instead of the ring's 2 S (n-1)/n
///   nvls_tree       nvls inside each domain, double binary trees between them
///   collnet_direct  direct reduce-scatter and all-gather inside, the network's switches (SHARP) in between: S per domain
///   collnet_chain   the same with a chain inside (alias sharp)

#include <fabricost/schedule/schedule.hpp>

namespace fabricost {

[[nodiscard]] inline Schedule nvls_schedule(Collective collective, const Levels& levels) {
  Schedule out{Algorithm::nvls, collective, levels};
  const double n = levels.size(0);
  if (levels.ranks() <= 1) return out;
  const bool both = collective == Collective::all_reduce;
  // one direction carries a rank's own part up, the other the result down; the busier one counts
  out.add(
      {.level = 0, .steps = both ? 2.0 : 1.0, .bytes = both ? 1 + 1 / n : 1, .message = 1 / n, .reduces = reduces(collective) ? 1.0 : 0.0});
  return out;
}

[[nodiscard]] inline Schedule nvls_tree_schedule(Collective collective, const Levels& levels) {
  Schedule out{Algorithm::nvls_tree, collective, levels};
  const double g = levels.size(0);
  const double N = levels.ranks() / g;
  if (levels.ranks() <= 1) return out;
  out.add({.level = 0, .steps = 2, .bytes = 1 + 1 / g, .message = 1 / g, .reduces = 1});
  for (int level = 1; level < levels.count; ++level) {
    const double hops = std::log2(levels.size(level));
    out.add({.level = level, .steps = 2 * hops, .bytes = N > 2 ? 2.0 : 1.0, .message = 1 / g, .forwards = hops, .reduces = hops});
  }
  return out;
}

[[nodiscard]] inline Schedule collnet_schedule(Algorithm algorithm, Collective collective, const Levels& levels) {
  Schedule out{algorithm, collective, levels};
  const double g = levels.size(0);
  if (levels.ranks() <= 1) return out;
  const bool chain = algorithm == Algorithm::collnet_chain;
  if (g > 1)
    out.add({.level = 0,
             .steps = chain ? 2 * (g - 1) : 2,
             .bytes = (collective == Collective::all_reduce ? 2 : 1) * (chain ? 1 : (g - 1) / g),
             .message = chain ? 1 : 1 / g,
             .reduces = 1});
  for (int level = 1; level < levels.count; ++level) out.add({.level = level, .steps = 2, .bytes = 1, .message = 1 / g, .reduces = 1});
  return out;
}

}  // namespace fabricost
