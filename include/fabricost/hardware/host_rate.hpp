#pragma once
/// A GPU's share of its host's memory, and copies between the two: over the chip-to-chip link if there is one, else PCIe (also the PCIe
/// that joins the GPUs).

#include <fabricost/collective.hpp>
#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/shipped_numbers.hpp>

namespace fabricost::core {

/// A copy between a GPU and its host, one way: its time for few bytes, and bytes of payload per second.
struct HostCopy {
  double start = 0, rate = 0;
};
/// The rate and start of copies are the tier's own figures (copy_keys, copy_start_keys); without, over PCIe the share and the times of an
/// H100 and an H200 (PcieForm), over other links the link's rate. Where bandwidth and latency of a tier were measured, they are those of
/// its copies.
[[nodiscard]] HostCopy host_copy_of(const Tier& tier, const PcieForm& form, Path path);

/// Bytes per second, the mean of both directions, while all GPUs copy at once. \throws RequestError when the machine describes no link to the host
[[nodiscard]] double host_rate(const System& system);

/// Bytes of the host's memory that are one GPU's share; infinity where the machine's file does not say.
[[nodiscard]] double host_room(const System& system);

/// The same for data that may wait there: 0 without a link to the host, or where its memory is not stated.
[[nodiscard]] double stated_host_room(const System& system);

/// Bytes per second that a node's memory is read and written at by messages that are staged in it on their way to NICs and from them; 0:
/// none are (GPUDirect, NICs of a processor that the GPU reaches over C2C), or the rate is not known.
[[nodiscard]] double staging_rate(const System& system);

/// A GPU's share of the rate at which its node's processors read and write their memory, bytes per second.
[[nodiscard]] double host_memory_rate(const System& system);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/hardware/host_rate-inl.hpp>
#endif
