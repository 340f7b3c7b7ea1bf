#pragma once
/// \file host_rate.hpp
/// A GPU's share of its host's memory, and the one-way rate to it while all GPUs copy at once: over the chip-to-chip link
/// if there is one, else PCIe (also the PCIe that joins the GPUs).

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <limits>

namespace fabricost {

/// Bytes per second. \throws RequestError when the machine describes no link to the host
[[nodiscard]] double host_rate(const System& system);

/// Bytes of the host's memory that are one GPU's share; infinity where the machine's file does not say.
[[nodiscard]] double host_room(const System& system);

/// The same for data that may wait there: 0 without a link to the host, or where its memory is not stated.
[[nodiscard]] double stated_host_room(const System& system);

/// A GPU's share of the rate at which its node's processors read and write their memory, bytes per second.
[[nodiscard]] double host_memory_rate(const System& system);

}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/hardware/host_rate-inl.hpp>
#endif
