#pragma once
/// \file experts-inl.hpp
/// Bodies of experts.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/serving/experts.hpp>

namespace fabricost::plan {

FABRICOST_BODY bool runs_on(MoeKernel kernel, const System& system, const ExpertPlacement& at) {
  return !is_trtllm(kernel) || (at.domains() == 1 && system.domain > system.gpus_per_node);
}

FABRICOST_BODY double ExpertRoundTrip::operator()(double tokens) const {
  const double all = tokens * skewed_(tokens) / uniform_(tokens);
  double seconds = price_kernel(of(dispatch_, all), *constants_, MoePhase::dispatch, kernel_, false).seconds() +
                   price_kernel(of(combine_, all), *constants_, MoePhase::combine, kernel_, false).seconds();
  if (kernel_ == MoeKernel::trtllm_two_sided)
    seconds += price_kernel(of(dispatch_, all), *constants_, MoePhase::prepare, kernel_, false).seconds();
  return seconds;
}

FABRICOST_BODY MoeWork ExpertRoundTrip::of(MoeWork one, double tokens) {
  one.tokens *= tokens;
  one.inside_bytes *= tokens;
  one.across_bytes *= tokens;
  return one;
}

}  // namespace fabricost::plan
