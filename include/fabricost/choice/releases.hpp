#pragma once
/// Which release of NCCL brought an algorithm (data/priors/ways.yaml), and what runs on which GPUs. Apart from the algorithms, whose
/// headers the probes' plugins compile without any data.

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/choice/engine_kernels.hpp>
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

/// The first release of NCCL, 2.x, that runs on GPUs of a generation where the given one is older; 0: that one runs, or it is not said.
[[nodiscard]] inline double later_first_release(Library library, Tuner tuner, int release, Generation generation) {
  const double from = tables_of(tuner).first_release[tuner_generation(generation)];
  return library == Library::nccl && release > 0 && release < from ? from : 0;
}

}  // namespace fabricost::core
