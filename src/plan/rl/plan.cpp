#include <fabricost/plan/rl/plan.hpp>

#include <fabricost/error.hpp>
#include <fabricost/explain/assumptions.hpp>
#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/hardware/slice.hpp>
#include <fabricost/parameters/interval.hpp>
#include <fabricost/plan/serving/certainty.hpp>
#include <fabricost/plan/serving/plan.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace fabricost::plan {
namespace {

class RlSearch {
 public:
  RlSearch(const RlQuestion& q, const System& system)
      : q_(q), system_(system), machine_(system, q.rollout.constants, q.rollout.stack.kernels), costs_(system, {.ways = q.training.ways}) {}

  [[nodiscard]] RlPlan run();

 private:
  /// Training on so many GPUs.
  struct Trainer {
    PricedLayout layout;
    double update = 0, forward = 0;  ///< s of one update, and of its forward passes alone
    double low = 1, high = 1;        ///< of the interval, over the prediction
  };

  /// What is in the way of every division: of training, of the engines or of the reward model on all GPUs, else of both together.
  [[nodiscard]] std::string why_not();

  /// GPUs that are divided together.
  [[nodiscard]] int node() const { return q_.gpus > system_.gpus_per_node ? system_.gpus_per_node : 1; }
  [[nodiscard]] std::vector<int> splits() const;

  [[nodiscard]] std::optional<Trainer> trainer(int gpus);

  [[nodiscard]] double bytes() const { return weight_bytes(q_.rollout.format.weights) * parameters_of(q_.training.model).total; }

  /// Engines to try on so many GPUs.
  [[nodiscard]] std::vector<EngineLayout> engines(const ServingQuestion& q);

  /// The fastest generation on so many GPUs. \param taken bytes of each GPU that stay with the trainer
  void generate(PricedRl& way, RolloutTime& best, double taken);

  /// Seconds to judge all answers, on `gpus` GPUs.
  [[nodiscard]] double reward(int gpus);

  /// The whole iteration; none where the reward model does not fit the GPUs that train.
  [[nodiscard]] std::optional<PricedRl> finished(PricedRl way, const Trainer& trainer, const RolloutTime& rollout);
  /// Errors of generation and training are independent, the framework's is of both; of two at the same time, the longer counts.
  void set_interval(PricedRl& way, const Trainer& trainer) const;

  void colocated();

  /// \param all GPUs that other splits train on
  void apart(int gpus, const std::vector<int>& all);

