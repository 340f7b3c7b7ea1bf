#pragma once
/// \file step_terms.hpp
/// The terms of a step or a token, as answers list them.

#include <fabricost/plan/economics/terms.hpp>
#include <fabricost/fields/fields.hpp>

#include <string>
#include <vector>

namespace fabricost::plan {

/// One contribution to a time, identified by its name alone.
struct StepTerm {
  std::string name{};
  Time time{};
  bool operator==(const StepTerm&) const = default;

  static constexpr auto fields() {
    using A = StepTerm;
    return Table{gives(&A::name, "name", "name", "What it is."), gives(&A::time, "time_s", "seconds", "Its share of the time, s.")};
  }
};

[[nodiscard]] inline std::vector<StepTerm> listed_terms(const std::vector<TimeTerm>& terms) {
  std::vector<StepTerm> out;
  for (const TimeTerm& term : terms) out.push_back({std::string{term.name}, units::s(term.seconds)});
  return out;
}

/// The largest term; an empty one for an empty list.
[[nodiscard]] inline StepTerm largest(const std::vector<StepTerm>& terms) {
  StepTerm out;
  for (const StepTerm& term : terms)
    if (out.name.empty() || term.time > out.time) out = term;
  return out;
}

}  // namespace fabricost::plan
