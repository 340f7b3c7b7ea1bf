#pragma once
/// Cost of a pipeline schedule beyond its work, in closed form: takes tens of nanoseconds and no allocation.
///
/// With p stages, v chunks, m microbatches, stage times F, B, W, T = F + B + W, hand-over C and, on the last layers, e more:
///
///     gpipe         (p-1) (T/v + 2C) + (v-1) [pC - (m-p) F/v]+ + (v-1) [pC - (m-p) (B+W)/v]+ + m e
///     1f1b          (p-1) (T + 2C) + m e + n (C - e/2)+ ,  n = 2 [m - 1 - ceil((m-1)/p)]
///     interleaved   (p-1) T/v + 2 (p-1) C + (2v-3) [p C - (g-p) F/v]+ + m e       m >= p, in groups of g >= p
///     zb_h1, zb_1p  (p-1) (F + B + 2C) - d (W + e/3) + 2 (p-1) C + (m - 1/3) e    d = min(p - 1, m - 1), m > p
///     zb_h2         (p-1) (F + B + 2C) - d (W + e/3) + (m - 1/3) e                d = min(2p - 2, m - 1)
///     zb_2p         the same, at least 3/2 (p-1) C + m e                          d = min((2p-1) / held, m - 1)
///     zb_v, v_*     the functions below
///     dualpipe      max{ h (2F + B - W), h (F + 2B - W) - F, 2 h F } + about 6 p C + (m/2 - p + 1) e,  h = p/2 - 1
///
/// (x)+ is max(x, 0); d is the number of Ws the last stage can postpone. For p | m and e = 0 these become the
/// published
///
///     1f1b (p-1) T + [2 (p-1) (m+p)/p - 2] C     interleaved (p-1) T/v + (2pv - 2 - p) C
///     zb_h1 (p-1) (F + B - W + 4C)               zb_h2 (p-1) (F + B - 2W + 2C)
///
/// which reproduce the bubble table of Qi 2023 (arXiv 2401.10241); dualpipe's is h (FB + B' - 3W) of
/// DeepSeek-AI 2024 (arXiv 2412.19437) where F = B. Bubbles without hand-overs: Narayanan 2021 (arXiv
/// 2104.04473). The other forms were derived from executed orders (run.hpp) and are tested against
/// them: `exact` says where they agree.
/// The published interleaved form has p hand-overs fewer than Megatron-LM's own order when executed in
/// sequence: (2pv - 2) C.
///
/// Where `exact` is false, the error over 300 random pipelines each of 2 to 12 stages (B from 0.9 to 1.1 F, W
/// from 0.5 to 1.05 F, C up to F/20, e up to F/2) is below 0.5 % on average and 5 % at worst; v_min 0.9 and 7
/// % (2 stages), v_half 0.7 and 12 % (few microbatches), zb_1p 1.0 and 9 %: it uses the form of zb_h1, but
/// shorter orders exist where W holds little and the last stage is slow. dualpipe and dualpipe_v follow the
/// published order, 0.8 and 1.0 % from the one found by run.hpp, which is mostly shorter.

#include <fabricost/plan/pipeline/schedule.hpp>

#include <algorithm>

