#pragma once
/// \file direct.hpp
/// Every rank sends S/n to every other rank.
///
///   pairwise   n-1 steps with one partner each; (n-1)/n S
///   direct     all messages posted at once: one step, (n-1)/n S; also all_gather and reduce_scatter
///
/// g-1 of a rank's partners are inside its domain; the parts for the others leave it: g (n-g)/n S per domain.

#include <fabricost/algorithms/definition.hpp>

namespace fabricost::core::algorithms {

/// Adds the bytes of a full exchange level by level: an endpoint of level i sends to the other endpoints of its group there.
void add_exchange(Schedule& out, double steps_per_partner, bool staged);

struct Pairwise : Defaults {
  static constexpr std::string_view name = "pairwise";

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return op == Collective::all_to_all ? nullptr : "pairwise exists for all_to_all";
  }

  static void add_phases(Schedule& out, const Connectivity&) { add_exchange(out, 1, true); }

  /// The partner of step k is displaced on each level by the digit of k in mixed radix: the own group first.
  [[nodiscard]] static int steps(Collective, const Levels& levels) { return static_cast<int>(levels.ranks()) - 1; }
  [[nodiscard]] static Message partner(Collective, const Levels& levels, int step, int rank);
  /// All steps together, counted by groups instead of pairs.
  template <class Network>
  static void traffic(Network& net, Collective, std::span<const int> ranks, double) {
    net.exchange(ranks, 1 / static_cast<double>(ranks.size()));
  }
};

/// all_to_all, all_gather and reduce_scatter: the same bytes between the same pairs.
struct Direct : Defaults {
  static constexpr std::string_view name = "direct";

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return is_exchange(op) || gathers_or_scatters(op) ? nullptr : "direct exists for all_to_all, send_recv, all_gather and reduce_scatter";
  }
  [[nodiscard]] static constexpr bool exchanges_at_once(Collective, int /*level*/) { return true; }

  static void add_phases(Schedule& out, const Connectivity&) { add_exchange(out, 0, false); }

  template <class Network>
  static void traffic(Network& net, Collective, std::span<const int> ranks, double) {
    net.exchange(ranks, 1 / static_cast<double>(ranks.size()));
  }
};

}  // namespace fabricost::core::algorithms

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/algorithms/direct-inl.hpp>
#endif
