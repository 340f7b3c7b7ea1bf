/// \file named.cpp
/// From a name or a value to the value.

#include <fabricost/answers/named.hpp>
#include <fabricost/specs/load_model.hpp>

namespace fabricost {

System Machine::load(const std::vector<std::string>& more_overrides, KernelSets kernels, std::string_view other_calibration) const {
  if (value != nullptr) return *value;
  std::vector<std::string> all = overrides;
  all.insert(all.end(), more_overrides.begin(), more_overrides.end());
  return load_system(name, all, other_calibration.empty() ? calibration : other_calibration, kernels);
}

Model NamedModel::load() const { return value != nullptr ? *value : load_model(name); }

}  // namespace fabricost
