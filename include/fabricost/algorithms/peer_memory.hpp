#pragma once
/// The all-reduce kernels of inference engines: every rank reads its peers' memory.
///
///   one_shot   each rank sends all of S to every other and adds up by itself: 1 step, (n-1) S
///   two_shot   each rank reduces its n-th part, then all ranks read each other's parts: 2 steps, 2 (n-1)/n S

#include <fabricost/algorithms/definition.hpp>

namespace fabricost::core::algorithms {

/// Every rank reads every other rank's memory, `share` of S each.
struct PeerMemory : Defaults {
  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return op == Collective::all_reduce ? nullptr : "one_shot and two_shot exist for all_reduce";
  }
  [[nodiscard]] static constexpr bool exchanges_at_once(Collective, int /*level*/) { return true; }
  [[nodiscard]] static const char* why_not(const Case& p) {
    if (const char* why = not_for(p.collective)) return why;
    return p.at.domains() > 1 ? "peers' memory is only in reach inside one domain" : nullptr;
  }

  template <class Network>
  static void traffic(Network& net, Collective, std::span<const int> ranks, double sent) {
    net.exchange(ranks, sent / (static_cast<double>(ranks.size()) - 1));
  }

 protected:
  static void add(Schedule& out, const Levels& levels, double steps, double share) {
    const double n = levels.ranks();
    for (int level = 0; level < levels.count; ++level) {
      const double below = levels.below(level);
      const double leaving = level == 0 ? levels.size(0) - 1 : below * (n - below);  // messages that leave one endpoint
      if (levels.size(level) > 1) out.add({.level = level, .steps = steps, .bytes = leaving * share, .message = share, .reduces = 1});
    }
  }
};

struct OneShot : PeerMemory {
  static constexpr std::string_view name = "one_shot";
  static void add_phases(Schedule& out, const Connectivity& at) { add(out, at.levels, 1, 1); }
};
struct TwoShot : PeerMemory {
  static constexpr std::string_view name = "two_shot";
  static void add_phases(Schedule& out, const Connectivity& at) { add(out, at.levels, 2, 2 / at.ranks()); }
};

}  // namespace fabricost::core::algorithms
