#pragma once
/// Which release of NCCL brought an algorithm (data/priors/ways.yaml), and what runs on which GPUs. Apart from the algorithms, whose
/// headers the probes' plugins compile without any data.

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/choice/engine_kernels.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/hardware/tuner.hpp>
#include <fabricost/shipped_numbers.hpp>

namespace fabricost::core {

/// 2.x; 0: any release has it.
[[nodiscard]] constexpr double nccl_from(Algorithm a) {
  switch (a) {
    case Algorithm::nvls: return prior::ways::nvls_from;
    case Algorithm::nvls_tree: return prior::ways::nvls_tree_from;
    case Algorithm::pat: return prior::ways::pat_from;
    default: return 0;
  }
}

/// Whether an engine has kernels, at any version and number of ranks, for GPUs that this library joins.
[[nodiscard]] bool has_kernels_with(InferenceLibrary engine, Library library);

/// The first release, 2.x, that runs on a machine's GPUs where the one it is set to is older; 0: that one runs.
[[nodiscard]] inline double later_first_release(const System& system) {
  const double from = tables_of(system.tuner).first_release[tuner_generation(system.gpu.generation)];
  return system.library == Library::nccl && system.nccl_release > 0 && system.nccl_release < from ? from : 0;
}

}  // namespace fabricost::core
