#include <fabricost/plan/serving/constants.hpp>

namespace fabricost::plan {

double ServingStack::tokens_per_step() const {
  double out = 1, kept = 1;
  for (int d = 0; d < drafts; ++d) out += kept *= acceptance;
  return out;
}

}  // namespace fabricost::plan
