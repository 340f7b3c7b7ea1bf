#pragma once
/// \file figures.hpp
/// Derives the figures of this machine from probe rows, each beside the datasheet and the stock system.
///

#include "machine/probes.hpp"

#include <fabricost/hardware/system.hpp>
#include <fabricost/probes/machine/this_machine.hpp>

#include <vector>

namespace fabricost::probes {

/// The one-way rate of a PCIe link by its generation and lanes, packet headers included: byte/s. 0: unknown
/// generation. Lane rates are in data/links.
[[nodiscard]] double pcie_rate(int generation, int lanes);

/// One-way rate between one GPU and one of its peers: byte/s of a tier.
[[nodiscard]] double rate_to_one_peer(const Tier& tier);

/// Figures in the order of tiers, from the inside out.
[[nodiscard]] std::vector<MeasuredFigure> figures_of(const std::vector<ProbeRow>& rows, const MeasuredMachine& machine,
                                                     const System& stock);

/// The figure of that name, or nullptr.
[[nodiscard]] const MeasuredFigure* figure(const std::vector<MeasuredFigure>& figures, std::string_view tier, std::string_view what);

/// The largest of the measured rates of one tier; nullptr: none.
[[nodiscard]] const MeasuredFigure* best_rate(const std::vector<MeasuredFigure>& figures, std::string_view tier,
                                              std::initializer_list<std::string_view> what);

}  // namespace fabricost::probes