  const RlQuestion& q_;
  const System& system_;
  ServingMachine machine_;
  GroupCosts costs_;
  RlPlan plan_;
  std::string why_;
};

RlPlan RlSearch::run() {
  if (q_.colocated.value_or(q_.overlap == RlOverlap::none && !q_.train_gpus)) colocated();
  if (!q_.colocated.value_or(false))
    for (const std::vector<int> all = splits(); const int gpus : all) apart(gpus, all);
  if (plan_.ways.empty()) plan_.why = why_not();
  std::stable_sort(plan_.ways.begin(), plan_.ways.end(), [](const PricedRl& a, const PricedRl& b) {
    return std::tuple{a.time.seconds, -a.idle_gpus, a.train_gpus, a.offloads} <
           std::tuple{b.time.seconds, -b.idle_gpus, b.train_gpus, b.offloads};
  });
  if (static_cast<int>(plan_.ways.size()) > q_.top) plan_.ways.resize(static_cast<std::size_t>(q_.top));
  return std::move(plan_);
}

std::string RlSearch::why_not() {
  if (q_.train_gpus && !why_.empty()) return why_;  // of the only division
  if (!trainer(q_.gpus)) return why_;
  PricedRl all;
  all.rollout_gpus = q_.gpus;
  RolloutTime rollout;
  generate(all, rollout, 0);
  if (rollout.seconds <= 0) return why_;
  try {
    std::ignore = reward(q_.gpus);
  } catch (const RequestError& error) {
    return error.what();
  }
  return fmt::format("{}: {} hold its training, or its engines, but not both; take more <gpus>", q_.training.model.name,
                     counted(q_.gpus, "GPU"));
}

std::vector<int> RlSearch::splits() const {
  if (q_.train_gpus) return {*q_.train_gpus};
  constexpr int parts = 16;
  const int step = std::max(1, (q_.gpus + parts * node() - 1) / (parts * node())) * node();
  std::vector<int> out;
  for (int gpus = step; gpus < q_.gpus; gpus += step) out.push_back(gpus);
  return out;
}

std::optional<RlSearch::Trainer> RlSearch::trainer(int gpus) {
  TrainingQuestion q = update_on(q_, gpus);
  q.top = 1;
  try {
    TrainingPlan plan = plan_training(system_, q);
    for (const Recompute more : {Recompute::selective, Recompute::full})  // a named layout is priced without it
      if (!plan.fits && !q_.training.recompute) q.recompute = more, plan = plan_training(system_, q);
    if (plan.layouts.empty() || !plan.fits) {
      why_ = fmt::format("{}: no layout of {} has the memory to train it; take more {}{}", q.model.name, counted(gpus, "GPU"),
                         q_.train_gpus ? "<train_gpus>" : "<gpus>",
                         q.tp || q.pp || q.cp || q.ep || q.zero || q.microbatch ? ", or leave sizes of the layout out" : "");
      return {};
    }
    Trainer out;
    out.layout = plan.layouts.front();
    out.update = out.layout.time.seconds;
    out.forward = forward_seconds(system_, q, out.layout);
    const TrainingFigures f = figures_of(system_, q, out.layout);
    out.low = f.low / out.update;
    out.high = f.high / out.update;
    return out;
  } catch (const RequestError& error) {
    why_ = error.what();
    return {};
  }
}

std::vector<EngineLayout> RlSearch::engines(const ServingQuestion& q) {
  std::vector<EngineLayout> out;
  try {
    out = engine_layouts(system_, q);
    if (out.empty())
      why_ = fmt::format("{}: no engine on {} has the memory to serve it; take more <gpus>{}", q.model.name, counted(q.gpus, "GPU"),
                         q_.train_gpus ? ", or fewer <train_gpus>" : "");
  } catch (const RequestError& error) {
    why_ = error.what();
  }
  return out;
}

void RlSearch::generate(PricedRl& way, RolloutTime& best, double taken) {
  ServingQuestion q = q_.rollout;
  q.gpus = way.rollout_gpus;
  q.stack.memory_share -= taken / machine_.memory();
  if (q.stack.memory_share <= 0) return;
  const double max_batch = q.batch ? *q.batch : max_sequences;
  for (const EngineLayout& layout : engines(q)) {
    const Engine engine{q.model, layout, q.format, machine_, q.host};
    const int count = way.rollout_gpus / layout.gpus();
    const double running = running_of(engine, q.stack, q_.load, q_.lengths, q_.load.sequences() / count,
                                      q.batch ? max_batch : max_batch * layout.attention_dp);
    if (running < 1) {
      const auto longest = static_cast<long long>(q_.lengths.max());
      why_ = q.model.name + ": an answer of " + std::to_string(longest) +
             " tokens does not fit the memory of an engine; take a shorter <max_osl>, or more <gpus>";
      continue;
    }
    ++plan_.evaluated;
    const RolloutTime t = rollout_time(engine, q.stack, q_.load, q_.lengths, count, running, q_.overlap != RlOverlap::continuous);
    if (best.seconds > 0 && std::pair{t.seconds, count * layout.gpus()} >= std::pair{best.seconds, way.engines * way.engine.gpus()})
      continue;
    best = t;
    way.engine = layout;
    way.engines = count;
    way.running = t.running;
    way.token = t.token;
  }
}

double RlSearch::reward(int gpus) {
  double out = q_.reward_seconds;
  if (!q_.reward) return out;
  ServingQuestion q = *q_.reward;
  q.gpus = gpus;
  q.top = 1;
  const ServingPlan plan = plan_serving(system_, q);
  if (plan.layouts.empty())
    throw RequestError(fmt::format("{}: no engine on {} has the memory for the reward model; take more {}", q.model.name,
                                   counted(gpus, "GPU"), q_.train_gpus ? "<train_gpus>" : "<gpus>"));
  return out + q_.load.sequences() / (plan.layouts.front().tokens_per_s_per_gpu * gpus);  // answers of one token
}

std::optional<PricedRl> RlSearch::finished(PricedRl way, const Trainer& trainer, const RolloutTime& rollout) {
  RlTime& t = way.time;
  t.prompts = rollout.prompts;
  t.generation = rollout.steady;
  t.tail = rollout.tail;
  const double models = q_.critic ? 2 : 1;
  try {
    t.reward = reward(way.train_gpus);
  } catch (const RequestError& error) {  // the reward model needs more of them
    why_ = error.what();
    return {};
  }
  way.train_gpus = trainer.layout.layout.gpus();
  way.rollout_gpus = way.engines * way.engine.gpus();
  way.idle_gpus = q_.gpus - (way.colocated ? std::max(way.train_gpus, way.rollout_gpus) : way.train_gpus + way.rollout_gpus);
  t.log_probs = (q_.log_probs + q_.reference + q_.critic) * trainer.forward * q_.updates / q_.epochs;
  t.training = models * q_.updates * trainer.update;
  const int domain = system_.domain;
  const double weights = bytes();
  t.sync = costs_.seconds(Collective::all_gather, place(way.train_gpus, 1, domain), weights) + weights / q_.load_rate;
  if (!way.colocated) t.sync += costs_.seconds(Collective::broadcast, place(std::max(2, way.rollout_gpus), 1, domain), weights);
  const double generates = q_.scale * t.rollout(), trains = q_.scale * t.trainer() + t.reward;
  t.framework = (q_.scale - 1) * (t.rollout() + t.trainer());
  if (!way.colocated && q_.overlap != RlOverlap::none) t.hidden = std::min(generates, trains);
  t.seconds = generates + trains + t.sync + t.reload - t.hidden;
  if (!way.colocated) {
    way.rollout_idle = (trains - t.hidden) / t.seconds;  // as differences of equal terms: exactly none where nobody waits
    way.train_idle = (generates - t.hidden) / t.seconds;
  }
  set_interval(way, trainer);
  way.training = trainer.layout;
  return way;
}

void RlSearch::set_interval(PricedRl& way, const Trainer& trainer) const {
  const RlTime& t = way.time;
  const auto [slow, fast] = interval_around(1, spread_of(q_.rollout.stack, {.model = q_.rollout.model.name}).spread.tpot);
  const auto [little, much] = interval_around(1, q_.spread);
  const bool both = t.hidden <= 0, by_rollout = t.rollout() >= t.trainer();
  const double generated = both || by_rollout ? q_.scale * t.rollout() : 0, trained = both || !by_rollout ? q_.scale * t.trainer() : 0;
  const auto apart = [&](double rollout, double training, double framework) {
    return std::hypot(generated * (1 - rollout), trained * (1 - training), (generated + trained) * (1 - framework));
  };
  way.low = std::max(0.0, t.seconds - apart(slow, trainer.low, little));
  way.high = t.seconds + apart(fast, trainer.high, much);
}

void RlSearch::colocated() {
  const std::optional<Trainer> trained = trainer(q_.gpus);
  if (!trained) return;
  const MemoryUse& use = trained->layout.memory;
  const double states = use.weights + use.optimizer;
  for (const bool offloads : {false, true}) {
    PricedRl way;
    way.colocated = true;
    way.offloads = offloads;
    way.train_gpus = way.rollout_gpus = q_.gpus;
    if (offloads) {
      try {
        way.time.reload = 2 * states / host_rate(system_);
      } catch (const RequestError&) {  // no link to the host
        continue;
      }
    }
    RolloutTime rollout;
    generate(way, rollout, offloads ? 0 : states);
    if (rollout.seconds <= 0) continue;
    if (std::optional<PricedRl> one = finished(std::move(way), *trained, rollout)) plan_.ways.push_back(std::move(*one));
  }
}

void RlSearch::apart(int gpus, const std::vector<int>& all) {
  PricedRl way;
  way.rollout_gpus = q_.gpus - gpus;
  RolloutTime rollout;
  generate(way, rollout, 0);
  if (rollout.seconds <= 0) return;
  std::vector<int> counts{gpus};
  // whole nodes that no engine takes may train as well
  const int left = q_.gpus - way.engines * way.engine.gpus(), more = left - left % node();
  if (!q_.train_gpus && more > gpus && !std::binary_search(all.begin(), all.end(), more)) counts.push_back(more);
  std::optional<PricedRl> best;
  for (const int trains : counts) {
    const std::optional<Trainer> trained = trainer(trains);
    if (!trained) continue;
    way.train_gpus = trains;
    std::optional<PricedRl> one = finished(way, *trained, rollout);
    if (one && (!best || one->time.seconds < best->time.seconds)) best = std::move(one);
  }
  const auto same = [&](const PricedRl& other) {
    return !other.colocated && other.train_gpus == best->train_gpus && other.rollout_gpus == best->rollout_gpus;
  };
  if (best && std::none_of(plan_.ways.begin(), plan_.ways.end(), same)) plan_.ways.push_back(std::move(*best));
}

}  // namespace

