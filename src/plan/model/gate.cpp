#include <fabricost/plan/model/gate.hpp>

namespace fabricost::plan {

Gate gate_of(const Model& m) {
  if (!m.mixture()) throw RequestError(m.name + ": has no experts");
  const Gate g{m.experts, m.top_k, m.expert_groups, m.group_limit};
  check(g);
  return g;
}

}  // namespace fabricost::plan
