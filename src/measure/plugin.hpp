#pragma once
/// \file plugin.hpp
/// Finds and opens the plugins that answer for a machine: libfabricost_probe_cuda.so, _hip.so, _mpi.so. One command runs with and without
/// a GPU, because only these link CUDA, HIP or MPI.
///
/// Looked for in $FABRICOST_PROBES (folders, separated by colons) where it is set, else beside the program and the library that
/// holds this code and in ../lib/fabricost/probes from there, which covers the build tree and an installation.

#include "measure/device.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace fabricost::measure {

/// Where plugins are looked for, in this order.
[[nodiscard]] std::vector<std::filesystem::path> probe_folders();

/// The device of the first of CUDA and HIP that answers; with `mpi` that of MPI.
/// \throws RequestError saying which plugin is missing or why each cannot serve, and what to do
[[nodiscard]] std::unique_ptr<Device> open_device(bool mpi);

}  // namespace fabricost::measure
