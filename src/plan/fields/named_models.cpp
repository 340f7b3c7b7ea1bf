/// \file named_models.cpp
/// Loads named models and stacks.

#include <fabricost/plan/fields/named_models.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/stacks.hpp>

namespace fabricost {

Model NamedModel::load() const { return value != nullptr ? *value : load_model(name); }

Stack NamedStack::load() const { return value != nullptr ? *value : load_stack(name); }

}  // namespace fabricost
