#pragma once
/// The goal of a question: a longest step, a least rate, a share, or a run that ends in time. Private.

#include <fabricost/plan/answers/design/need.hpp>

#include <functional>
#include <string>
#include <vector>

namespace fabricost::plan::need {

/// A forward answer at one value, as far as goals ask.
struct Outcome {
  double seconds = 0, low = 0, high = 0;  ///< of a step or a token, with the interval
  double exposed = 0;                     ///< of it, communication
  double rate = 0;                        ///< MFU, or answered tokens per second
  double per_gpu = 0;                     ///< tokens per second and GPU
  double kept = 1;                        ///< goodput
  double steps = 0;                       ///< of the run
  int idle = 0;                           ///< GPUs of those given
  int needed = 0;                         ///< GPUs on which the same layout runs, too
  std::vector<StepTerm> terms{};
};

enum class End : unsigned char { fast, predicted, slow };

/// The error of a prediction as a factor: the end of its interval over the predicted time.
[[nodiscard]] inline double factor(const Outcome& o, End end) {
  return end == End::predicted ? 1 : (end == End::fast ? o.low : o.high) / o.seconds;
}
/// Seconds where only communication is off.
[[nodiscard]] inline double stretched(const Outcome& o, double by) { return o.seconds + o.exposed * (by - 1); }

/// The quantity a goal compares a step with.
enum class Against : unsigned char { nothing, unbounded, least };

struct Goal {
  std::string words, measured;  ///< "a step of at most 8 s", "step, s"
  double limit = 0;
  bool at_least = false;  ///< the measure must be at least the limit; else at most
  std::function<double(const Outcome&, double by)> measure;
  /// unbounded: the measure is a step over `reference`, that with infinitely much; least: tokens per GPU over those at the least value
  Against against = Against::nothing;
  Outcome reference{};

  [[nodiscard]] double of(const Outcome& o, End end) const {
    const double by = factor(o, end);
    // Only the cost of the finite part is uncertain, not the time of both: their layouts may communicate differently.
    if (against == Against::unbounded) return 1 + (o.seconds / reference.seconds - 1) * by;
    if (against == Against::least)
      return o.per_gpu * o.seconds / stretched(o, by) / (reference.per_gpu * reference.seconds / stretched(reference, by));
    return measure(o, by);
  }
  [[nodiscard]] bool holds(const Outcome& o, End end) const {
    constexpr double rounding = 1e-12;
    return at_least ? of(o, end) >= limit * (1 - rounding) : of(o, end) <= limit * (1 + rounding);
  }
};

/// "exchange of experts, 23 %": the largest term besides arithmetic. \param of what their shares are
[[nodiscard]] std::string takes_most(const std::vector<StepTerm>& terms, Time of);

/// The one goal of a training question. \throws Refusal for none, several, or a text that is none
[[nodiscard]] Goal goal_of(const NeedRequest& request);
[[nodiscard]] Goal goal_of(const NeedServeRequest& request);

}  // namespace fabricost::plan::need
