/// \file rl.cpp
/// Divides GPUs between training and generation, for reinforcement learning.

#include "answers/search_time.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/hardware/slice.hpp>
#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/plan/specs/rl.hpp>

namespace fabricost::plan {
namespace {

[[nodiscard]] TrainingQuestion update_of(const RlRequest& r, const System& system) {
  PlanRequest p;
  p.model = r.model;
  p.gpus = r.gpus;
  p.global_batch = 1;
  p.precision = r.precision;
  p.stack = r.stack;
  p.tp = r.tp;
  p.pp = r.pp;
  p.cp = r.cp;
  p.ep = r.ep;
  p.zero = r.zero;
  p.microbatch = r.microbatch;
  p.recompute = r.recompute;
  return training_question(p, system);
}

[[nodiscard]] ServeRequest engines_of(const RlRequest& r) {
  ServeRequest s;
  s.gpus = r.gpus;
  s.isl = r.isl;
  s.osl = *r.osl;
  s.stack = r.rollout_stack;
  s.precision = r.rollout_precision.value_or(WeightFormat::bf16);
  s.tp = r.rollout_tp;
  s.pp = r.rollout_pp;
  s.ep = r.rollout_ep;
  s.dp = r.rollout_dp;
  s.batch = r.batch;
  return s;
}

[[nodiscard]] std::vector<StepTerm> listed_terms(const RlTime& t) {
  std::vector<StepTerm> out{{"prompts", units::s(t.prompts)}, {"generation", units::s(t.generation)}, {"tail", units::s(t.tail)}};
  if (t.reward > 0) out.push_back({"reward", units::s(t.reward)});
  if (t.log_probs > 0) out.push_back({"log_probs", units::s(t.log_probs)});
  out.push_back({"training", units::s(t.training)});
  out.push_back({"sync", units::s(t.sync)});
  if (t.reload > 0) out.push_back({"reload", units::s(t.reload)});
  if (t.framework != 0) out.push_back({"framework", units::s(t.framework)});
  if (t.hidden > 0) out.push_back({"hidden", units::s(-t.hidden)});
  return out;
}

[[nodiscard]] PlannedRl planned(const RlRequest& r, const RlQuestion& q, const System& system, const PricedRl& p) {
  const Layout& l = p.training.layout;
  const double answers = q.load.sequences(), tokens = answers * (q.load.isl + q.lengths.mean());
  return {.system = system.name,
          .model = q.training.model.name,
          .stack = q.training.stack.name,
          .rollout_stack = r.rollout_stack,
          .gpus = q.gpus,
          .colocated = p.colocated,
          .offloads = p.offloads,
          .train_gpus = p.train_gpus,
          .rollout_gpus = p.rollout_gpus,
          .iteration = units::s(p.time.seconds),
          .interval = {units::s(p.low), units::s(p.high)},
          .tokens_per_second = tokens / p.time.seconds,
          .tokens_per_second_per_gpu = tokens / p.time.seconds / q.gpus,
          .answers_per_second = answers / p.time.seconds,
          .rollout_idle = p.rollout_idle,
          .train_idle = p.train_idle,
          .terms = listed_terms(p.time),
          .tp = l.tp,
          .pp = l.pp,
          .vp = l.vp,
          .cp = l.cp,
          .ep = l.ep,
          .dp = l.dp,
          .zero = l.zero,
          .microbatch = l.microbatch,
          .recompute = std::string{recompute_names[static_cast<std::size_t>(l.recompute)]},
          .step = units::s(p.training.time.seconds),
          .memory = units::B(p.training.memory.total()),
          .rollout_tp = p.engine.tp,
          .rollout_pp = p.engine.pp,
          .rollout_ep = p.engine.ep,
          .rollout_dp = p.engine.attention_dp,
          .engines = p.engines,
          .running = p.running,
          .tpot = units::s(p.token)};
}

}  // namespace

RlAnswer answer(const RlRequest& r) {
  if (!r.system) throw Refusal("on which machine? Name it with <system> (fabricost machine lists them)", true);
  if (!r.model) throw Refusal("which model? Name it with <model> (fabricost model lists them)", true);
  if (!r.gpus) throw Refusal("on how many GPUs? Give <gpus>", true);
  if (!r.prompts) throw Refusal("how many prompts an iteration? Give <prompts>", true);
  if (!r.osl) throw Refusal("how long is an answer on average? Give <osl>", true);
  if (!r.max_osl) throw Refusal("at how many tokens is an answer cut? Give <max_osl>", true);
  check_ranges(r);
  const System system = slice_for(r.system.load(r.overrides, {.compute = true, .custom = false, .moe = false}, r.calibration), *r.gpus);
  const double batch = static_cast<double>(*r.prompts) * r.samples;
  if (batch * r.epochs > any_count.max) throw Refusal("<prompts> x <samples> x <epochs> are more answers than an iteration can have");
  if (r.updates > batch * r.epochs) throw Refusal("<updates> must not exceed the answers of an iteration, each update needs one");
  RlQuestion q;
  q.training = update_of(r, system);
  q.rollout = serving_question(engines_of(r), q.training.model, system);
  if (r.reward_model) {
    ServeRequest read;
    read.gpus = r.gpus;
    read.isl = static_cast<int>(std::min<double>(double(r.isl) + *r.osl, any_count.max));
    read.osl = 1;
    read.precision = WeightFormat::bf16;
    read.stack = r.rollout_stack;
    q.reward = serving_question(read, r.reward_model.load(), system);
  }
  q.load = {.prompts = double(*r.prompts), .samples = double(r.samples), .isl = double(r.isl)};
  const RlFacts facts = load_rl_facts();
  q.lengths = AnswerLengths(*r.osl, *r.max_osl, r.length_spread.value_or(facts.length_spread));
  q.load_rate = facts.load_rate;
  q.scale = r.scale.value_or(facts.framework);
  q.spread = facts.framework_spread;
  q.gpus = *r.gpus;
  q.updates = r.updates;
  q.epochs = r.epochs;
  q.log_probs = r.log_probs;
  q.reference = r.reference;
  q.critic = r.critic;
  q.reward_seconds = r.reward.value();
  q.colocated = r.colocated;
  q.overlap = r.overlap;
  q.train_gpus = r.train_gpus;
  q.top = r.top;
  const auto start = std::chrono::steady_clock::now();
  const RlPlan plan = plan_rl(q, system);
  RlAnswer out;
  out.search_time = since(start);
  if (plan.ways.empty()) throw UnmetError(Unmet::memory, plan.why);
  for (const PricedRl& way : plan.ways) out.layouts.push_back(planned(r, q, system, way));
  out.evaluated = plan.evaluated;
  out.model = q.training.model.name;
  out.system = system.name;
  out.gpus = q.gpus;
  out.stack = q.training.stack.name;
  out.rollout_stack = r.rollout_stack;
  const Layout& trained = plan.ways.front().training.layout;
  out.global_batch = trained.global_batch;
  out.sequence = trained.sequence;
  out.answers = q.load.sequences();
  out.mean_tokens = q.load.isl + q.lengths.mean();
  out.longest_tokens = q.load.isl + q.lengths.quantile(out.answers / (out.answers + 1));
  return out;
}

}  // namespace fabricost::plan
