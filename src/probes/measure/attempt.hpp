#pragma once
/// \file attempt.hpp
/// One try at one case with the same outcome in all processes: a sample, or the kind of failure. A failure in
/// one process counts for all; otherwise the others would wait for it in the next collective.

#include "measure/sample.hpp"

#include <functional>
#include <string>

namespace fabricost::probes::measure {

struct Attempt {
  enum class Kind : unsigned char { measured, unsupported, out_of_memory, wrong_result, fault, refused, lost };
  Kind kind = Kind::measured;
  Sample sample{};
  bool in_graphs = true;  ///< as Job::in_graphs
  std::string reason{};
};

/// Device exceptions become outcomes; anything else that is thrown is an internal error.
[[nodiscard]] Attempt attempt(Device& device, const Case& what, const SampleRules& rules, const Clock& now);

/// States of the units that can still be queried; none for a lost machine.
[[nodiscard]] std::vector<State> states_of(Device& device, const Machine& machine);

}  // namespace fabricost::probes::measure
