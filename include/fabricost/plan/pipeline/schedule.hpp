#pragma once
/// The pipeline schedules by name, where each places the layers, and the times of one stage.
///
/// F, B, W: forward, gradient of the input, gradient of the weights of one microbatch in all layers of one stage (backward = B + W);
/// C: one hand-over between neighbouring stages, one way.
///
///   gpipe         all forwards, then all backwards                            Huang 2019, arXiv 1811.06965
///                 with chunks all microbatches pass one after the other       github.com/AI-Hypercomputer/maxtext, layers/pipeline.py
///   one_f_one_b   1F1B, also called PipeDream-flush                           Narayanan 2021, arXiv 2104.04473
///   interleaved   1F1B on v chunks of every stage, in a loop                  the same
///   zb_h1, zb_h2  W apart from B, in the memory of 1F1B and of twice that     Qi 2023, arXiv 2401.10241
///   zb_1p, zb_2p  the same two limits of memory, order searched for the times the same
///   zb_v          two chunks laid out as a V, W apart                         the same
///   v_half, v_min V with a half and a third of the memory of 1F1B             Qi 2024, arXiv 2405.15362
///   dualpipe      microbatches from both ends, parameters twice               DeepSeek-AI 2024, arXiv 2412.19437
///   dualpipe_v    dualpipe folded in its middle: a V of half as many devices  github.com/deepseek-ai/DualPipe

#include <fabricost/collective.hpp>
#include <fabricost/error.hpp>

#include <array>
#include <cmath>
#include <optional>
#include <string_view>

namespace fabricost::plan {

enum class PipelineSchedule : unsigned char {
  none,
  gpipe,
  one_f_one_b,
  interleaved,
  zb_h1,
  zb_h2,
  zb_1p,
  zb_2p,
  zb_v,
  v_half,
  v_min,
  dualpipe,
  dualpipe_v
};
inline constexpr int pipeline_schedule_count = 13;
inline constexpr std::array<std::string_view, pipeline_schedule_count> pipeline_schedule_names{
    "none", "gpipe", "1f1b", "interleaved", "zb_h1", "zb_h2", "zb_1p", "zb_2p", "zb_v", "v_half", "v_min", "dualpipe", "dualpipe_v"};
[[nodiscard]] constexpr std::string_view name(PipelineSchedule s) { return pipeline_schedule_names[static_cast<std::size_t>(s)]; }

/// Names in any case, with dashes, underscores or blanks; also `one_f_one_b`, `1F1B-I`, `interleaved-1F1B`,
/// `vpp`; an empty text is `none`.
[[nodiscard]] std::optional<PipelineSchedule> parse_pipeline_schedule(std::string_view text);

/// The positions of a stage's chunks on the path of a microbatch.
enum class PipelineLayout : unsigned char {
  loop,       ///< chunk c of stage s is the (c p + s)-th: every chunk goes through all stages
  v,          ///< chunk 0 goes down the stages, chunk 1 comes back: the last stage holds the middle
  both_ways,  ///< every stage holds two full chunks: half of the microbatches go down, half come up
};

[[nodiscard]] constexpr PipelineLayout layout_of(PipelineSchedule s) {
  switch (s) {
    case PipelineSchedule::zb_v:
    case PipelineSchedule::v_half:
    case PipelineSchedule::v_min:
    case PipelineSchedule::dualpipe_v: return PipelineLayout::v;
    case PipelineSchedule::dualpipe: return PipelineLayout::both_ways;
    default: return PipelineLayout::loop;
  }
}

/// True if microbatches enter from both ends.
[[nodiscard]] constexpr bool runs_both_ways(PipelineSchedule s) {
  return s == PipelineSchedule::dualpipe || s == PipelineSchedule::dualpipe_v;
}

/// True if the gradient of the weights is a piece of work of its own, apart from that of the input.
[[nodiscard]] constexpr bool splits_backward(PipelineSchedule s) { return s >= PipelineSchedule::zb_h1; }

/// Whether a stage may hold any number of chunks.
[[nodiscard]] constexpr bool takes_chunks(PipelineSchedule s) { return s == PipelineSchedule::interleaved || s == PipelineSchedule::gpipe; }

/// Chunks of layers per stage: 2 in the V schedules and dualpipe, `asked` where it takes any number, otherwise 1.
[[nodiscard]] constexpr int chunks_of(PipelineSchedule s, int asked) {
  return layout_of(s) != PipelineLayout::loop ? 2 : takes_chunks(s) ? asked : 1;
}

/// Times of one stage for one microbatch, in seconds.
struct StageTimes {
  double forward = 0, backward = 0, weight = 0;  ///< F, B, W of all layers of one stage, over all its chunks
  double exchange = 0;                           ///< C, one hand-over, one way
  double last_extra = 0;                         ///< extra time of the last layers (the logits), F + B + W together, a third each
  double overlapped = 0;                         ///< dualpipe: a forward and a full backward running as one; 0: their sum
  /// Share of a microbatch's activations that stays until W; the rest is freed by B. 32/34 of a layer with
  /// fused attention: 34 s b h bytes, of which W needs all but 2 (Korthikanti 2022, Qi 2023); 32 / (34 + 5 a
  /// s / h) where scores are stored.
  double held_for_weight = 32.0 / 34;

  [[nodiscard]] constexpr double full_backward() const { return backward + weight; }
  [[nodiscard]] constexpr double work() const { return forward + backward + weight; }
};

/// \throws RequestError for a schedule that cannot run with these numbers, naming the nearest that can, and
/// for invalid times
void check_pipeline(PipelineSchedule schedule, int stages, int chunks, int microbatches, const StageTimes& t);

}  // namespace fabricost::plan
