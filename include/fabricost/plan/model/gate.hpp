#pragma once
/// The gate that a model's router is.

#include <fabricost/experts/routing.hpp>
#include <fabricost/plan/model/model.hpp>

namespace fabricost::plan {

/// The gate of a model's router. \throws RequestError for a model without experts, or an invalid gate
[[nodiscard]] Gate gate_of(const Model& m);

}  // namespace fabricost::plan
