#pragma once
/// \file terms.hpp
/// The terms of a step or a token by name, for tables, JSON and pictures.

#include <string_view>
#include <vector>

namespace fabricost::plan {

struct StepTime;
struct ServingTime;
struct ServingQuestion;
struct PricedServing;

/// One term of a time, s.
struct TimeTerm {
  std::string_view name;
  double seconds = 0;
};

/// The terms of a training step, none negative, which sum to its time.
[[nodiscard]] std::vector<TimeTerm> terms_of(const StepTime& t);

/// A term's share of the time. With a negative term, the share of the positive ones, so that none exceeds 1.
[[nodiscard]] double share_of(const TimeTerm& term, const std::vector<TimeTerm>& all);

/// The terms of the first token of a served answer, which sum to TTFT.
[[nodiscard]] std::vector<TimeTerm> first_token_terms(const ServingTime& t);

/// The terms of a further token of a served answer, which sum to the time per token. The part that alternating half
/// batches hide (stacks with overlap) is the only negative term.
[[nodiscard]] std::vector<TimeTerm> terms_of(const ServingQuestion& q, const PricedServing& p);

}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/economics/terms-inl.hpp>
#endif
