#pragma once
/// \file machine.hpp
/// What the machine is: the runtime's word on its GPUs, the driver's on their links and clocks, the kernel's on the host.

#include "measure/gpu/gpus.hpp"

namespace fabricost::measure::gpu {

/// Puts a little load on each GPU's PCIe link while the driver is queried: an idle link runs at a lower generation.
[[nodiscard]] Machine describe_machine(Gpus& gpus);
/// Bus address as the runtime and the driver write it. \throws DeviceFault
[[nodiscard]] std::string bus_of(const Gpus& gpus, int gpu);

}  // namespace fabricost::measure::gpu
