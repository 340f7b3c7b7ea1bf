#pragma once
/// Finds and opens the plugins for a machine: libfabricost_probe_cuda.so, _hip.so, _mpi.so. Only these link
/// to CUDA or HIP, so the same command runs with and without a GPU.
///
/// Searches $FABRICOST_PROBES (folders, separated by colons) if it is set, else the command's folder and
/// ../lib/fabricost/probes relative to it, which covers the build tree and an installation.

#include "measure/device.hpp"

#include <filesystem>
#include <memory>
#include <vector>

namespace fabricost::probes::measure {

/// The folders searched for plugins, in order.
/// \throws Refusal for one of $FABRICOST_PROBES that is relative, or that anybody may write to
[[nodiscard]] std::vector<std::filesystem::path> probe_folders();

/// The device of the first of CUDA and HIP that is usable.
/// \throws RequestError naming the missing plugin, or why each is not usable, and the remedy
[[nodiscard]] std::unique_ptr<Device> open_device();

}  // namespace fabricost::probes::measure
