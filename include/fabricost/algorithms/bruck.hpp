#pragma once
/// \file bruck.hpp
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

  static void add_phases(Schedule& out, const Connectivity& at);

  [[nodiscard]] static int steps(Collective, const Levels& levels) { return static_cast<int>(detail::log2_ceil(levels.ranks())); }
  [[nodiscard]] static Message partner(Collective op, const Levels& levels, int step, int rank);
};

}  // namespace fabricost::core::algorithms

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/algorithms/bruck-inl.hpp>
#endif
