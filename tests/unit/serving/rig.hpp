#pragma once
/// Shipped machines, models and constants for the tests of serving.

#include <fabricost/plan/serving/serving.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>

#include <string>

namespace fabricost::test {

using namespace observe;

/// A machine at a fixed address, since engines keep a pointer to it.
struct Rig {
  System system;
  ServingMachine machine;
  explicit Rig(const std::string& name, const ServingConstants& constants = {}) : system(load_system(name)), machine(system, constants) {}
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
};

/// A framework without overheads.
inline ServingStack bare() {
  ServingStack s;
  s.stretch = 1;
  s.step = s.sequence = s.host_launch = s.first = s.first_steps = s.bunching = 0;
  return s;
}

}  // namespace fabricost::test
