#pragma once
/// \file exchange.hpp
/// Everybody to everybody, each rank holding S/n for each.
///
///   pairwise   n-1 steps with one partner each; (n-1)/n S
///   direct     all messages posted at once: one step, (n-1)/n S; also all_gather and reduce_scatter
///   bruck      ceil(log2 n) steps, each moving about half of S (Bruck et al. 1997): for small messages; also all_gather
///
/// Of a rank's partners g-1 are inside its domain; the others' parts leave it: g (n-g)/n S per domain.

#include <fabricost/schedule/schedule.hpp>

namespace fabricost {

namespace detail {
/// Adds the bytes of a full exchange level by level: an endpoint of level i sends to the other endpoints of its group there.
inline void add_exchange(Schedule& out, double steps_per_partner, bool staged) {
  const double n = out.levels.ranks();
  int furthest = 0;
  for (int level = 0; level < out.levels.count; ++level)
    if (out.levels.size(level) > 1) furthest = level;
  for (int level = 0; level < out.levels.count; ++level) {
    const double below = out.levels.below(level);
    const double partners = below * (out.levels.size(level) - 1);
    if (partners <= 0) continue;
    // at the outer levels what leaves a group includes traffic bound further out
    const double leaving = n - below;
    const bool outer = level > 0;
    const double at_once = level == furthest ? 1 : 0;  // the furthest is waited for
    out.add({.level = level,
             .stage = staged ? level : 0,
             .steps = steps_per_partner > 0 ? steps_per_partner * partners : at_once,
             .bytes = outer ? below * leaving / n : partners / n,
             .message = 1 / n,
             .reduces = out.collective == Collective::reduce_scatter ? partners : 0});
  }
}
}  // namespace detail

[[nodiscard]] inline Schedule pairwise_schedule(Collective collective, const Levels& levels) {
  Schedule out{Algorithm::pairwise, collective, levels};
  detail::add_exchange(out, 1, true);
  return out;
}

/// all_to_all, all_gather and reduce_scatter: the same bytes between the same pairs.
[[nodiscard]] inline Schedule direct_schedule(Collective collective, const Levels& levels) {
  Schedule out{Algorithm::direct, collective, levels};
  detail::add_exchange(out, 0, false);
  return out;
}

[[nodiscard]] inline Schedule bruck_schedule(Collective collective, const Levels& levels) {
  Schedule out{Algorithm::bruck, collective, levels};
  const double n = levels.ranks();
  if (n <= 1) return out;
  const double g = levels.size(0);
  const double steps = detail::log2_ceil(n);
  double inside = 0;
  double across = 0;
  for (int step = 0; step < static_cast<int>(steps); ++step) {
    const double distance = std::exp2(step);
    double blocks;  // of S/n, sent at this distance
    if (collective == Collective::all_gather) {
      blocks = std::fmin(distance, n - distance);
    } else {  // those whose index has this bit set
      const double period = 2 * distance;
      blocks = std::floor(n / period) * distance + std::fmax(0, std::fmod(n, period) - distance);
    }
    const double crossing =
        levels.count > 1 ? (std::fmin(g, distance) - std::fmax(0, distance - (n - g))) / g : 0;  // share of ranks whose partner is outside
    inside += blocks / n * (1 - crossing);
    across += blocks / n * crossing * g;
  }
  const bool flat = levels.count == 1;
  out.add({.level = 0, .steps = flat ? steps : 0, .bytes = inside, .message = 0.5, .forwards = flat ? steps : 0});
  // some pair crosses the border at every step, so every step waits for the network
  for (int level = 1; level < levels.count; ++level)
    out.add({.level = level, .steps = level == 1 ? steps : 0, .bytes = across, .message = 0.5, .forwards = steps});
  return out;
}

}  // namespace fabricost
