#pragma once
/// \file counted.hpp
/// Weights of rules from labelled cases (data/diagnosis/weights.yaml). Private.

#include "diagnose/rules.hpp"
#include "specs/reader.hpp"

#include <span>

namespace fabricost::observe::diagnosis {

/// Gives every rule with counts its weight. Counts of a rule that is not there are a fault of their file.
void weigh_by_cases(Rules& rules, std::span<const SpecNode> trees, Faults& faults);

}  // namespace fabricost::observe::diagnosis
