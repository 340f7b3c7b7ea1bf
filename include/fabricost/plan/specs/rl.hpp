#pragma once
/// Constants of reinforcement learning beyond those of training and serving (data/workloads/rl.yaml).

#include <fabricost/compiled_part.hpp>

namespace fabricost::plan {

struct RlFacts {
  double length_spread = 0;  ///< standard deviation of the log of an answer's length
  double load_rate = 0;      ///< bytes per second of weights that a serving engine takes in
  double framework = 1;         ///< measured over predicted of published iterations
  double framework_spread = 0;  ///< standard deviation of its log
};

/// \throws SpecError
[[nodiscard]] RlFacts load_rl_facts();

}  // namespace fabricost::plan
