#pragma once
/// \file figures.hpp
/// From probe rows to the figures of this machine, each beside the datasheet and what the stock system assumes. Private to the sources.

#include "machine/probes.hpp"

#include <fabricost/hardware/system.hpp>
#include <fabricost/machine/this_machine.hpp>

#include <vector>

namespace fabricost::io {

/// The one-way rate of a PCIe link as its generation and lanes give it, of packets' payload and headers together: byte/s. 0: unknown
/// generation. data/links has the lane rates.
[[nodiscard]] double pcie_rate(int generation, int lanes);

/// Links one GPU and one of its peers have between them, one way: byte/s of a tier.
[[nodiscard]] double rate_to_one_peer(const Tier& tier);

/// Figures in the order of a machine, from the inside out.
[[nodiscard]] std::vector<MeasuredFigure> figures_of(const std::vector<ProbeRow>& rows, const MeasuredMachine& machine,
                                                     const System& stock);

/// The one of that name, or nullptr.
[[nodiscard]] const MeasuredFigure* figure(const std::vector<MeasuredFigure>& figures, std::string_view tier, std::string_view what);

/// Largest of several rates of one tier, of those that were measured; nullptr: none.
[[nodiscard]] const MeasuredFigure* best_rate(const std::vector<MeasuredFigure>& figures, std::string_view tier,
                                              std::initializer_list<std::string_view> what);

}  // namespace fabricost::io
