#pragma once
/// \file kineto.hpp
/// Traces of PyTorch's profiler (Kineto, JSON in Chrome's format), one file a rank, of all years:
///   since 2.2      kernels of communication carry "Collective name", element counts, type and process group
///   since 1.13     a record_param_comms of the host says the same; several before one kernel were coalesced
///   before         an annotation nccl:all_to_all holds the launch whose correlation the kernel has
/// Without a GPU, annotations of gloo and MPI are the calls themselves.

#include "readings/traces/traced.hpp"

#include <filesystem>

namespace fabricost::observe {

/// A trace of this kind by the first bytes of the (unpacked) file.
[[nodiscard]] bool may_be_kineto(std::string_view head);

/// \throws SpecError where it is not JSON, or holds no events
[[nodiscard]] RankTrace read_kineto(const std::filesystem::path& file, Keep keep = Keep::calls);

}  // namespace fabricost::observe
