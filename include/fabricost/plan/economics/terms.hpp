#pragma once
/// The terms of a step or a token by name, for tables, JSON and pictures.

#include <fabricost/fields/fields.hpp>

#include <string>
#include <vector>

namespace fabricost::plan {

struct StepTime;
struct ServingTime;
struct ServingQuestion;
struct PricedServing;

/// One contribution to the time of a step or a token, identified by its name alone.
struct StepTerm {
  std::string name{};
  Time time{};
  [[nodiscard]] double seconds() const { return time.value(); }
  bool operator==(const StepTerm&) const = default;

  static AnswerTable<StepTerm> fields();
};

/// The terms of a training step, none negative, which sum to its time.
[[nodiscard]] std::vector<StepTerm> terms_of(const StepTime& t);

/// The share of `part` in the sum of all terms. With a negative term, the share of the positive ones, so that none exceeds 1.
[[nodiscard]] double share_of(Time part, const std::vector<StepTerm>& all);

/// The largest term; an empty one for an empty list.
[[nodiscard]] StepTerm largest(const std::vector<StepTerm>& terms);

/// The terms of the first token of a served answer, which sum to TTFT.
[[nodiscard]] std::vector<StepTerm> first_token_terms(const ServingTime& t);

/// The terms of a further token of a served answer, which sum to the time per token. The part that alternating half
/// batches hide (stacks with overlap) is the only negative term.
[[nodiscard]] std::vector<StepTerm> terms_of(const ServingQuestion& q, const PricedServing& p);

}  // namespace fabricost::plan
