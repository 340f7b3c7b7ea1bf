#pragma once
/// \file findings.hpp
/// Deviations of a measured machine from its potential.

#include <fabricost/hardware/system.hpp>
#include <fabricost/probes/machine/this_machine.hpp>
#include <fabricost/readings/points.hpp>

#include <vector>

namespace fabricost::probes {

/// Input of the rules.
struct Findings {
  const MeasuredMachine& machine;
  const std::vector<MeasuredFigure>& figures;
  const System& stock;
  const std::vector<Point>& collectives;  ///< under the name of the stock system
};

/// Most likely first. Each rule gives one finding, which names all affected GPUs.
[[nodiscard]] std::vector<MachineFinding> findings_of(const Findings& machine);

}  // namespace fabricost::probes
