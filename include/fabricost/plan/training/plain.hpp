#pragma once
/// \file plain.hpp
/// Which of two layouts is the plainer one: the one that asks for less beyond what was given. The search proposes the plainest of the
/// layouts whose steps are within `TrainingQuestion::plain_within` of the fastest. In this order, the first that differs decides:
///
///   host memory     states or activations on the GPU before some of them in host memory
///   job             all GPUs and the batch given before fewer GPUs or another batch
///   recomputation   none before selective before full
///   sharding        ZeRO 0 and 1 (a distributed optimizer, which recipes of data-parallel training turn on by default), before 2, before 3
///   chunks          one chunk of layers a stage before several (virtual stages)

#include <fabricost/plan/training/question.hpp>

#include <array>

namespace fabricost::plan {

/// What a layout asks for beyond the plain one, by importance; the least, compared one after the other, is the plainest.
[[nodiscard]] std::array<int, 5> burden_of(const TrainingQuestion& q, const Layout& l);

}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/training/plain-inl.hpp>
#endif
