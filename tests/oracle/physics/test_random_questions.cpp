/// Random questions over all machines, operations, models and options: no answer beyond physics, by bounds of least.hpp's own.
/// FABRICOST_QUESTIONS sets how many (default 40,000; a release is asked 1,000,000), FABRICOST_SEED another start.
#include "dice.hpp"
#include "least.hpp"

#include <fabricost/plan/economics/terms.hpp>
#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/plan/serving/plan.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/serving.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/plan.hpp>

#include <catch.hpp>
#include <fmt/format.h>

#include <cmath>
#include <map>

using namespace fabricost::plan;
using physics::dice;
using physics::number_of;
using physics::rounding;

namespace {

long long questions() { return number_of("FABRICOST_QUESTIONS", 40'000); }

const std::vector<System>& machines() {
  static const std::vector<System> all = [] {
    std::vector<System> out;
    for (const SystemName& one : system_names()) out.push_back(load_system(one.name));
    return out;
  }();
  return all;
}
const std::vector<Model>& models() {
  static const std::vector<Model> all = [] {
    std::vector<Model> out;
    for (const std::string& one : model_names())
      if (Model m = load_model(one); m.causal()) out.push_back(std::move(m));  // the least of a step is counted for language models
    return out;
  }();
  return all;
}

/// Counts the questions, answers and faults; prints the first of each kind of fault.
class Ledger {
 public:
  explicit Ledger(std::string what) : what_(std::move(what)) {}
  void asked() { ++request_; }
  void answered() { ++answered_; }
  template <class Text>
  void expect(bool holds, const char* rule, const Text& question) {
    if (holds) return;
    if (faults_[rule]++ < 3) std::printf("  %s: %s\n", rule, std::string(question()).c_str());
  }
  void finish(double min_answered) {
    std::printf("  %s: %lld asked, %lld answered\n", what_.c_str(), request_, answered_);
    for (const auto& [rule, count] : faults_) std::printf("    %lld times: %s\n", count, rule.c_str());
    CHECK(faults_.empty());
    CHECK(static_cast<double>(answered_) >= min_answered * static_cast<double>(request_));
  }

 private:
  std::string what_;
  long long request_ = 0, answered_ = 0;
  std::map<std::string, long long> faults_;
};

/// Checks that hold for any time and its interval.
template <class Text>
void expect_time(Ledger& ledger, double seconds, double low, double high, double min, const Text& question) {
  ledger.expect(std::isfinite(seconds) && std::isfinite(low) && std::isfinite(high), "a time or an end of its interval is not finite",
                question);
  ledger.expect(low >= 0 && low <= seconds * rounding && seconds <= high * rounding, "the time lies outside its interval", question);
  ledger.expect(seconds * rounding >= min, "faster than its bytes over its links", question);
  ledger.expect(low * rounding >= min, "the fast end is faster than its bytes over its links", question);
}

}  // namespace

TEST_CASE("no collective beats its bytes over its links, at either end of its interval", "[physics]") {
  Ledger ledger("collectives");
  for (long long i = 0, n = questions() * 96 / 100; i < n; ++i) {
    support::Random random = dice(1, i);
    const System& system = random.of(machines());
    Operation op = support::random_operation(random, system);
    op.bytes = Bytes::from_value(random.one_in(40) ? 0 : std::floor(random.scaled(1, 1e11)));
    if (random.one_in(30)) {
      const Path path = random.of(std::vector<Path>{Path::gpu_host, Path::to_gpu, Path::from_gpu, Path::both_ways});
      op = {.collective = Collective::send_recv, .bytes = op.bytes, .ranks = 2, .path = path};
    }
    Choice choice;
    if (random.one_in(4)) choice.rule = Choice::Rule::fastest;
    if (random.one_in(4)) choice.algorithm = static_cast<Algorithm>(random.below(static_cast<int>(algorithm_names.size())));
    if (random.one_in(8)) choice.protocol = static_cast<Protocol>(random.below(3));
    const auto question = [&] {
      return system.name + " " + std::string(name(op.collective)) + " ranks " + std::to_string(op.ranks) + " nodes " +
             std::to_string(op.nodes) + " path " + std::to_string(static_cast<int>(op.path)) + " bytes " +
             std::to_string(op.bytes.value()) + (choice.algorithm ? " " + std::string(name(*choice.algorithm)) : "");
    };
    ledger.asked();
    try {
      const Prediction p = predict(system, op, choice);
      ledger.answered();
      expect_time(ledger, p.seconds, p.low, p.high, physics::min_seconds(system, op, p.ranks, p.nodes), [&] {
        return question() + " " + std::string(p.algorithm.view()) + " " + std::to_string(p.low * 1e6) + " " +
               std::to_string(p.seconds * 1e6) + " us, least " + std::to_string(1e6 * physics::min_seconds(system, op, p.ranks, p.nodes));
      });
      double sum = 0;
      for (const Term& term : p.terms) {
        sum += term.time.value();
        ledger.expect(term.time.value() >= -1e-15, "a negative term", question);
      }
      ledger.expect(std::fabs(sum - p.seconds) <= 1e-9 * p.seconds, "terms do not sum to the time", question);
    } catch (const RequestError&) {}
  }
  ledger.finish(0.6);
}

TEST_CASE("a transfer that links bind gets faster with the links, and one that NCCL's kernels bind does not", "[physics]") {
  constexpr double faster = 1.1;
  Ledger ledger("faster links");
  for (long long i = 0, n = questions() / 4; i < n; ++i) {
    support::Random random = dice(7, i);
    const System& system = random.of(machines());
    Operation op = support::random_operation(random, system);
    op.bytes = Bytes::from_value(std::floor(random.scaled(1e6, 1e11)));
    ledger.asked();
    try {
      const Prediction p = predict(system, op);
      ledger.answered();
      double wire = 0, kernels = 0;
      for (const Term& term : p.terms) {
        if (term.name == name(TermKind::wire)) wire += term.time / p.time();
        if (term.name == name(TermKind::kernels)) kernels += term.time / p.time();
      }
      if (wire < 0.5 && kernels < 0.5) continue;
      System quick = system;
      for (Tier& tier : quick.tiers) {
        tier.bandwidth.value *= faster;
        tier.link_bandwidth *= faster;
        tier.planning_rate *= faster;
        tier.slot_bandwidth *= faster;
        for (Bandwidth& rate : tier.carried) rate *= faster;
      }
      const Prediction then = predict(quick, op, {.algorithm = p.ran.algorithm, .protocol = p.ran.protocol});
      if (then.made_from.fabric.channels.count != p.made_from.fabric.channels.count) continue;  // they cost more than the links bring, or less
      const double gain = 1 - then.seconds / p.seconds;
      const auto question = [&] {
        return fmt::format("{} {} {} {} ranks {} nodes {} bytes, wire {:.2f}, kernels {:.2f}, gain {:.4f}", system.name, name(op.collective),
                           p.algorithm.view(), p.ranks, p.nodes, op.bytes.value(), wire, kernels, gain);
      };
      if (wire >= 0.5) ledger.expect(gain > (1 - 1 / faster) * wire / 60, "links bind, and faster ones do not help", question);
      if (kernels >= 0.5) ledger.expect(gain < 0.8 * (1 - 1 / faster), "kernels bind, and faster links help", question);
    } catch (const RequestError&) {
    }
  }
  ledger.finish(0.6);
}

TEST_CASE("no exchange of experts beats its bytes over its links", "[physics]") {
  Ledger ledger("expert exchanges");
  for (long long i = 0, n = questions() * 3 / 100; i < n; ++i) {
    support::Random random = dice(2, i);
    const System& system = random.of(machines());
    MoeQuestion q;
    q.phase = random.one_in(2) ? MoePhase::dispatch : MoePhase::combine;
    q.kernel = static_cast<MoeKernel>(random.below(5));
    q.gate.experts = 1 << random.below(9);
    q.gate.top_k = 1 + random.below(std::min(8, q.gate.experts));
    q.routing.kind = static_cast<RoutingKind>(random.below(2));
    q.hidden = 256 * (1 + random.below(32));
    q.tokens = std::floor(random.scaled(1, 1e5));
    q.ranks = random.one_in(3) ? 0 : 1 << (1 + random.below(8));
    const auto question = [&] {
      return system.name + " " + std::string(name(q.kernel)) + " " + std::to_string(q.gate.experts) + " experts, " +
             std::to_string(q.gate.top_k) + " of them, " + std::to_string(q.tokens) + " tokens of " + std::to_string(q.hidden) +
             ", ranks " + std::to_string(q.ranks);
    };
    ledger.asked();
    try {
      const MoePrediction p = predict(system, q);
      ledger.answered();
      expect_time(ledger, p.seconds, p.low, p.high, physics::min_exchange(system, q.tokens, q.hidden, p.placement.ranks),
                  [&] { return question() + ": " + std::to_string(p.low * 1e6) + " us"; });
    } catch (const RequestError&) {}
  }
  ledger.finish(0.2);
}

TEST_CASE("no training step beats its arithmetic at the peak, and none needs more memory than there is", "[physics]") {
  Ledger ledger("training layouts");
  std::vector<Stack> stacks;
  for (const std::string& name : stack_names()) stacks.push_back(load_stack(name));
  for (long long i = 0, n = questions() / 500; i < n; ++i) {
    support::Random random = dice(3, i);
    const System& system = random.of(machines());
    TrainingQuestion q;
    q.model = random.of(models());
    q.sequence = 1 << (10 + random.below(8));
    q.gpus = 1 << random.below(13);
    q.global_batch = std::max(1, q.gpus >> random.below(5)) << random.below(5);
    q.precision = static_cast<Precision>(random.below(3));
    q.top = 3;
    if (random.one_in(3)) q.tp = 1 << random.below(4);
    if (random.one_in(3)) q.pp = 1 << random.below(4);
    if (random.one_in(3)) q.zero = random.below(4);
    if (random.one_in(3)) q.recompute = static_cast<Recompute>(random.below(3));
    const auto question = [&] {
      return system.name + " " + q.model.name + " gpus " + std::to_string(q.gpus) + " batch " + std::to_string(q.global_batch) +
             " sequence " + std::to_string(q.sequence) + " precision " + std::to_string(static_cast<int>(q.precision)) + " stack " +
             q.stack.name + " tp " +
             std::to_string(q.tp.value_or(-1)) + " pp " + std::to_string(q.pp.value_or(-1)) + " zero " +
             std::to_string(q.zero.value_or(-1));
    };
    ledger.asked();
    try {
      q.stack = random.of(stacks);
      const TrainingPlan plan = plan_training(system, q);
      if (plan.layouts.empty()) continue;
      ledger.answered();
      const double peak = Processor::of(system).peak(q.precision);
      const double min =
          physics::min_training_flops(q.model, static_cast<double>(q.global_batch) * q.sequence, q.sequence) / (peak * q.gpus);
      for (const PricedLayout& one : plan.layouts) {
        const TrainingFigures f = figures_of(system, q, one);
        expect_time(ledger, one.time.seconds, f.low, f.high, std::max(min, one.time.least), question);
        double sum = 0;
        for (const StepTerm& term : terms_of(one.time)) {
          sum += term.seconds();
          ledger.expect(std::isfinite(term.seconds()), "a term of a step is not finite", question);
          ledger.expect(term.seconds() >= 0, "a term of a step is negative", question);
        }
        ledger.expect(std::fabs(sum - one.time.seconds) <= 1e-9 * one.time.seconds, "terms do not sum to the step", question);
        ledger.expect(one.time.exposed() <= one.time.seconds * rounding, "more exposed than the step takes", question);
        ledger.expect(!plan.fits || one.memory.total() <= system.memory().value() * rounding, "more memory than a GPU has", question);
      }
    } catch (const RequestError&) {}
  }
  ledger.finish(0.1);
}

TEST_CASE("no deployment decodes faster than it reads its weights, nor holds more than there is", "[physics]") {
  Ledger ledger("deployments");
  const ServingTable table = load_serving_table();
  for (long long i = 0, n = questions() / 500; i < n; ++i) {
    support::Random random = dice(4, i);
    const System& system = random.of(machines());
    ServingQuestion q;
    q.model = random.of(models());
    q.stack = table.stack(random.of(table.stacks).name, system.gpu.generation);
    q.constants = table.constants(system.gpu.generation);
    q.format = {random.one_in(2) ? WeightFormat::fp8 : WeightFormat::bf16, random.one_in(2) ? 1.0 : 2.0};
    q.gpus = 1 << random.below(8);
    q.isl = std::floor(random.scaled(16, 2e5));
    q.osl = std::floor(random.scaled(1, 1e4));
    if (random.one_in(3)) q.ttft = random.scaled(0.1, 10);
    if (random.one_in(3)) q.tpot = random.scaled(0.003, 0.3);
    q.disaggregated = q.gpus > 1 && random.one_in(4);
    q.top = 5;
    const auto question = [&] {
      return system.name + " " + q.model.name + " gpus " + std::to_string(q.gpus) + " isl " + std::to_string(q.isl) + " osl " +
             std::to_string(q.osl) + " stack " + q.stack.name + " ttft " + std::to_string(q.ttft) + " tpot " + std::to_string(q.tpot) +
             (q.disaggregated ? " apart" : "");
    };
    ledger.asked();
    try {
      const ServingPlan plan = plan_serving(system, q);
      if (plan.layouts.empty()) continue;
      ledger.answered();
      const double flops = Processor::of(system).peak(Precision::fp8) > 0 ? Processor::of(system).peak(Precision::fp8)
                                                                          : Processor::of(system).peak(Precision::bf16);
      for (const PricedServing& p : plan.layouts) {
        const std::string at = " at " + std::to_string(p.batch) + " sequences, " + std::to_string(p.tokens_per_s_per_gpu) + " tokens/s/GPU";
        const auto with = [&] { return question() + at; };
        ledger.expect(std::isfinite(p.time.ttft) && std::isfinite(p.time.tpot) && std::isfinite(p.tokens_per_s_per_gpu), "not finite",
                      with);
        ledger.expect(p.time.ttft >= 0 && p.time.tpot >= 0 && p.tokens_per_s_per_gpu >= 0, "negative", with);
        ledger.expect(p.memory <= system.memory().value() * rounding, "more memory than a GPU has", with);
        ledger.expect(q.ttft == 0 || p.time.ttft <= q.ttft * rounding, "later than the limit", with);
        ledger.expect(q.tpot == 0 || p.time.tpot <= q.tpot * rounding, "slower than the limit", with);
        ledger.expect(p.used() <= q.gpus, "more GPUs than there are", with);
        // tokens in and out, two operations per parameter a token is multiplied with (a third of training's six)
        const double work = physics::min_training_flops(q.model, 1, 0) / 3;
        ledger.expect(p.tokens_per_s_per_gpu * work <= flops * rounding, "more arithmetic than the peak", with);
        ledger.expect(p.tokens_per_s_per_user * p.batch * p.replicas <= 0 || std::isfinite(p.tokens_per_s_per_user), "a user's rate", with);
      }
    } catch (const RequestError&) {}
  }
  ledger.finish(0.1);
}
