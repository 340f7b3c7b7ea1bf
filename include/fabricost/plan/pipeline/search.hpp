#pragma once
/// \file search.hpp
/// The zero-bubble order for given stage times and memory: ZB-1p, ZB-2p (Qi 2023, arXiv 2401.10241) and any other limit.
///
/// Every stage runs d_i forwards, then B and F alternately, then the remaining Bs; a W runs where the stage
/// would wait, or where the next F needs its memory (fill.hpp). An order is thus a list of depths
/// d_i, and the search is over depths:
///
///   start     evenly from the most the first stage's memory holds to 1 on the last; and d_i = 1 + x return_i / F for x from 1/2 to 2,
///             with return_i the time until the first gradient is back at stage i: F + B of the later stages and two hand-overs a stage
///   improve   from the best of these: the depth of one stage, or of all up to it, one more or one less, kept where the longest stage gets
///             shorter
///
/// The work is bounded: at most `max_tries` orders are run, fewer for long pipelines (`max_pieces` pieces
/// of work in total).

#include <fabricost/plan/pipeline/fill.hpp>

namespace fabricost::plan {
namespace detail {

class DepthSearch {
 public:
  /// \param room microbatch-stages a stage may hold
  DepthSearch(PipelineSchedule schedule, int stages, int microbatches, const StageTimes& times, double room)
      : schedule_(schedule),
        stages_(stages),
        microbatches_(microbatches),
        times_(times),
        room_(room),
        max_depth_(std::max(1, static_cast<int>(std::min<double>(microbatches, std::floor(room * (1 + 1e-9)))))),
        tries_left_(std::clamp(max_pieces / (9LL * stages * microbatches), min_tries, max_tries)) {}

  /// The shortest run found; empty when no order runs in that room.
  [[nodiscard]] std::optional<PipelineRun> run();

 private:
  using Depths = std::vector<int>;
  static constexpr long long max_tries = 400, min_tries = 10, max_pieces = 4'000'000;

  /// Evenly from the most that the memory of the first stage holds down to 1 on the last.
  [[nodiscard]] Depths even_depths() const;

  [[nodiscard]] Depths return_depths(double part, double rounded_up) const;

  [[nodiscard]] PipelineOrders orders(const Depths& depths) const;

  /// Runs these depths; true if they are the shortest so far.
  bool attempt(const Depths& depths);

  /// One round over all stages; true if any run got shorter.
  bool improve();

  PipelineSchedule schedule_;
  int stages_, microbatches_;
  StageTimes times_;
  double room_;
  int max_depth_;
  long long tries_left_;
  Depths depths_;
  std::optional<PipelineRun> best_;
};

}  // namespace detail
}  // namespace fabricost::plan
