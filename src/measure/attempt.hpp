#pragma once
/// \file attempt.hpp
/// One try at one case, as all processes see it: a sample, or how it failed. A fault of one process is a fault of all, or the others
/// would wait for it in the next collective.

#include "measure/sample.hpp"

#include <functional>
#include <string>

namespace fabricost::measure {

struct Attempt {
  enum class Kind : unsigned char { measured, unsupported, out_of_memory, wrong_result, fault, refused, lost };
  Kind kind = Kind::measured;
  Sample sample{};
  std::string reason{};
};

/// \throws nothing of a device's; what else is thrown is a fault of ours
[[nodiscard]] Attempt attempt(Device& device, const Case& what, const SampleRules& rules, const Clock& now);

/// States of the units that can still say; a lost machine gives none.
[[nodiscard]] std::vector<State> states_of(Device& device, const Machine& machine);

}  // namespace fabricost::measure
