#pragma once
/// Seconds of an engine's steps that decode some sequences and read a part of some prompts, interpolated so that one takes nanoseconds.
///
///   step       decode(n, c) + rows(n + p) - rows(n) + attention of the p tokens, balanced over replicas, + experts(n + p) - experts(n) of the
///              mean one, as they work for all
///   rows       products, exchanges and all that is done once a token: weights are read once for sequences and prompts together
///   graphs     a step of more rows than an engine captures is launched by the host: norm_4( step, host launches )
///
/// Its parts are those of a closed loop (serving.hpp), which is the steady state of these steps.

#include <fabricost/plan/serving/serving.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

namespace fabricost::plan {

/// Parts of prompts in one step.
struct PromptPart {
  double tokens = 0;  ///< read in this step
  double past = 0;    ///< before them in the cache
};

/// A function of whole numbers from 1, exact up to `exact`, then interpolated between so many points a doubling. Each value is worked out
/// when it is first asked for.
class LazyCurve {
 public:
  LazyCurve(std::function<double(double)> of, double exact, double points) : of_(std::move(of)), exact_(exact), points_(points) {}
  [[nodiscard]] double operator()(double x) {
    if (x <= exact_) return at(static_cast<std::size_t>(std::max(1.0, x)), [&] { return std::max(1.0, std::floor(x)); }).value;
    if (!(x >= from_.x && x < to_.x)) {
      const double low = std::floor(std::log2(x / exact_) * points_);
      const auto i = static_cast<std::size_t>(exact_ + low);
      from_ = at(i, [&] { return exact_ * std::exp2(low / points_); });
      to_ = at(i + 1, [&] { return exact_ * std::exp2((low + 1) / points_); });
      slope_ = (to_.value - from_.value) / (to_.x - from_.x);
    }
    return from_.value + (x - from_.x) * slope_;
  }

 private:
  struct Point {
    double x = 0, value = -1;
  };
  template <class X>
  Point at(std::size_t i, const X& x) {
    if (i >= known_.size()) known_.resize(i + 1);
    Point& out = known_[i];
    if (out.value < 0) {
      out.x = x();
      out.value = of_(out.x);
    }
    return out;
  }
  std::function<double(double)> of_;
  double exact_, points_;
  std::vector<Point> known_{};
  Point from_{}, to_{};  ///< between which the last value lay
  double slope_ = 0;
};

class StepTimes {
 public:
  /// What steps are made of; contexts and tokens of one attention replica.
  struct Parts {
    std::function<double(double sequences, double context)> decode;  ///< s of a step without prompts
    std::function<double(double rows)> rows = [](double) {
      return 0.0;
    };  ///< s of a step's work on so many tokens of a replica, without attention
    std::function<double(double rows)> experts = [](double) { return 0.0; };       ///< s of experts on so many tokens of the mean replica
    std::function<double(PromptPart)> attention = [](PromptPart) { return 0.0; };  ///< s of attention of a part of a prompt
    double host = 0;              ///< s in which the host launches a step that is in no graph
    double captured = 0;          ///< most rows of a step in a graph
    double rows_of_sequence = 1;  ///< in a step: more than 1 with drafts
    double stages = 1;            ///< of a pipeline, through which a prompt passes while others follow
  };
  explicit StepTimes(Parts parts);
  /// Of an engine. It must outlive them.
  StepTimes(const Engine& engine, const ServingStack& stack);

  /// \param context mean tokens before the new one of each sequence
  [[nodiscard]] double decode(double sequences, double context);
  /// What parts of prompts add to a replica's step, without experts.
  [[nodiscard]] double beside(double sequences, const std::vector<PromptPart>& prompts);
  /// A whole step. \param decode the slowest replica's \param added what prompts add to it \param sequences, tokens of prompts: of a
  /// replica, the mean \param rows the most of a replica
  [[nodiscard]] double mixed(double decode, double added, double sequences, double tokens, double rows);
  [[nodiscard]] double rows_of(double sequences) const { return sequences * parts_.rows_of_sequence; }
  /// Seconds after the last mixed step until its prompts have left the last stage.
  [[nodiscard]] double trail() const { return trail_; }

 private:
  [[nodiscard]] double attention(const PromptPart& part);
  Parts parts_;
  LazyCurve rows_, experts_;
  double trail_ = 0;
  std::vector<LazyCurve> decode_{};     ///< by sequences: of the context
  std::vector<LazyCurve> attention_{};  ///< by tokens, two for each doubling: of the past, for a token
};

}  // namespace fabricost::plan
