/// \file named.cpp
/// From a name or a value to the value.

#include <fabricost/answers/named.hpp>
#include <fabricost/specs/load_model.hpp>

namespace fabricost {

System Machine::load(const std::vector<std::string>& more_overrides, KernelSets kernels, std::string_view other_calibration) const {
  return value != nullptr ? *value : load_system(name, more_overrides, other_calibration, kernels);
}

Model NamedModel::load() const { return value != nullptr ? *value : load_model(name); }

}  // namespace fabricost
