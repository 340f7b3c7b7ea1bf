#pragma once
/// Every possible layout of a small grid: all groups of one, two and four ranks, with and without what changes their exchanges.

#include <fabricost/plan/model/layout_check.hpp>

namespace fabricost::test {

using namespace observe;

/// Calls `visit` with each; returns how many there are. \param gpus of the job
template <class Visit>
int every_layout(const Model& model, int gpus, int batch, Visit&& visit) {
  int count = 0;
  for (const int tp : {1, 2, 4})
    for (const int pp : {1, 2})
      for (const int cp : {1, 2})
        for (const int ep : {1, 2, 4})
          for (const int expert_tp : {1, 2, 4})
            for (const bool sequence : {false, true})
              for (const Recompute again : {Recompute::none, Recompute::full})
                for (const int zero : {0, 1, 3}) {
                  if (gpus % (tp * pp * cp) != 0 || (sequence && tp == 1) || (expert_tp != 1 && expert_tp != tp)) continue;
                  if (!model.mixture() && (ep > 1 || expert_tp > 1)) continue;
                  Layout l;
                  l.tp = tp;
                  l.pp = pp;
                  l.cp = cp;
                  l.ep = ep;
                  l.expert_tp = expert_tp;
                  l.zero = zero;
                  l.dp = gpus / (tp * pp * cp);
                  l.global_batch = batch;
                  l.sequence = 4096;
                  l.sequence_parallel = sequence;
                  l.recompute = again;
                  if (pp == 1) l.schedule = PipelineSchedule::none;
                  if (!is_possible(model, l)) continue;
                  visit(static_cast<const Layout&>(l));
                  ++count;
                }
  return count;
}

}  // namespace fabricost::test
