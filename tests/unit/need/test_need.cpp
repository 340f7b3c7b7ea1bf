// Questions asked backwards: the answer equals that of asking forwards at every value; it holds and the next smaller does not; a parameter
// turns all values that change together.
#include "catch.hpp"
#include "support/slow_build.hpp"

#include <fabricost/hardware/design_parameters.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/plan.hpp>
#include <fabricost/specs/load.hpp>

#include "support/message_of.hpp"

using namespace fabricost::plan;
using Catch::Contains;
using support::message_of;

namespace {

const System& machine(const std::string& name) {
  static const System h100 = load_system("dgx-h100", {}, "", {.compute = true, .custom = false, .moe = false}),
                      rack = load_system("gb200-nvl72", {}, "", {.compute = true, .custom = false, .moe = false});
  return name == "dgx-h100" ? h100 : rack;
}

NeedRequest asked(const std::string& unknown, const std::string& system = "dgx-h100") {
  NeedRequest r;
  r.unknown = unknown;
  r.system = machine(system);
  static const auto model = std::make_shared<const Model>(load_model("llama3-8b"));
  r.model.value = model;
  static const auto stack = std::make_shared<const Stack>(load_stack(unfitted_stack));
  r.stack.value = stack;
  r.gpus = 64;
  r.global_batch = 128;
  return r;
}

const Stack& stack() {
  static const Stack out = load_stack(unfitted_stack);
  return out;
}

struct Forward {
  double seconds = 0, mfu = 0, tensor = 0, low = 0, high = 0;
};

/// The forward question as the search itself answers it, without need and without plan's answer.
std::optional<Forward> forward(TrainingQuestion q, const System& system) {
  q.top = 1;
  try {
    const TrainingPlan plan = plan_training(system, q);
    if (plan.layouts.empty() || !plan.fits) return std::nullopt;
    const StepTime& t = plan.layouts.front().time;
    const TrainingFigures f = figures_of(system, q, plan.layouts.front());
    return Forward{t.seconds, f.mfu, t.tensor, f.low, f.high};
  } catch (const RequestError&) {
    return std::nullopt;
  }
}

TEST_CASE("the least and the most are what asking forwards at every value finds, in random questions") {
  std::mt19937_64 random{28};
  const auto one_of = [&](const auto& all) { return all[random() % all.size()]; };
  const std::vector<std::string> unknowns{
      "gpus", "nodes", "batch", "domain", "nic.bandwidth", "nic.count", "scale_up.bandwidth", "hbm.bandwidth", "hbm.size", "arithmetic"};
  int satisfied = 0;
  for (int i = 0; i < support::draws(60); ++i) {
    const std::string unknown = one_of(unknowns), system = random() % 2 == 0 ? "dgx-h100" : "gb200-nvl72";
    NeedRequest r = asked(unknown, system);
    const System& own = machine(system);
    if (unknown == "gpus" || unknown == "nodes") r.gpus.reset();
    if (unknown == "batch") r.global_batch.reset();
    // values in the unknown's unit, few so that a question is quick
    const bool counted = unknown == "gpus" || unknown == "nodes" || unknown == "batch" || unknown == "domain" || unknown == "nic.count";
    std::vector<double> values;
    for (double v = counted                   ? (unknown == "gpus" ? 8 : 4)
                    : unknown == "arithmetic" ? 0.25
                    : unknown == "hbm.size"   ? 40
                                              : 20;
         values.size() < 6; v *= 2)
      values.push_back(v);
    for (const double v : values)
      r.over += (r.over.empty() ? "" : ",") + (counted ? std::to_string(static_cast<long>(v)) : std::to_string(v));
    if (unknown == "hbm.size") r.over += "GB";
    if (unknown.ends_with("bandwidth")) r.over += unknown == "hbm.bandwidth" ? "GB/s" : "GB/s per direction";
    const bool by_step = random() % 2 == 0;
    const double limit = by_step ? std::exp2(-2 + static_cast<double>(random() % 70) / 10) : 0.05 * static_cast<double>(1 + random() % 12);
    if (by_step)
      r.step = units::s(limit);
    else
      r.mfu = limit;
    r.most = i % 3 == 0;
    const NeedAnswer found = answer(r);

    std::optional<double> wanted;
    for (const double v : values) {
      TrainingQuestion q;
      q.model = *r.model.value;
      q.stack = stack();
      q.gpus = r.gpus.value_or(0);
      q.global_batch = r.global_batch.value_or(0);
      System at = own;
      if (unknown == "gpus")
        q.gpus = static_cast<int>(v);
      else if (unknown == "nodes")
        q.gpus = static_cast<int>(v) * own.gpus_per_node;
      else if (unknown == "batch")
        q.global_batch = static_cast<int>(v);
      else {
        for (std::size_t d = 0; d < design_parameter_names.size(); ++d)
          if (design_parameter_names[d] == unknown) {
            const bool rate = unknown.ends_with("bandwidth") || unknown == "hbm.size";
            try {
              at = with_parameter(own, static_cast<DesignParameter>(d), rate ? v * 1e9 : v);
            } catch (const RequestError&) {
              at.domain = 0;
            }
          }
        if (at.domain == 0) continue;
      }
      const auto f = forward(q, at);
      const bool holds = f && (by_step ? f->seconds <= limit : f->mfu >= limit);
      if (holds && (r.most || !wanted)) wanted = v;
    }
    INFO(i << " " << unknown << " on " << system << " over " << r.over << (by_step ? " step " : " mfu ") << limit);
    REQUIRE(found.satisfied == wanted.has_value());
    REQUIRE(found.value == wanted);
    satisfied += found.satisfied ? 1 : 0;
    for (const NeedTried& one : found.tried)
      if (wanted) REQUIRE((!one.holds || (r.most ? one.value <= *wanted : one.value >= *wanted)));
    if (!wanted) REQUIRE_FALSE(found.reason.empty());
  }
  CHECK(satisfied > support::draws(12));
  CHECK(satisfied < (support::slow_build ? support::draws(60) : support::draws(54)));  // of the six of a slow build five may be
}

TEST_CASE("a value that holds is found where larger ones do not, which bisection would miss") {
  NeedRequest r = asked("batch");
  r.global_batch.reset();
  r.over = "32,64,65,72";
  TrainingQuestion q;
  q.model = *r.model.value;
  q.stack = stack();
  q.gpus = 64;
  const auto mfu = [&](int batch) {
    q.global_batch = batch;
    return forward(q, machine("dgx-h100"))->mfu;
  };
  const double even = mfu(64), uneven = std::max(mfu(65), mfu(72));  // 64 sequences divide evenly over 64 GPUs
  REQUIRE(even > 1.02 * uneven);
  REQUIRE(even > 1.02 * mfu(32));
  r.mfu = std::sqrt(even * std::max(uneven, mfu(32)));
  for (const bool most : {false, true}) {
    r.most = most;
    const NeedAnswer found = answer(r);
    REQUIRE(found.satisfied);
    CHECK(found.value == 64);
  }
}

TEST_CASE("a continuous unknown is found to 1 %, holds, and the next smaller does not") {
  NeedRequest r = asked("nic.bandwidth");
  r.within = "5 % of infinite";
  const NeedAnswer found = answer(r);
  REQUIRE(found.satisfied);
  CHECK(found.unit == "GB/s");
  REQUIRE(found.next_smaller);
  CHECK(*found.value / *found.next_smaller < 1.011);
  CHECK(*found.measure <= 1.05);
  REQUIRE(found.fast_value);
  REQUIRE(found.slow_value);
  CHECK(*found.fast_value <= *found.value);
  CHECK(*found.value <= *found.slow_value);
  // asked forwards at the answer and below it
  TrainingQuestion q;
  q.model = *r.model.value;
  q.stack = stack();
  q.gpus = 64;
  q.global_batch = 128;
  const System& own = machine("dgx-h100");
  const auto at = [&](double gigabytes) {
    return forward(q, with_parameter(own, DesignParameter::nic_bandwidth, gigabytes * 1e9))->seconds;
  };
  const double infinite = at(1e4 * value_of(own, DesignParameter::nic_bandwidth) / 1e9);
  CHECK(at(*found.value) <= 1.05 * infinite);
  CHECK(at(*found.next_smaller) > 1.05 * infinite);
}

TEST_CASE("the most of a count is refined between what holds and what does not") {
  NeedRequest r = asked("sequence");
  r.step = units::s(4);
  r.most = true;
  const NeedAnswer found = answer(r);
  REQUIRE(found.satisfied);
  CHECK(*found.measure <= 4);
  REQUIRE(found.next_larger);
  CHECK(*found.next_larger - *found.value <= 0.01 * *found.value + 256);
  for (const NeedTried& one : found.tried)
    if (one.value > *found.value) CHECK_FALSE(one.holds);
}

TEST_CASE("a run's GPUs: tokens over tokens per second, and failures need more") {
  NeedRequest r = asked("nodes");
  r.gpus.reset();
  r.global_batch = 1024;
  r.tokens = 1e12;
  r.in = units::h(30 * 24);
  const NeedAnswer sound = answer(r);
  REQUIRE(sound.satisfied);
  CHECK_THAT(sound.goal, Contains("1 T tokens in at most 30 days"));
  r.in = units::h(30.5 * 24);
  r.over = "64";
  CHECK_THAT(answer(r).goal, Contains("in at most 30.5 days"));
  r.in = units::h(30 * 24);
  r.over.clear();
  const PlannedLayout& at = *sound.layout;
  CHECK(*sound.measure == Approx(1e12 / at.tokens_per_second / 86400));
  CHECK(*sound.measure <= 30);
  r.goodput = true;
  const NeedAnswer failing = answer(r);
  REQUIRE(failing.satisfied);
  CHECK(*failing.value >= *sound.value);
}

TEST_CASE("where nothing is enough the answer says what comes nearest and what binds there") {
  NeedRequest r = asked("nic.bandwidth");
  r.step = units::ms(1);
  const NeedAnswer found = answer(r);
  CHECK_FALSE(found.satisfied);
  CHECK_FALSE(found.value);
  CHECK_THAT(found.reason, Contains("comes nearest") && Contains("takes most"));
}

TEST_CASE("serving: the rate of the answer is enough, and one value below it is not") {
  NeedServeRequest r;
  r.unknown = "nodes";
  r.system.name = "dgx-h100";
  r.model.name = "llama3-70b";
  r.tpot = units::ms(30);
  r.tokens_per_second = 40000;
  const NeedAnswer found = answer(r);
  REQUIRE(found.satisfied);
  CHECK(found.deployment->tokens_per_second >= 40000);
  CHECK(found.deployment->tpot <= units::ms(30));
  ServeRequest less;
  less.system = r.system;
  less.model = r.model;
  less.tpot = r.tpot;
  less.gpus = static_cast<int>(*found.next_smaller) * 8;
  CHECK(answer(less).layouts.front().tokens_per_second < 40000);
}

TEST_CASE("requests that arrive need fewer GPUs at the fast end of the interval, which do hold that many if all is so much faster") {
  NeedServeRequest r;
  r.unknown = "gpus";
  r.system.name = "dgx-h100";
  r.model.name = "llama3-8b";
  r.isl = 2000;
  r.osl = 100;
  r.ttft = units::s(1);
  r.tpot = units::ms(40);
  r.request_rate = RequestRate{65};
  const NeedAnswer found = answer(r);
  REQUIRE(found.satisfied);
  REQUIRE(found.fast_value);
  CHECK(*found.fast_value < *found.value);
  CHECK(*found.slow_value > *found.value);
  ServeRequest fast = r;
  fast.gpus = static_cast<int>(*found.fast_value);
  CHECK_THROWS_AS(answer(fast), UnmetError);
  fast.stack_scale = found.deployment->interval_tpot.first / found.deployment->tpot;
  CHECK(answer(fast).layouts.front().arrivals->keeps);
}

TEST_CASE("serving needs parts of a node where the model fits on them, and whole nodes where it does not") {
  NeedServeRequest r;
  r.unknown = "gpus";
  r.system.name = "dgx-h100";
  r.ttft = units::s(1);
  r.tpot = units::ms(60);
  r.tokens_per_second = 500;
  r.model.name = "llama3-8b";
  CHECK(answer(r).value == 1.0);
  r.model.name = "llama3-70b";
  CHECK(*answer(r).value < 8);
  r.model.name = "llama3-405b";
  CHECK(*answer(r).value >= 8);
}

TEST_CASE("training needs parts of a node where they are enough, and whole nodes beyond one") {
  NeedRequest r = asked("gpus");
  r.gpus.reset();
  r.global_batch = 8;
  for (const int gpus : {1, 2, 4, 24}) {
    PlanRequest one = r;
    one.gpus = gpus;
    r.step = answer(one).layouts.front().step * (1 + 1e-9);
    const NeedAnswer found = answer(r);
    CAPTURE(gpus);
    REQUIRE(found.value.has_value());
    CHECK(*found.value <= gpus);
    CHECK((*found.value < 8 || std::fmod(*found.value, 8) == 0));
    CHECK(*found.measure <= r.step->value());
  }
}

TEST_CASE("GPUs that are enough include those that groups leave idle in their scale-up domains") {
  NeedRequest r = asked("gpus", "gb200-nvl72");
  r.model.value = std::make_shared<const Model>(load_model("mixtral-8x7b"));
  r.gpus.reset();
  r.over = "120,128,136,144";
  r.tp = 8;
  r.ep = 4;
  r.pp = 1;
  r.cp = 2;  // 64 of 72 GPUs in blocks of 32
  PlanRequest there = r;
  there.gpus = 128;
  const PlannedLayout best = answer(there).layouts.front();
  REQUIRE(best.used_gpus == 128);
  REQUIRE(best.needed_gpus == 136);
  r.step = best.step * (1 + 1e-9);
  const NeedAnswer found = answer(r);
  REQUIRE(found.value.has_value());
  CHECK(*found.value == 136);
  CHECK(found.layout->needed_gpus <= *found.value);
}

TEST_CASE("more GPUs never serve fewer tokens a second, since some may stay idle") {
  NeedServeRequest r;
  r.unknown = "gpus";
  r.system.name = "dgx-h100";
  r.model.name = "llama3-405b";
  r.over = "112:160:+8";
  r.tokens_per_second = 1e9;
  r.precision = WeightFormat::bf16;  // no engine of up to 16 stages divides 17 or 19 nodes
  const NeedAnswer found = answer(r);
  double before = 0;
  bool idle = false;
  for (const NeedTried& one : found.tried) {
    CAPTURE(one.value, one.trouble);
    REQUIRE(one.measure.has_value());
    CHECK(*one.measure >= before * (1 - 1e-9));  // batches are found to rounding
    before = *one.measure;
    idle = idle || Contains(" idle; ").match(one.binds);
  }
  CHECK(idle);
}

TEST_CASE("GPUs that a machine has not stay a trouble") {
  NeedServeRequest r;
  r.unknown = "nodes";
  r.system.name = "meta-24k-roce";
  r.model.name = "llama3-8b";
  r.over = "1,1000000";
  r.tokens_per_second = 1e12;
  const NeedAnswer found = answer(r);
  CHECK(found.tried.front().measure.has_value());
  CHECK_THAT(found.tried.back().trouble, Contains("take at most"));
}

TEST_CASE("parameters turn what hangs together and leave a machine that is sound") {
  for (const char* name : {"dgx-h100", "gb200-nvl72"})
    for (std::size_t d = 0; d < design_parameter_names.size(); ++d) {
      const DesignParameter parameter = static_cast<DesignParameter>(d);
      const System& own = machine(name);
      const double now = value_of(own, parameter);
      CHECK_NOTHROW(check(with_parameter(own, parameter, now)));
      CHECK_NOTHROW(check(with_parameter(own, parameter, 2 * now)));
      if (parameter == DesignParameter::arithmetic) continue;
      CHECK(value_of(with_parameter(own, parameter, 2 * now), parameter) == Approx(2 * now));
      CHECK(value_of(with_parameter(with_parameter(own, parameter, 2 * now), parameter, now), parameter) == Approx(now));
    }
  const System faster = with_parameter(machine("dgx-h100"), DesignParameter::nic_bandwidth, 400e9);
  CHECK(nics_rate(faster) == Approx(8 * 400e9));  // its slots do not hold it
  CHECK(nics_rate(with_parameter(machine("dgx-h100"), DesignParameter::nic_bandwidth, 25e9)) == Approx(8 * 25e9));
  const System larger = with_parameter(machine("dgx-h100"), DesignParameter::domain, 64);
  CHECK(larger.gpus_per_node == 64);
  CHECK(larger.tier(TierRole::nic)->endpoints == 64);
  CHECK(larger.tier(TierRole::scale_up)->endpoints == 64);
  CHECK(larger.power.value == machine("dgx-h100").power.value * 8.0);  // stated of the domain
  CHECK(with_parameter(machine("dgx-h100"), DesignParameter::domain, 4).nodes == 1);  // a server, of which there are as many as wanted
  const System racks = with_parameter(machine("gb200-nvl72"), DesignParameter::domain, 144);
  CHECK(racks.gpus_per_node == 4);
  CHECK(racks.tier(TierRole::nic)->endpoints == machine("gb200-nvl72").tier(TierRole::nic)->endpoints);
  for (const double gpus : {2, 4, 8, 16, 144}) CHECK_FALSE(stated_gpus(with_parameter(machine("gb200-nvl72"), DesignParameter::domain, gpus)));
  CHECK_THROWS_AS(with_parameter(machine("gb200-nvl72"), DesignParameter::domain, 70), RequestError);
  CHECK_THROWS_AS(with_parameter(machine("dgx-h100"), DesignParameter::nic_bandwidth, 0), RequestError);
}

TEST_CASE("overrides turn parameters as with_parameter does, and the machine is no longer the measured one") {
  for (const auto& [text, parameter, value] :
       {std::tuple{"design.domain=16", DesignParameter::domain, 16.0},
        std::tuple{"design.nic.bandwidth=800 Gbit/s per direction", DesignParameter::nic_bandwidth, 100e9},
        std::tuple{"design.hbm.size=160GB", DesignParameter::hbm_size, 160e9},
        std::tuple{"design.arithmetic=2", DesignParameter::arithmetic, 2.0}}) {
    const std::vector<std::string> overrides{text};
    const System by_text = load_system("dgx-h100", overrides), by_hand = with_parameter(load_system("dgx-h100"), parameter, value);
    CHECK(by_text.domain == by_hand.domain);
    CHECK(nics_rate(by_text) == Approx(nics_rate(by_hand)));
    CHECK(by_text.gpu.memory.value.value() == Approx(by_hand.gpu.memory.value.value()));
    CHECK(by_text.gpu.bf16.value.value() == Approx(by_hand.gpu.bf16.value.value()));
    if (parameter == DesignParameter::domain) CHECK(by_text.constants.basis != Basis::calibrated);
  }
  const auto refused = [](const std::string& text) {
    return message_of([&] { static_cast<void>(load_system("dgx-h100", std::vector<std::string>{text})); });
  };
  CHECK_THAT(refused("design.domin=16"), Contains("did you mean domain"));
  CHECK_THAT(refused("design.domain=many"), Contains("whole number"));
  CHECK_THAT(refused("design.nic.bandwidth=50 GB"), Contains("no rate"));
  for (const std::string link : {"nic.bandwidth", "scale_up.bandwidth", "nic_bandwidth"}) {
    CHECK_THAT(refused("design." + link + "=900 GB/s"), Contains("does not say which direction"));
    CHECK_THAT(refused("design." + link + "=900"), Contains("has no unit"));
  }
  CHECK_THAT(refused("design.hbm.bandwidth=3350 GB/s per direction"), Contains("no direction"));
  for (const std::string memory : {"hbm.bandwidth", "hbm_bandwidth", "hbm.size"})
    CHECK_THAT(refused("design." + memory + "=100"), Contains("has no unit"));
}

}  // namespace
