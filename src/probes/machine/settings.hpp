#pragma once
/// \file settings.hpp
/// The measured values as overrides of the stock system (`PATH=VALUE`, docs/spec-format.md), each with
/// its source.

#include <fabricost/hardware/system.hpp>
#include <fabricost/probes/machine/this_machine.hpp>

#include <string>
#include <vector>

namespace fabricost::probes {

struct MachineSettings {
  std::vector<std::string> set;
  std::vector<std::string> kept;  ///< values kept from the stock system, with the reason
};

/// \param source "measured on node17, 2026-01-31"
[[nodiscard]] MachineSettings settings_of(const MeasuredMachine& machine, const std::vector<MeasuredFigure>& figures, const System& stock,
                                          std::string_view source);

/// The minimum of active links over the GPUs; the stock system's if the file has no count.
[[nodiscard]] int active_links(const MeasuredMachine& machine, const Tier& scale_up);

}  // namespace fabricost::probes