namespace fabricost::plan {

struct PipelineCost {
  double work = 0;              ///< m (F + B + W), s
  double bubble = 0;            ///< the longest stage, from its first to its last piece, minus work: waiting and last_extra, s; less
                                ///< what pairs of dualpipe save by running as one
  double exposed_exchange = 0;  ///< part of the bubble caused by hand-overs, s
  double peak_activations = 0;  ///< worst stage, in microbatch-stages: one microbatch's activations in 1/p of the layers
  int hops = 0;                 ///< hand-overs of one microbatch, forward and backward together
  bool exact = false;           ///< within 1e-9 of the executed order; otherwise an estimate
  [[nodiscard]] double step() const { return work + bubble; }
};

/// The bubble as Megatron reports it: bubble / work.
[[nodiscard]] constexpr double bubble_over_ideal(double bubble, double work) { return bubble / work; }
/// The bubble as the zero-bubble papers report it: bubble / (work + bubble).
[[nodiscard]] constexpr double bubble_over_total(double bubble, double work) { return bubble / (work + bubble); }

/// Seconds in which a rank of a schedule waits; exact: by a closed form that holds for these times.
struct Bubble {
  double seconds = 0;
  bool exact = false;
};

namespace detail {

[[nodiscard]] constexpr double above_zero(double x) { return x > 0 ? x : 0; }

/// Zero-bubble schedules on one chunk: the chain through all stages minus the Ws the last stage can postpone.
/// A slower last stage has longer Ws, too.
[[nodiscard]] constexpr Bubble zero_bubble(PipelineSchedule schedule, double p, double m, const StageTimes& t) {
  const double last = p - 1, c = t.exchange, third = t.last_extra / 3, w = t.weight + third;
  const double chain = last * (t.forward + t.backward + 2 * c) + m * t.last_extra - third;
  const bool level = t.weight <= t.forward && t.weight <= t.backward && 2 * c <= t.weight && (t.last_extra == 0 || c == 0);
  const double rounds = m > p ? 2 * last : std::max(0.0, 2 * (m - 2));  // extra hand-overs on the path of later microbatches
  const double stalls = rounds * above_zero(c - t.last_extra / 2);      // hidden while the last stage is the slowest
  const double min = m * t.last_extra;
  switch (schedule) {
    case PipelineSchedule::zb_h1: return {std::max(min, chain - std::min(last, m - 1) * w + stalls), level};
    case PipelineSchedule::zb_1p: return {std::max(min, chain - std::min(last, m - 1) * w + (m > p ? stalls : 0)), false};
    case PipelineSchedule::zb_h2: return {std::max(min, chain - std::min(2 * last, m - 1) * w), level};
    default: break;
  }
  const double held = t.held_for_weight > 0 ? t.held_for_weight : 1e-9;
  const double put_off = std::min(std::floor((2 * p - 1) / held + 1e-9), m - 1);
  return {std::max(chain - put_off * w, 1.5 * last * c + min), false};
}

/// Handcrafted ZB-V: the longest of six critical paths; the last applies while the V is not full.
[[nodiscard]] constexpr Bubble zb_v_bubble(double p, double m, const StageTimes& t) {
  const double last = p - 1, f = t.forward, b = t.backward, w = t.weight, c = t.exchange;
  const double apart = f > b ? f - b : b - f;
  const double filling = last * (f + b + 4 * c) - std::min(m - 1, last) * f - std::min(std::max(m - p, 0.0), last) * w;
  const double seconds =
      std::max({last * (b - w) + (6 * p - 8) * c, last * (f - w) - (f - b) / 2 + (4 * p - 6) * c, last * (f - b) / 2 + 2 * last * c,
                (p - 2) * (w - f) / 2 + 2 * last * c, last * (f + b - 2 * w) / 2 - apart / 2 + (6 * p - 8) * c, filling});
  const double e = t.last_extra;
  const double waits = e > 0 ? std::max(seconds + 2 * e / 3, m * e + above_zero((p * (f - w) - f) / 2 - e / 3)) : seconds;
  return {waits, f == b && b == w && c == 0 && e == 0};
}

/// The memory-lean V schedules. v_half has half of 1F1B's bubble at F = B = W. v_min has two thirds, but no
/// slack: every microbatch pays the excess of three forwards (or backwards) and six hand-overs over T.
[[nodiscard]] constexpr Bubble lean_v_bubble(PipelineSchedule schedule, int stages, double m, const StageTimes& t) {
  const double p = stages, last = p - 1, f = t.forward, b = t.backward, w = t.weight, c = t.exchange, longer = std::max(f, b);
  const double e = t.last_extra;
  const bool level = f == b && b == w && c == 0 && e == 0 && m >= 2 * p;
  if (schedule == PipelineSchedule::v_min) {
    const double period = 3 * longer + 6 * last / p * c + 2 * e / 3;
    return {(2 * p - (stages % 3 == 0 ? 1.5 : 2.5)) * (f + b) / 2 + 3.5 * last * c +
                std::max((m - 0.5) * above_zero(period - t.work()), above_zero(m - p / 4) * e),
            level};
  }
  const double full = (1.5 * last - (stages % 2 == 1 ? 0.5 : 0)) * longer + last * (above_zero(f - w) / 2 + 2 * above_zero(f - b)) +
                      std::min(2 * (m - 1) * c, 0.6 * last * longer);
  const double filling = last * (f + b) - w / 2 - above_zero(m - 2) * (t.work() - 2 * longer);
  const double even = std::max(full, filling) + 4 * last * c;
  return {e > 0 ? std::max(even + e, m * e + 0.6 * even) : even, level};
}

/// Critical paths through the middle of dualpipe. \param h half of the stages, minus one; c1, c2, c3:
/// hand-overs on each path
[[nodiscard]] constexpr double dualpipe_ways(double h, const StageTimes& t, double c1, double c2, double c3) {
  const double f = t.forward, b = t.backward, w = t.weight, c = t.exchange;
  return std::max({h * (2 * f + b - w) + c1 * c, h * (f + 2 * b - w) - f + c2 * c, h * 2 * f + c3 * c});
}

}  // namespace detail

[[nodiscard]] constexpr Bubble bubble_of(PipelineSchedule schedule, int stages, int chunks, int microbatches, const StageTimes& t) {
  const double p = stages, m = microbatches, last = p - 1, total = t.work(), c = t.exchange, e = t.last_extra;
  if (stages == 1) return {m * e, t.overlapped == 0};
  const double saved = t.overlapped > 0 ? total - t.overlapped : 0;  // by every dualpipe pair that runs as one
  // with fewer microbatches dualpipe has shorter orders, and so it may have where B exceeds F or W
  const bool as_published =
      microbatches > 3 * stages && t.backward <= t.forward && t.backward <= t.weight && e == 0 && saved == 0 && c == 0;
  switch (schedule) {
    case PipelineSchedule::none:
    case PipelineSchedule::gpipe: {
      // a microbatch starts its next chunk after p stages, and after all others have passed this one
      const double v = chunks;
      const auto late = [&](double pass) { return (v - 1) * detail::above_zero(p * c - (m - p) * pass / v); };
      return {last * (total / v + 2 * c) + late(t.forward) + late(t.full_backward()) + m * e, chunks == 1 || e == 0};
    }
    case PipelineSchedule::one_f_one_b: {
      const int rounds = (microbatches - 2 + stages) / stages;
      const double stalls = microbatches > 1 ? 2.0 * (microbatches - 1 - rounds) : 0;
      return {last * (total + 2 * c) + m * e + stalls * detail::above_zero(c - e / 2), e == 0 || e >= 2 * c};
    }
    case PipelineSchedule::interleaved: {
      if (chunks == 1) return bubble_of(PipelineSchedule::one_f_one_b, stages, 1, microbatches, t);
      // fewer microbatches than stages leave holes in every chunk; a group larger than p gives its first
      // hand-over time to arrive
      const double v = chunks, groups = std::max(1, microbatches / stages), spare = std::floor(m / groups) - p;
      const double holes = (p - std::min(m, p)) * total + (std::min(m, p) - 1) * total / v;
      const double trips = microbatches < stages ? 2 * v - 2 : 2 * v - 3;
      const double late = spare > 0 ? detail::above_zero(p * c - spare * std::min(t.forward, t.full_backward()) / v) : p * c;
      return {holes + 2 * last * c + trips * late + m * e, c == 0 && e == 0};
    }
    case PipelineSchedule::zb_v: return detail::zb_v_bubble(p, m, t);
    case PipelineSchedule::v_half:
    case PipelineSchedule::v_min: return detail::lean_v_bubble(schedule, stages, m, t);
    case PipelineSchedule::dualpipe:
      return {detail::dualpipe_ways(p / 2 - 1, t, 5.5 * p - 7, 6 * p - 8, 4.5 * p - 6) + (m / 2 - p + 1) * e - (m - p / 2 - 2) * saved,
              as_published};
    case PipelineSchedule::dualpipe_v: {
      // a stage has two chunks of half the time each
      StageTimes half = t;
      for (double* one : {&half.forward, &half.backward, &half.weight}) *one /= 2;
      return {detail::dualpipe_ways(last, half, 10 * p - 12, 12 * p - 14, 8 * p - 10) + (m - 2 * p + 1) * e - (m - p / 2 - 1) * saved,
              as_published};
    }
    default: return detail::zero_bubble(schedule, p, m, t);
  }
}

/// Peak microbatch-stages of one stage if W holds all of a microbatch's activations (else an upper bound).
///
///     gpipe         m
///     1f1b          min(m, p - i)
///     interleaved   (1 + warm-up) / v, warm-up = 2 (p-i-1) + (v-1) p; on stage 0 p (1 + (p-1) / (pv)) (Korthikanti 2022)
///     zb_h1, zb_1p  p
///     zb_h2, zb_2p  2p - 1, 2p
///     zb_v          p
///     v_half        p/2 + 1, for odd p (p+1)/2
///     v_min         1 + (p+1)/3, rounded down
///     dualpipe      p + 1
///     dualpipe_v    p + 1/2
///
/// At most m. Sources as above, dualpipe_v github.com/deepseek-ai/DualPipe; tests count them.
[[nodiscard]] constexpr double peak_activations(PipelineSchedule schedule, int stage, int stages, int chunks, int microbatches) {
  const double p = stages, m = microbatches;
  switch (schedule) {
    case PipelineSchedule::gpipe: return m;
    case PipelineSchedule::none:
    case PipelineSchedule::one_f_one_b: return std::min(m, p - stage);
    case PipelineSchedule::interleaved: {
      const int groups = std::max(1, microbatches / stages), largest = (microbatches + groups - 1) / groups;
      return std::min(m, (2.0 * (stages - stage - 1) + (chunks - 1.0) * largest + 1) / chunks);
    }
    case PipelineSchedule::zb_h2: return std::min(m, 2 * p - 1);
    case PipelineSchedule::zb_2p: return std::min(m, 2 * p);
    case PipelineSchedule::v_half: return std::min(m, stages % 2 == 0 ? p / 2 + 1 : (p + 1) / 2);
    case PipelineSchedule::v_min: {
      const int third = (stages + 1) / 3;
      return std::min(m, 1.0 + third);
    }
    case PipelineSchedule::dualpipe: return std::min(m, p + 1);
    case PipelineSchedule::dualpipe_v: return std::min(m, p + 0.5);
    default: return std::min(m, p);
  }
}

/// Hand-overs of one microbatch: 2 (places - 1), minus two where a V turns inside a stage.
[[nodiscard]] constexpr int pipeline_hops(PipelineSchedule schedule, int stages, int chunks) {
  if (stages == 1) return 0;
  const int ways = layout_of(schedule) == PipelineLayout::loop ? chunks_of(schedule, chunks) * stages - 1
                   : layout_of(schedule) == PipelineLayout::v  ? 2 * (stages - 1)
                                                               : stages - 1;
  return 2 * ways;
}

/// The closed forms above. \throws RequestError as check_pipeline
[[nodiscard]] PipelineCost pipeline_cost(PipelineSchedule schedule, int stages, int chunks, int microbatches,
                                         const StageTimes& times);

}  // namespace fabricost::plan
