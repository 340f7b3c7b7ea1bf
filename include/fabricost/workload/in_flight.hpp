#pragma once
/// \file in_flight.hpp
/// Microbatches whose activations a stage holds at once, by schedule: the most at any time, in units of all the stage's layers.
///
/// p stages, v chunks each, m microbatches, stage s from 0; never more than m:
///
///     GPipe               m: all forwards come first                                       Huang 2019
///     1F1B                p - s                                                            Narayanan 2019
///     interleaved         (2 (p - s - 1) + (v - 1) p + 1) / v: the chunks of the warm-up
///                         and one more; for s = 0 p (1 + (p - 1)/(p v))                    Narayanan 2021
///     ZB-H1, ZB-1p        p: weight gradients wait as long as 1F1B's first stage can hold  Qi 2023, arXiv 2401.10241
///     ZB-H2, ZB-2p        2p - 1, 2p                                                       the same
///     ZB-V                p                                                                the same
///     V-Half              p/2 + 1, odd p (p + 1)/2                                         Qi 2024, arXiv 2405.15362
///     V-Min               (p + 1)/3 rounded down, + 1                                      the same
///     DualPipe            p + 1, of the layers of one direction                            DeepSeek-V3, arXiv 2412.19437
///     DualPipeV           p + 1/2 on its p ranks                                           the same
///
/// Activations that wait for their weight gradient count in full, which is the upper end.

#include <fabricost/workload/layout.hpp>

#include <algorithm>

namespace fabricost {

[[nodiscard]] inline double microbatches_in_flight(const Layout& layout, int stage) {
  const double p = layout.pp, v = layout.vp, s = stage, m = layout.microbatches();
  if (layout.pp <= 1) return 1;
  const auto most = [m](double held) { return std::min(m, held); };
  switch (layout.schedule) {
    case PipelineSchedule::gpipe: return m;
    case PipelineSchedule::none:
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::interleaved: return most(layout.vp == 1 ? p - s : (2 * (p - s - 1) + (v - 1) * p + 1) / v);
    case PipelineSchedule::zb_h1:
    case PipelineSchedule::zb_1p:
    case PipelineSchedule::zb_v: return most(p);
    case PipelineSchedule::zb_h2: return most(2 * p - 1);
    case PipelineSchedule::zb_2p: return most(2 * p);
    case PipelineSchedule::v_half: return most(layout.pp % 2 == 0 ? p / 2 + 1 : (p + 1) / 2);
    case PipelineSchedule::v_min: return most(1.0 + (layout.pp + 1) / 3);
    case PipelineSchedule::dualpipe: return most(p + 1);
    case PipelineSchedule::dualpipe_v: return most(p + 0.5);
  }
  return m;
}

}  // namespace fabricost
