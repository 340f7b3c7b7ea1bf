/// Divides GPUs between training and generation, for reinforcement learning.

#include "answers/search_time.hpp"
#include "answers/stack_note.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/hardware/slice.hpp>
#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/plan/specs/rl.hpp>
#include <fabricost/predict/compile.hpp>
#include <fabricost/predict/fabric_of.hpp>

#include <fmt/format.h>

namespace fabricost::plan {

RequestTable<RlRequest> RlRequest::fields() {
  using R = RlRequest;
  using enum Amount;
  return {
      field::ask_machine<R>,
      field::ask_model<R>,
      field::ask_gpus<R>,
      asks(&R::prompts, "prompts", "--prompts", count, any_count, "N", "Prompts per iteration", true),
      asks(&R::samples, "samples", "--samples", count, any_count, "N", "Answers per prompt; default 8"),
      asks(&R::isl, "isl", "--isl", length, any_count, "N", "Tokens per prompt, as in 128k (131072); default 1024"),
      asks(&R::osl, "osl", "--osl", length, any_count, "N", "Mean tokens per answer", true),
      asks(&R::max_osl, "max_osl", "--max-osl", length, any_count, "N", "Longest answer, tokens", true),
      asks(&R::length_spread, "length_spread", "--length-spread", number, {0, 5}, "X",
           "Standard deviation of the log of an answer's length; 0: all equal;\ndefault 0.8"),
      asks(&R::updates, "updates", "--updates", count, any_count, "N", "Optimizer steps of an iteration; default 1"),
      asks(&R::epochs, "epochs", "--epochs", count, any_count, "N", "Passes over the answers; default 1"),
      asks(&R::colocated, "colocated", "--colocated", "YES",
           "Generate and train on the same GPUs in turn (yes) or apart\n(no); default the faster"),
      asks(&R::overlap, "overlap", "--overlap", "HOW",
           "none (default), one_step (generate the next answers meanwhile) or\ncontinuous (generation never ends, weights change "
           "under it)"),
      asks(&R::train_gpus, "train_gpus", "--train-gpus", count, any_count, "N", "GPUs that train (the others generate); default searched"),
      asks(&R::log_probs, "log_probs", "--no-log-probs", "", "Skip the forward pass for probabilities before the update"),
      asks(&R::reference, "reference", "--reference", "", "Add a forward pass of a reference model of the same shape"),
      asks(&R::critic, "critic", "--critic", "", "Train a value model of the same shape as well (PPO)"),
      asks(&R::reward_model, "reward_model", "--reward-model", "NAME", "Model that reads all answers to judge them"),
      asks(&R::reward, "reward_seconds", "--reward-time", seconds, {0, 1e6}, "TIME", "Time until all answers are judged, as 10s"),
      asks(&R::precision, "precision", "--precision", "P", "Precision of training: bf16 (default), fp16, fp8, fp4"),
      asks(&R::stack, "stack", "--stack", "NAME", "Training software; default as for training alone"),
      asks(&R::tp, "tp", "--tp", count, any_count, "N", "Training: tensor parallel size (TP); default searched"),
      asks(&R::pp, "pp", "--pp", count, any_count, "N", "Training: pipeline stages (PP); default searched"),
      asks(&R::cp, "cp", "--cp", count, any_count, "N", "Training: context parallel size (CP); default searched"),
      asks(&R::ep, "ep", "--ep", count, any_count, "N", "Training: expert parallel size (EP); default searched"),
      asks(&R::zero, "zero", "--zero", count, {0, 3}, "0..3", "Training: ZeRO stage; default searched"),
      asks(&R::microbatch, "microbatch", "--microbatch", count, any_count, "N", "Training: packed sequences per microbatch"),
      asks(&R::recompute, "recompute", "--recompute", "KIND", "Activation recomputation: none, selective or full; default\nsearched"),
      asks(&R::rollout_precision, "rollout_precision", "--rollout-precision", "P", "Precision of the engines' weights; default bf16"),
      asks(&R::rollout_stack, "rollout_stack", "--rollout-stack", "NAME", "Serving framework: vllm (default), sglang, trtllm, ..."),
      asks(&R::rollout_tp, "rollout_tp", "--rollout-tp", count, any_count, "N", "Engine: tensor parallel size (TP)"),
      asks(&R::rollout_pp, "rollout_pp", "--rollout-pp", count, any_count, "N", "Engine: pipeline stages (PP)"),
      asks(&R::rollout_ep, "rollout_ep", "--rollout-ep", count, any_count, "N", "Engine: expert parallel size (EP)"),
      asks(&R::rollout_dp, "rollout_dp", "--rollout-dp", count, any_count, "N", "Engine: replicas of attention (DP)"),
      asks(&R::batch, "batch", "--batch", count, any_count, "N", "Largest number of sequences that an engine decodes at once"),
      asks(&R::scale, "scale", "--rl-scale", number, {0.2, 10}, "X",
           "Multiply generation and training by X (measured / predicted on\nyour own run); default what published frameworks took"),
      asks(&R::top, "top", "--top,-k", count, any_count, "K", "Number of divisions to print; default 10"),
      field::ask_calibration<R>,
      field::ask_overrides<R>};
}

AnswerTable<PlannedRl> PlannedRl::fields() {
  using A = PlannedRl;
  return {
      field::give_system_to_python<A>,
      gives(&A::model, "", "model", "Name of the model."),
      gives(&A::stack, "", "stack", "Name of the training stack."),
      gives(&A::rollout_stack, "", "rollout_stack", "Name of the serving framework."),
      gives(&A::gpus, "", "gpus", "GPUs of both together."),
      gives(&A::colocated, "colocated", "colocated", "Whether all GPUs generate and train in turn."),
      gives(&A::offloads, "offloads", "offloads", "Whether the trainer's states wait in host memory meanwhile."),
      gives(&A::train_gpus, "train_gpus", "train_gpus", "GPUs that train."),
      gives(&A::rollout_gpus, "rollout_gpus", "rollout_gpus", "GPUs that generate: of all engines."),
      gives(&A::idle_gpus, "idle_gpus", "idle_gpus", "GPUs that do neither; they count in tokens_per_second_per_gpu."),
      gives(&A::iteration, "iteration_s", "iteration_seconds", "One iteration, s: the sum of terms."),
      gives(&A::interval, "interval_s", "interval_seconds", "(low, high), s: nine iterations in ten should fall between."),
      gives(&A::tokens_per_second, "tokens_per_s", "tokens_per_second", "Tokens of prompts and answers trained on, over the iteration."),
      gives(&A::tokens_per_second_per_gpu, "tokens_per_s_per_gpu", "tokens_per_second_per_gpu", "The same over all GPUs."),
      gives(&A::answers_per_second, "answers_per_s", "answers_per_second", "Answers over the iteration."),
      gives(&A::rollout_idle, "rollout_idle", "rollout_idle", "Share of the iteration that the generating GPUs wait for training."),
      gives(&A::train_idle, "train_idle", "train_idle", "Share of the iteration that the training GPUs wait for answers."),
      gives(&A::terms, "terms", "terms",
            "prompts, generation at the full batch, tail (few long answers), reward, log_probs, training, sync, reload; framework: what "
            "it adds; hidden: what overlap saves; a list of StepTerm."),
      gives(&A::tp, "training.tp", "tp", "Tensor ranks of training."),
      gives(&A::pp, "training.pp", "pp", "Its stages."),
      gives(&A::vp, "training.vp", "vp", "Chunks of layers a stage."),
      gives(&A::cp, "training.cp", "cp", "Its context ranks."),
      gives(&A::ep, "training.ep", "ep", "Its expert ranks."),
      gives(&A::dp, "training.dp", "dp", "Its replicas."),
      gives(&A::zero, "training.zero", "zero", "What is sharded over them."),
      gives(&A::microbatch, "training.microbatch", "microbatch", "Packed sequences a microbatch."),
      gives(&A::recompute, "training.recompute", "recompute", "Its recomputation."),
      gives(&A::step, "training.step_s", "step_seconds", "One update, s."),
      gives(&A::memory, "training.memory_GiB", "memory_bytes", "Bytes of the fullest training GPU.", gibibyte),
      gives(&A::rollout_tp, "rollout.tp", "rollout_tp", "Tensor ranks of an engine."),
      gives(&A::rollout_pp, "rollout.pp", "rollout_pp", "Its stages."),
      gives(&A::rollout_ep, "rollout.ep", "rollout_ep", "Its expert ranks."),
      gives(&A::rollout_dp, "rollout.dp", "rollout_dp", "Its attention replicas."),
      gives(&A::engines, "rollout.engines", "engines", "Engines."),
      gives(&A::running, "rollout.batch", "running", "Sequences that an engine decodes at once before it drains."),
      gives(&A::tpot, "rollout.tpot_s", "tpot_seconds", "Time per token of an answer then, s.")};
}

AnswerTable<RlAnswer> RlAnswer::fields() {
  using A = RlAnswer;
  return {gives(&A::layouts, "layouts", "", "Divisions of the GPUs, shortest iteration first."),
          gives(&A::in_turn, "in_turn_s", "in_turn_seconds",
                "Where overlap was asked for: the fastest iteration without it, in turn on all GPUs, s; None: it does not fit, or the "
                "division was given.",
                1, true),
          gives(&A::evaluated, "evaluated", "evaluated", "Engines whose generation was priced."),
          field::give_search_time<A>,
          gives(&A::model, "model", "", "Name of the model."),
          gives(&A::system, "system", "", "Name of the machine."),
          gives(&A::gpus, "gpus", "gpus", "GPUs of the job."),
          gives(&A::stack, "stack", "", "Name of the training stack."),
          gives(&A::rollout_stack, "rollout_stack", "", "Name of the serving framework."),
          gives(&A::global_batch, "global_batch", "global_batch", "Packed sequences of an update, of the first division."),
          gives(&A::sequence, "sequence", "sequence", "Tokens of a packed sequence."),
          gives(&A::answers, "answers", "answers", "Answers of an iteration."),
          gives(&A::mean_tokens, "mean_tokens", "mean_tokens", "Tokens of a prompt and its answer, the mean."),
          gives(&A::longest_tokens, "longest_tokens", "longest_tokens", "The same of the longest that is expected."),
          gives(&A::engine_note, "engine_note", "engine_note",
                "That the framework's own all-reduces end at a node where the domain is larger; empty: they do not, or do not matter.", 1, true),
          field::give_stack_note<A>};
}

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
          .idle_gpus = p.idle_gpus,
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

namespace {

/// Where the framework's own all-reduces run on one node and not on two of one domain, which keeps engines small.
[[nodiscard]] std::string engine_note(const RlRequest& r, const ServingQuestion& q, const System& system) {
  const int node = system.gpus_per_node;
  if (node < 2 || system.domain < 2 * node) return "";
  const auto runs = [&](int ranks) {
    const Fabric fabric = fabric_on(system, {.collective = Collective::all_reduce, .ranks = ranks}, Levels{ranks});
    return reduce_pieces(q.stack.kernels.reduce, fabric, is_blackwell_ultra(system.gpu)).count > 0;
  };
  if (!runs(node) || runs(2 * node)) return "";
  return fmt::format("{}'s own all-reduces run on the {} GPUs of a node alone: between the nodes of a domain engines use the library's, "
                     "which take longer for a token.",
                     r.rollout_stack, node);
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
  const RlPlan plan = plan_rl(system, q);
  RlAnswer out;
  out.search_time = since(start);
  if (plan.ways.empty()) throw UnmetError(Unmet::memory, plan.why);
  for (const PricedRl& way : plan.ways) out.layouts.push_back(planned(r, q, system, way));
  if (plan.in_turn) out.in_turn = units::s(plan.in_turn->time.seconds);
  out.evaluated = plan.evaluated;
  out.model = q.training.model.name;
  out.system = system.name;
  out.gpus = q.gpus;
  out.stack = q.training.stack.name;
  out.rollout_stack = r.rollout_stack;
  out.engine_note = engine_note(r, q.rollout, system);
  out.stack_note = stack_note(q.training.stack, system);
  const Layout& trained = plan.ways.front().training.layout;
  out.global_batch = trained.global_batch;
  out.sequence = trained.sequence;
  out.answers = q.load.sequences();
  out.mean_tokens = q.load.isl + q.lengths.mean();
  out.longest_tokens = q.load.isl + q.lengths.quantile(out.answers / (out.answers + 1));
  return out;
}

}  // namespace fabricost::plan
