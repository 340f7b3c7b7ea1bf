#pragma once
/// \file compare.hpp
/// The best each of several machines makes of one job: time with its interval, tokens, money, power, what the time is spent on; and which
/// is better, by how much, and how sure that is.
///
/// A machine's rate R = tokens/s per GPU; its interval follows from that of the time, R t / t_high to R t / t_low. The order of two
/// machines is sure where their intervals part: of each, nine of ten measurements should fall inside.

#include <fabricost/plan/cost.hpp>
#include <fabricost/plan/terms.hpp>
#include <fabricost/plan/training.hpp>
#include <fabricost/workload/interval.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace fabricost {

/// One machine's best.
struct Compared {
  std::string system;
  std::string trouble{};                      ///< why it has none; nothing below is set then
  std::optional<PricedLayout> training{};     ///< its layout, of a training job
  std::optional<PricedServing> serving{};     ///< or of a serving one
  double seconds = 0, low = 0, high = 0;      ///< of a step, or of a token; the 5-95 % interval
  double tokens_per_gpu = 0;                  ///< tokens per second and GPU
  std::vector<TimeTerm> terms{};              ///< what the seconds are made of; they sum to them
  std::optional<double> dollars{}, joules{};  ///< per million tokens; nothing where not known
  double megawatts = 0;                       ///< of the site with all GPUs busy; 0 where not known

  [[nodiscard]] double slowest_rate() const { return tokens_per_gpu * seconds / high; }
  [[nodiscard]] double fastest_rate() const { return tokens_per_gpu * seconds / low; }
};

namespace detail {
inline void add_money(Compared& c, const System& system, double gpus, const Prices& prices) {
  const Money money = money_per_million_tokens(system, gpus, c.tokens_per_gpu * gpus, prices);
  if (money.paid_known()) c.dollars = money.paid().value();
  if (!money.power_known) return;
  c.joules = money.energy.value();
  c.megawatts = power_of(system, gpus, prices.power).site.value() * 1e-6;
}
}  // namespace detail

/// The fastest layout of a training job on one machine. \throws RequestError where none fits or is possible
[[nodiscard]] inline Compared compared(TrainingQuestion question, const System& system, const Prices& prices) {
  question.top = 1;
  const TrainingPlan plan = plan_training(question, system);
  if (plan.layouts.empty()) {  // then there is a nearest
    const auto gibi = [](double bytes) { return std::to_string(static_cast<long long>(std::ceil(bytes / gibibyte))); };
    throw RequestError("does not fit in any layout: the nearest needs " + gibi(plan.nearest->memory.total()) + " GiB a GPU of " +
                       gibi(Processor::of(system).memory * (1 - question.headroom)) + "; take more GPUs");
  }
  Compared c{.system = system.name};
  c.training = plan.layouts.front();
  const StepTime& t = c.training->time;
  c.seconds = t.seconds;
  std::tie(c.low, c.high) = interval_of(t.seconds, question.stack, system.gpu.generation, question.precision);
  c.tokens_per_gpu = static_cast<double>(question.global_batch) * question.sequence / (t.seconds * question.gpus);
  c.terms = terms_of(t);
  detail::add_money(c, system, question.gpus, prices);
  return c;
}

/// A deployment found by plan_serving. \throws RequestError for one that answers no tokens
[[nodiscard]] inline Compared compared(const ServingQuestion& question, const PricedServing& best, const System& system,
                                       const Prices& prices) {
  Compared c{.system = system.name};
  c.serving = best;
  c.seconds = best.time.tpot;
  std::tie(c.low, c.high) = interval_around(c.seconds, question.stack.spread_tpot);
  c.tokens_per_gpu = best.tokens_per_s_per_gpu;
  c.terms = terms_of(question, best);
  detail::add_money(c, system, question.gpus, prices);
  return c;
}
/// The deployment that answers most tokens within the limits. \throws RequestError where none does
[[nodiscard]] inline Compared compared(ServingQuestion question, const System& system, const Prices& prices) {
  question.top = 1;
  const ServingPlan plan = plan_serving(question, system);
  if (plan.layouts.empty()) throw RequestError("fits in no deployment that keeps the limits");
  return compared(question, plan.layouts.front(), system, prices);
}

/// Every machine in turn, priced by `price(system)`; one that cannot do the job says why and does not stop the others.
/// \throws RequestError when none can, naming the first one's trouble
template <class Price>
[[nodiscard]] std::vector<Compared> compare(std::span<const System> systems, Price&& price) {
  std::vector<Compared> out;
  for (const System& system : systems) {
    try {
      out.push_back(price(system));
    } catch (const RequestError& error) {
      out.push_back({.system = system.name, .trouble = error.what()});
    }
  }
  const bool any = std::any_of(out.begin(), out.end(), [](const Compared& c) { return c.trouble.empty(); });
  if (!any && !out.empty()) throw RequestError(out.front().system + ": " + out.front().trouble);
  return out;
}

/// Which machine makes most tokens per second and GPU, against the next one.
struct Verdict {
  const Compared* best = nullptr;
  const Compared* next = nullptr;  ///< null where one machine alone can do the job
  double faster = 1;               ///< rate of the best over that of the next
  bool sure = false;               ///< the intervals part
};

/// Points into `all`. \throws RequestError where no machine can do the job
[[nodiscard]] inline Verdict verdict_of(std::span<const Compared> all) {
  std::vector<const Compared*> able;
  for (const Compared& c : all)
    if (c.trouble.empty()) able.push_back(&c);
  if (able.empty()) throw RequestError("no machine can do the job");
  std::stable_sort(able.begin(), able.end(), [](const Compared* a, const Compared* b) { return a->tokens_per_gpu > b->tokens_per_gpu; });
  if (able.size() == 1) return {.best = able[0]};
  return {able[0], able[1], able[0]->tokens_per_gpu / able[1]->tokens_per_gpu, able[0]->slowest_rate() > able[1]->fastest_rate()};
}

}  // namespace fabricost
