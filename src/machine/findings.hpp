#pragma once
/// \file findings.hpp
/// What sets a measured machine apart from what it could be. Private to the sources.

#include <fabricost/hardware/system.hpp>
#include <fabricost/machine/this_machine.hpp>
#include <fabricost/readings/points.hpp>

#include <vector>

namespace fabricost::io {

/// What the rules look at.
struct Findings {
  const MeasuredMachine& machine;
  const std::vector<MeasuredFigure>& figures;
  const System& stock;
  const std::vector<Point>& collectives;  ///< named after the stock system
};

/// Likeliest first. Each rule speaks once: of several GPUs with one fault it names all.
[[nodiscard]] std::vector<MachineFinding> findings_of(const Findings& machine);

inline constexpr std::string_view collectives_slow = "collectives_slow";

/// The rules about what collectives show.
[[nodiscard]] std::vector<MachineFinding> findings_in_collectives(const Findings& machine);

}  // namespace fabricost::io
