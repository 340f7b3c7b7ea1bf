#pragma once
/// Definition of an algorithm: a struct of static members, entered in registry.hpp; the rest follows from it.
///
///   name         as people and files write it
///   not_for      the reason why it is not an algorithm for a collective, or nullptr
///   why_not      the reason why it cannot run in a Case, where that needs more than the collective
///   add_phases   the data it moves, in closed form: serial steps and bytes, level by level
///   steps, partner   the receiver and data of each rank in every step, one partner at a time: links and their shares
///                    follow, and a test holds the phases to it
///   traffic      instead of steps and partner, the same messages as sends of the TrafficCounter (plan/network/traffic.hpp); sent:
///                bytes per byte of S that leave a rank, as the phases give them
///   check_partners   refuses a number of ranks whose partners are not modelled (optional)
///
/// Defaults supplies members that a file omits. No algorithm knows the hardware it runs on.

#include <fabricost/algorithms/connectivity.hpp>
#include <fabricost/algorithms/schedule.hpp>
#include <fabricost/collective.hpp>

#include <string_view>

namespace fabricost::core::algorithms {

/// Message of one rank in one step: a share of S to a partner.
struct Message {
  int to = -1;  ///< -1: the rank is idle in this step
  double bytes = 0;  ///< as a multiple of S
};

/// A collective to run, where, and how; an algorithm says why it cannot run it.
struct Case {
  Collective collective;
  const Connectivity& at;
  bool simple = true;      ///< under the protocol Simple
  bool byte_wide = false;  ///< elements of 8 bits
};

/// The phases of the schedule whose bytes count as sent per rank.
enum class SentPerRank : unsigned char {
  one_group,      ///< those of all ranks as one group
  inside,         ///< those inside a domain
  inside_and_out  ///< those inside a domain, and the rank's even share of what leaves it
};

struct Defaults {
  static constexpr std::string_view alias{};         ///< a second name
  static constexpr std::string_view nccl_name{};     ///< in NCCL_ALGO; empty: NCCL does not have it
  static constexpr bool reaches_neighbours = false;  ///< also runs where chips reach only neighbours
  static constexpr bool all_links = false;           ///< a rank sends over all of its links, whatever the number of ranks
  static constexpr bool level_by_level = false;      ///< partners are counted inside the domains first, then across
  static constexpr SentPerRank sent_per_rank = SentPerRank::one_group;
  /// All ranks of a level send to each other at once: the pattern that a tapered network slows down most.
  [[nodiscard]] static constexpr bool exchanges_at_once(Collective, int /*level*/) { return false; }
};

/// all_reduce and its two halves.
[[nodiscard]] constexpr bool is_all_reduce_or_half(Collective op) { return op == Collective::all_reduce || gathers_or_scatters(op); }

/// All_reduce along two binary trees, half of S each up and down: bytes that leave the fullest of N domains, as a multiple of S. A domain
/// is inside one tree, with its parent and up to two children there, and a leaf of the other.
[[nodiscard]] constexpr double fullest_of_two_trees(double domains) { return domains <= 2 ? 1 : domains <= 3 ? 1.5 : 2; }

/// An algorithm that defines each rank's partner step by step.
template <class A>
concept StepByStep = requires(Collective op, const Levels& levels) {
  A::partner(op, levels, 0, 0);
};

/// Why A cannot run `wanted`; nullptr if it can.
template <class A>
[[nodiscard]] const char* why_not(const Case& wanted) {
  if constexpr (requires { A::why_not(wanted); })
    return A::why_not(wanted);
  else
    return A::not_for(wanted.collective);
}

}  // namespace fabricost::core::algorithms
