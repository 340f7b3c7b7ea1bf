#pragma once
/// \file binomial.hpp
/// Broadcast and reduce along a binomial tree: every rank with the data sends all of it to one without, so that the number of
/// ranks with it doubles in every step (Thakur, Rabenseifner, Gropp 2005, section 4.3; Open MPI's coll_tuned "binomial").
///
///   broadcast, reduce   ceil(log2 n) steps of S: the root sends, or takes, S in each
///
/// A broadcast first reaches one rank of every domain, then spreads inside them. A reduce is a broadcast backwards.

#include <fabricost/algorithms/definition.hpp>

#include <bit>

namespace fabricost::core::algorithms {

struct Binomial : Defaults {
  static constexpr std::string_view name = "binomial";
  static constexpr bool level_by_level = true;

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return is_rooted(op) ? nullptr : "binomial exists for broadcast and reduce";
  }

  static void add_phases(Schedule& out, const Connectivity& at);

  [[nodiscard]] static int steps(Collective, const Levels& levels);
  /// Rank 0 is the root.
  [[nodiscard]] static Message partner(Collective op, const Levels& levels, int step, int rank);

 private:
  /// ceil(log2 size)
  [[nodiscard]] static constexpr int steps_among(int size) { return static_cast<int>(std::bit_width(static_cast<unsigned>(size - 1))); }
};

}  // namespace fabricost::core::algorithms

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/algorithms/binomial-inl.hpp>
#endif
