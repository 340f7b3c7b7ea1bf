#pragma once
/// \file planned.hpp
/// Typed values of questions about plans: models and stacks, several machines, the slow ranks and times of stragglers, the plan of cost.

#include "answers/typed/models_from_text.hpp"
#include "faces/machines.hpp"

#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/stragglers.hpp>

#include <string>
#include <string_view>

namespace fabricost {

/// The file of measured times.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, TimesGiven& out);
/// "1%:1.1".
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, SlowKind& out);
/// Reads the fastest layout from the output of `fabricost plan --train --json`. \throws RequestError naming the file for any other content
void from_text(const std::string& file, std::string_view option, const Amount&, const Range&, PlannedRate& out);

}  // namespace fabricost
