#pragma once
/// \file definition.hpp
/// What a file of this folder says of its algorithm, so that everything else follows: a struct of static members,
/// entered in registry.hpp.
///
///   name         as people and files write it
///   not_for      why a collective is none of its, or nullptr
///   why_not      why it cannot run in a Case, where that takes more than the collective
///   add_phases   what it moves, in closed form: serial steps and bytes, level by level
///   steps, partner   what each rank sends to whom in every step, one partner at a time: links and their shares
///                    follow, and a test holds the phases to it
///   traffic      instead, where everybody sends to everybody or switches combine: said with the sends of a
///                Network, which is network/traffic_counter.hpp
///
/// What a file leaves out is as in Defaults. No algorithm learns over which hardware it runs.

#include <fabricost/algorithms/connectivity.hpp>
#include <fabricost/algorithms/schedule.hpp>
#include <fabricost/collective.hpp>

#include <span>
#include <string_view>

namespace fabricost::algorithms {

/// What one rank sends in one step: a share of S to a partner.
struct Message {
  int to = -1;  ///< -1: the rank sits this step out
  double bytes = 0;
};

/// A collective to run, where, and how; an algorithm says why it cannot.
struct Case {
  Collective collective;
  const Connectivity& at;
  bool simple = true;      ///< under the protocol Simple
  bool byte_wide = false;  ///< elements of 8 bits
};

/// How many bytes leave one rank, by the phases of the schedule.
enum class SentPerRank : unsigned char {
  one_group,      ///< those of all ranks as one group
  inside,         ///< those inside a domain
  inside_and_out  ///< those inside a domain, and the rank's even part of what leaves it
};

struct Defaults {
  static constexpr std::string_view alias{};         ///< a second name
  static constexpr std::string_view nccl_name{};     ///< in NCCL_ALGO; empty: NCCL does not have it
  static constexpr bool reaches_neighbours = false;  ///< where chips reach only neighbours it runs all the same
  static constexpr bool all_links = false;           ///< a rank sends over every link it has, whoever takes part
  static constexpr bool two_trees = false;           ///< between domains two binary trees carry half of S each
  static constexpr bool level_by_level = false;      ///< partners are counted inside the domains first, then across
  static constexpr SentPerRank sent_per_rank = SentPerRank::one_group;
  /// Everybody sends to everybody of a level at once: what a tapered network slows down most.
  [[nodiscard]] static constexpr bool exchanges_at_once(Collective, int /*level*/) { return false; }
};

[[nodiscard]] constexpr bool gathers_or_scatters(Collective op) { return op == Collective::all_gather || op == Collective::reduce_scatter; }
/// all_reduce and its two halves.
[[nodiscard]] constexpr bool ring_like(Collective op) { return op == Collective::all_reduce || gathers_or_scatters(op); }

/// An algorithm that says whom a rank sends to step by step.
template <class A>
concept StepByStep = requires(Collective op, const Levels& levels) {
  A::partner(op, levels, 0, 0);
};

/// Why A cannot run what is wanted, or nullptr when it can.
template <class A>
[[nodiscard]] const char* why_not(const Case& wanted) {
  if constexpr (requires { A::why_not(wanted); })
    return A::why_not(wanted);
  else
    return A::not_for(wanted.collective);
}

}  // namespace fabricost::algorithms
