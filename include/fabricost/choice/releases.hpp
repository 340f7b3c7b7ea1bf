#pragma once
/// Which release of NCCL brought an algorithm (data/priors/ways.yaml). Apart from the algorithms, whose headers the probes' plugins
/// compile without any data.

#include <fabricost/algorithms/registry.hpp>
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

}  // namespace fabricost::core
