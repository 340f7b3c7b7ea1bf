#pragma once
/// All-to-all and all-gather in ceil(log2 n) steps of about half of S each (Bruck et al. 1997): for small
/// messages.
///
///   all_to_all   the rank 2^i further gets the blocks whose way has that bit
///   all_gather   the rank 2^i back gets min(2^i, n - 2^i) blocks

#include <fabricost/algorithms/definition.hpp>

#include <algorithm>

namespace fabricost::core::algorithms {

struct Bruck : Defaults {
  static constexpr std::string_view name = "bruck";

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return op == Collective::all_to_all || op == Collective::all_gather ? nullptr : "Bruck exists for all_to_all and all_gather";
  }

  static void add_phases(Schedule& out, const Connectivity& at) {
    const Levels& levels = at.levels;
    const Collective collective = out.collective;
    const double n = levels.ranks();
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
      // share of ranks whose partner is outside
      const double crossing = levels.count > 1 ? (std::fmin(g, distance) - std::fmax(0, distance - (n - g))) / g : 0;
      inside += blocks / n * (1 - crossing);
      across += blocks / n * crossing * g;
    }
    const bool flat = levels.count == 1;
    out.add({.level = 0, .steps = flat ? steps : 0, .bytes = inside, .message = 0.5, .forwards = flat ? steps : 0});
    // some pair crosses the border at every step, so every step waits for the network
    for (int level = 1; level < levels.count; ++level)
      out.add({.level = level, .steps = level == 1 ? steps : 0, .bytes = across, .message = 0.5, .forwards = steps});
  }

  [[nodiscard]] static int steps(Collective, const Levels& levels) { return static_cast<int>(detail::log2_ceil(levels.ranks())); }
  [[nodiscard]] static Message partner(Collective op, const Levels& levels, int step, int rank) {
    const int n = static_cast<int>(levels.ranks()), distance = 1 << step, rest = n % (2 * distance);
    const bool gathers = op == Collective::all_gather;
    const int blocks = gathers ? std::min(distance, n - distance) : n / (2 * distance) * distance + std::max(0, rest - distance);
    return {.to = (gathers ? rank + n - distance : rank + distance) % n, .bytes = static_cast<double>(blocks) / n};
  }
};

}  // namespace fabricost::core::algorithms