RlPlan plan_rl(const System& system, const RlQuestion& question) {
  if (question.gpus < 1) throw Refusal("<gpus> must be at least 1");
  if (question.train_gpus && (*question.train_gpus < 1 || *question.train_gpus >= question.gpus))
    throw Refusal("<train_gpus> of <gpus> train, the others generate: take at least 1 and fewer than all");
  if (question.colocated.value_or(false) && (question.overlap != RlOverlap::none || question.train_gpus))
    throw Refusal("<colocated> takes all GPUs for one after the other; leave <overlap> and <train_gpus> out");
  if (question.colocated && !*question.colocated && question.gpus < 2) throw Refusal("apart needs at least 2 <gpus>");
  if (system.pod > 0) return plan_rl(slice_for(system, question.gpus), question);
  RlPlan found = RlSearch{question, system}.run();
  if (question.overlap == RlOverlap::none || question.colocated || question.train_gpus) return found;
  RlQuestion turns = question;
  turns.overlap = RlOverlap::none;
  turns.colocated = true;
  turns.top = 1;
  RlPlan other = RlSearch{turns, system}.run();
  found.evaluated += other.evaluated;
  if (other.ways.empty()) return found;
  found.in_turn = std::move(other.ways.front());
  if (found.ways.empty()) found.why += "; in turn on all GPUs it fits: leave <overlap> out";
  return found;
}

}  // namespace fabricost::plan
