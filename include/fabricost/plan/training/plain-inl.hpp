#pragma once
/// \file plain-inl.hpp
/// Bodies of plain.hpp.

#include <fabricost/plan/training/plain.hpp>
#include <fabricost/compiled_once.hpp>

#include <algorithm>

namespace fabricost::plan {

FABRICOST_BODY std::array<int, 5> burden_of(const TrainingQuestion& q, const Layout& l) {
  const bool on_host = l.offload_optimizer > 0 || l.offload_layers > 0;
  const bool other_job = l.gpus() != q.gpus || l.global_batch != q.global_batch;
  const int recomputation = l.recompute == Recompute::none ? 0 : l.recompute == Recompute::selective ? 1 : 2;
  return {on_host ? 1 : 0, other_job ? 1 : 0, recomputation, std::max(0, l.zero - 1), l.vp > 1 ? 1 : 0};
}

}  // namespace fabricost::plan
