#pragma once
/// \file named.hpp
/// Things a request names: a machine, a model, prices. Each is a name of the catalogue, a file, or the value itself.

#include <fabricost/economics/cost.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/model/model.hpp>
#include <fabricost/specs/load.hpp>

#include <memory>
#include <string>
#include <vector>

namespace fabricost {

/// A machine: a name, a file, or a System.
struct Machine {
  std::string name;                     ///< of data/systems or data/clusters, or a YAML file; empty where `value` is set or nothing is
  std::shared_ptr<const System> value;  ///< comes before the name
  [[nodiscard]] explicit operator bool() const { return value != nullptr || !name.empty(); }
  /// \param overrides, calibration as load_system takes them, for a name or a file \throws SpecError, RequestError as load_system
  [[nodiscard]] System load(const std::vector<std::string>& overrides = {}, KernelSets kernels = {},
                            const std::string& calibration = {}) const;
};

/// A model: a name, a file, or a Model.
struct NamedModel {
  std::string name;
  std::shared_ptr<const Model> value;
  [[nodiscard]] explicit operator bool() const { return value != nullptr || !name.empty(); }
  /// \throws SpecError, RequestError as load_model
  [[nodiscard]] Model load() const;
};

}  // namespace fabricost
