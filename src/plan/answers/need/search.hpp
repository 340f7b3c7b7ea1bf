#pragma once
/// The values of an unknown at which the forward question is asked, and the least or largest that meets the goal. Private.

#include "answers/need/goal.hpp"
#include "answers/varied/varied.hpp"

#include <fabricost/on_threads.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/progress.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::plan::need {

/// The forward answer at a value.
template <class Plan>
struct At {
  Outcome outcome;
  Plan plan{};
  std::string stack_note{};
  std::string trouble{};  ///< why nothing can run; then the rest is empty
  std::optional<Unmet> unmet{};  ///< the same in a word; none: the question was refused
  std::exception_ptr refused{};  ///< the same, where the question was refused and not unmet: memory and limits are an answer
  double value = 0;
};

/// Rounded to three digits, as a person would write it, so that a goal that held before holds still.
[[nodiscard]] inline double rounded(double value, bool up) {
  const double scale = std::pow(10.0, 2 - std::floor(std::log10(value)));
  return (up ? std::ceil(value * scale - 1e-9) : std::floor(value * scale + 1e-9)) / scale;
}

/// Every value tried, with its answer. \tparam Ask At<Plan>(double value)
template <class Plan, class Ask>
class Search {
 public:
  /// \param most the largest value is wanted, not the least \param refine between values of the grid \param unit multiples of it are asked
  /// for between counts of the grid \param least_alone of values beyond the edge nothing is asked \param edge_alone of what is tried only the
  /// edge is wanted \param above no value below it can hold
  Search(const varied::Varied& unknown, const Goal& goal, bool most, bool refine, double unit, bool least_alone, bool edge_alone, double above,
         Ask ask)
      : unknown_(unknown),
        goal_(goal),
        most_(most),
        refine_(refine),
        least_alone_(least_alone),
        edge_alone_(edge_alone),
        unit_(unit),
        above_(above),
        ask_(std::move(ask)) {}

  const At<Plan>& at(double value) {
    const auto found = all_.find(value);
    if (const At<Plan>* const same = found == all_.end() ? same_as(value) : nullptr) return *same;
    const auto here = found != all_.end() ? found : all_.emplace(value, ask_(value)).first;
    here->second.value = value;
    return here->second;
  }
  [[nodiscard]] bool holds(double value, End end = End::predicted) {
    const At<Plan>& one = at(value);
    return one.trouble.empty() && goal_.holds(one.outcome, end);
  }
  /// Asks at all of these values, several side by side. \param shown as progress
  void ask_at(std::vector<double> values, bool shown = false) {
    std::erase_if(values, [&](double value) { return all_.contains(value); });
    std::vector<std::optional<At<Plan>>> answers(values.size());
    std::atomic<long long> done{0};
    core::on_threads(values.size(), core::processors(), [&](std::size_t i) {
      answers[i] = ask_(values[i]);
      if (shown) core::tell_progress(++done, std::ssize(values));
    });
    for (std::size_t i = 0; i < values.size(); ++i) all_.emplace(values[i], std::move(*answers[i]));
  }
  /// The least of `values` that holds, or the largest, refined between it and the one before it that does not; none: nothing.
  [[nodiscard]] std::optional<double> edge(std::vector<double> values, End end) {
    if (most_) std::reverse(values.begin(), values.end());
    const auto first = first_that_holds(values, end);
    if (!first || !refine_ || *first == values.front()) return first;
    return between(*std::prev(std::find(values.begin(), values.end(), *first)), *first, end);
  }
  /// Whether `a` is nearer to the wanted end than `b`.
  [[nodiscard]] bool better(double a, double b) const { return most_ ? a > b : a < b; }
  [[nodiscard]] const std::map<double, At<Plan>>& all() const { return all_; }

 private:
  /// Fewer GPUs than given are tried, too: with one between those that are needed of more and all of these the same layout is the best. Its
  /// idle GPUs are others, which an edge does not ask for.
  [[nodiscard]] const At<Plan>* same_as(double value) const {
    if (!edge_alone_ || unknown_.kind != varied::Kind::gpus) return nullptr;
    const auto more = all_.upper_bound(value);
    const bool same = more != all_.end() && more->second.trouble.empty() && more->second.outcome.needed <= value;
    return same ? &more->second : nullptr;
  }
  /// Asks at a few values side by side until one of them holds.
  [[nodiscard]] std::optional<double> first_that_holds(const std::vector<double>& values, End end) {
    const std::size_t together = core::processors();
    const auto possible = std::find_if(values.begin(), values.end(), [&](double value) { return value >= above_; });
    const std::size_t first = possible == values.end() ? 0 : static_cast<std::size_t>(possible - values.begin());  // none: all, to say how far
    for (std::size_t i = first; i < values.size(); ++i) {
      if (!edge_alone_) core::tell_progress(static_cast<long long>(i - first), static_cast<long long>(values.size() - first));
      if ((i - first) % together == 0 && same_as(values[i]) == nullptr)
        ask_at({values.begin() + static_cast<std::ptrdiff_t>(i), values.begin() + static_cast<std::ptrdiff_t>(std::min(i + together, values.size()))});
      if (holds(values[i], end)) return values[i];
    }
    return std::nullopt;
  }
  double between(double fails, double holding, End end) {
    if (unknown_.whole) return between_whole(fails, holding, end);
    while (std::max(fails, holding) / std::min(fails, holding) > 1.01) {
      const double middle = rounded(std::sqrt(fails * holding), !most_);
      if (!(middle > std::min(fails, holding) && middle < std::max(fails, holding))) break;
      (holds(middle, end) ? holding : fails) = middle;
    }
    if (const double round = rounded(holding, !most_); better(fails, round) && holds(round, end)) return round;
    return holding;
  }
  /// Whether a count holds depends on its divisors: seven counts, evenly spaced, are all tried, and then again seven between the best that
  /// holds and the next, until they are 1 % apart. Where nothing is asked beyond the edge they are tried from the best on, until one holds.
  double between_whole(double fails, double holding, End end) {
    constexpr int parts = 8;
    const double toward = most_ ? 1 : -1;
    for (;;) {
      const double step = std::max(1.0, std::floor(std::fabs(fails - holding) / parts / unit_)) * unit_, from = holding;
      std::vector<double> counts;
      for (double at = from + toward * step; better(fails, at); at += toward * step) counts.push_back(at);
      if (edge_alone_)
        for (const double count : counts) static_cast<void>(at(count));  // the largest first: those above its GPUs in use need no search
      else if (!least_alone_)
        ask_at(counts);
      constexpr std::size_t side_by_side = 2;
      for (std::size_t n = counts.size(); n > 0; --n) {
        const auto next = counts.begin() + static_cast<std::ptrdiff_t>(n);
        if (least_alone_ && !edge_alone_ && !all_.contains(counts[n - 1]))
          ask_at({next - static_cast<std::ptrdiff_t>(std::min(side_by_side, n)), next});
        if (holds(counts[n - 1], end)) {
          holding = counts[n - 1];
          break;
        }
      }
      if (better(fails, holding + toward * step)) fails = holding + toward * step;
      if (step <= unit_ || step <= 0.01 * holding) return holding;
    }
  }

  const varied::Varied& unknown_;
  const Goal& goal_;
  bool most_, refine_, least_alone_, edge_alone_;
  double unit_, above_;
  Ask ask_;
  std::map<double, At<Plan>> all_;
};

}  // namespace fabricost::plan::need
