#pragma once
/// \file machine.hpp
/// Describes the machine: GPUs from the runtime, links and clocks from the driver, the host from the kernel.

#include "measure/gpu/gpus.hpp"

namespace fabricost::probes::measure::gpu {

/// Loads each GPU's PCIe link while the driver is queried, since an idle link runs at a lower generation.
[[nodiscard]] Machine describe_machine(Gpus& gpus);
/// Bus address as the runtime and the driver write it. \throws DeviceFault
[[nodiscard]] std::string bus_of(const Gpus& gpus, int gpu);

}  // namespace fabricost::probes::measure::gpu
