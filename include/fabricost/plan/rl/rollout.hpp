#pragma once
/// Generation of a batch of answers on serving engines (serving/serving.hpp): every engine has as many sequences, decodes as
/// many at the same time as its memory holds, and starts the next one when one ends. When none waits any more, the engine
/// drains: few long answers decode with few others.
///
///   step     decode_step of the running sequences at their mean context, between two ends of answers
///   drained  prompts + sum of steps until the longest answer ends
///   steady   sequences x mean / running x step(running), the time of the same answers on an engine that never drains: mean
///            context  isl + E[L^2] / (2 E[L])     (an answer of length L is seen L times as often, on average half done)
///   tail     drained - steady
///
/// A prompt is prefilled once for all its samples (prefix caching). The engine with the longest answer of all decides.

#include <fabricost/error.hpp>
#include <fabricost/plan/serving/question.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <vector>

namespace fabricost::plan {

// Lengths of sampled answers: log-normal, cut where the engine stops an answer.
//
//   L = min(X, max)      ln X normal with standard deviation s; its mean is chosen so that E[L] is the mean asked for
//   E[L^k]               exp(k m + k^2 s^2 / 2) P(Z < (ln max - m) / s - k s) + max^k P(Z > (ln max - m) / s)
//
// s = 0: all answers have the mean length. Answers cut at the limit are the mass P(X > max) there.

class AnswerLengths {
 public:
  /// \throws Refusal for a mean above the limit
  AnswerLengths(double mean, double max, double spread) : mean_(mean), max_(max), spread_(mean < max ? spread : 0) {
    if (!(mean >= 1 && max >= mean && spread >= 0))
      throw Refusal("<osl> is the mean of answers that end at <max_osl>; it must not exceed it");
    if (spread_ <= 0) return;
    // the cut mean grows with m: from 0 to max
    double low = std::log(mean) - halvings * spread_ * spread_ - halvings, high = std::log(max) + halvings * spread_;
    for (int i = 0; i < halvings; ++i) (moment_at((low + high) / 2, 1) < mean ? low : high) = (low + high) / 2;
    centre_ = (low + high) / 2;
  }

  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double max() const { return max_; }
  /// E[L^k].
  [[nodiscard]] double moment(int k) const { return spread_ > 0 ? moment_at(centre_, k) : std::pow(mean_, k); }
  /// The length that the share `u` of answers does not exceed; u in (0, 1).
  [[nodiscard]] double quantile(double u) const;
  /// `count` lengths that stand for equal shares of all answers, in an order that spreads short and long ones evenly.
  [[nodiscard]] const std::vector<double>& typical(int count) const;

 private:
  static constexpr int halvings = 60;

  [[nodiscard]] static double below(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }
  [[nodiscard]] double moment_at(double centre, int k) const {
    const double cut = (std::log(max_) - centre) / spread_;
    return std::exp(k * centre + k * k * spread_ * spread_ / 2) * below(cut - k * spread_) + std::pow(max_, k) * below(-cut);
  }

  double mean_, max_, spread_;
  double centre_ = 0;  ///< mean of ln X
  mutable std::map<int, std::vector<double>> typical_;
};

/// The load of a rollout: `prompts` of `isl` tokens, `samples` answers to each.
struct RolloutLoad {
  double prompts = 1, samples = 1, isl = 0;
  [[nodiscard]] double sequences() const { return prompts * samples; }
};

/// Seconds of a generation by cause; they sum to `seconds`.
struct RolloutTime {
  double seconds = 0;
  double prompts = 0;  ///< prefill
  double steady = 0;   ///< decoding at the full batch
  double tail = 0;     ///< time that draining adds
  double running = 0;  ///< sequences of an engine at the full batch
  double token = 0;    ///< s per token of a sequence at the full batch
};

/// Seconds per token of a sequence by running sequences and mean context, between a few priced points: a decode step is
/// nearly linear in both.
class DecodeTable {
 public:
  DecodeTable(const Engine& engine, const ServingStack& stack, double max_running, double min_context, double max_context)
      : low_(min_context), high_(std::max(max_context, min_context + 1)) {
    for (double b = 1; b < max_running; b = std::max(b + 1, std::floor(b * std::sqrt(2.0)))) batches_.push_back(b);
    batches_.push_back(max_running);
    for (const double b : batches_)
      for (int i = 0; i < contexts; ++i)
        seconds_.push_back(decode_step(engine, stack, b, low_ + (high_ - low_) * i / (contexts - 1)).per_token);
  }
  [[nodiscard]] double operator()(double running, double context) const;

 private:
  static constexpr int contexts = 5;

  [[nodiscard]] double at(std::size_t batch, double context) const;

  double low_, high_;
  std::vector<double> batches_, seconds_;
};

/// Sequences that decode at the same time on one engine of `share` sequences: at most those whose mean cache fits.
/// 0: not even the longest answer fits.
[[nodiscard]] double running_of(const Engine& engine, const ServingStack& stack, const RolloutLoad& load,
                                const AnswerLengths& lengths, double share, double max_batch);

/// Seconds to decode the answers of one engine until the last one ends. \param share its sequences \param longest of all
/// engines \param step seconds per token by (running, mean context)
template <class Step>
[[nodiscard]] double drained_seconds(const RolloutLoad& load, const AnswerLengths& lengths, double share, double running, double longest,
                                     Step&& step) {
  constexpr double classes = 1024;  // sequences beyond these are represented by equal ones
  const int count = static_cast<int>(std::min(classes, std::ceil(share)));
  const double weight = std::max(1.0, share / count), places = std::max(1.0, running / weight);
  std::vector<double> answers = lengths.typical(count);
  double& last = *std::max_element(answers.begin(), answers.end());
  last = std::max(last, longest);
  // all running sequences gain a token in a step, so that one count of tokens places every end
  struct Running {
    double end, start;
    bool operator>(const Running& o) const { return end > o.end; }
  };
  std::priority_queue<Running, std::vector<Running>, std::greater<>> ends;
  std::size_t next = 0;
  double now = 0, seconds = 0, starts = 0;
  while (true) {
    while (next < answers.size() && static_cast<double>(ends.size()) + 1 <= places) {
      ends.push({now + answers[next++], now});
      starts += now;
    }
    if (ends.empty()) return seconds;
    const double tokens = ends.top().end - now, n = static_cast<double>(ends.size());
    seconds += tokens * step(n * weight, load.isl + now + tokens / 2 - starts / n);
    now = ends.top().end;
    while (!ends.empty() && ends.top().end <= now) {
      starts -= ends.top().start;
      ends.pop();
    }
  }
}

/// Generation of the whole load by `engines` equal engines. \param drains whether the batch ends before the next one begins
[[nodiscard]] RolloutTime rollout_time(const Engine& engine, const ServingStack& stack, const RolloutLoad& load,
                                       const AnswerLengths& lengths, int engines, double running, bool drains);

}  // namespace fabricost::plan
