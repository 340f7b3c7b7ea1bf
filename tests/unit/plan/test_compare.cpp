// Machines side by side: each one's own best, the order and how sure it is; the picture keeps its parts apart and to scale.
#include "questions.hpp"

#include "catch.hpp"

#include <fabricost/pictures/picture.hpp>
#include <fabricost/plan/economics/compare.hpp>
#include <fabricost/plan/pictures/compare.hpp>
#include <fabricost/plan/specs/prices.hpp>
#include <fabricost/plan/training/idle_gpus.hpp>
#include <fabricost/specs/load.hpp>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

std::vector<Compared> trained(const TrainingQuestion& q, std::initializer_list<const char*> names) {
  std::vector<System> systems;
  for (const char* name : names) systems.push_back(load_system(name));
  const Prices prices = load_prices();
  return compare(systems, [&](const System& s) { return compared(q, s, prices); });
}

Compared made(const char* name, double tokens, double seconds, double low, double high) {
  Compared c{.system = name};
  c.tokens_per_gpu = tokens;
  c.seconds = seconds;
  c.low = low;
  c.high = high;
  c.rate = {tokens * seconds / high, tokens * seconds / low};
  return c;
}

}  // namespace

TEST_CASE("What is compared is what each machine's own search finds, with terms that sum to its time") {
  const TrainingQuestion q = question("llama3-70b", 64, 128);
  for (const Compared& c : trained(q, {"dgx-h100", "dgx-b200"})) {
    CAPTURE(c.system);
    CHECK(c.seconds == plan_training(load_system(c.system), q).layouts.front().time.seconds);
    double sum = 0;
    for (const StepTerm& t : c.terms) sum += t.seconds();
    CHECK(sum == Approx(c.seconds).epsilon(1e-9));
    CHECK(c.low < c.seconds);
    CHECK(c.high > c.seconds);
    CHECK(c.tokens_per_gpu * c.seconds * q.gpus == Approx(128.0 * 4096));
    // joules per million tokens x tokens per second = watts
    CHECK(*c.joules * 1e-6 * c.tokens_per_gpu * q.gpus == Approx(c.megawatts * 1e6).epsilon(1e-9));
  }
}

TEST_CASE("A machine that cannot do the job says why, and the others are compared") {
  const std::vector<Compared> all = trained(question("llama3-405b", 32, 64), {"dgx-h100", "dgx-b200"});
  CHECK_THAT(all[0].trouble, Catch::Contains("does not fit") && Catch::Contains("GiB"));
  CHECK(all[1].trouble.empty());
  CHECK(verdict_of(all).best == &all[1]);
  CHECK(verdict_of(all).next == nullptr);
  CHECK_THROWS_AS(trained(question("llama3-405b", 8, 8), {"dgx-h100"}), RequestError);
}

TEST_CASE("The order is sure where the intervals of the rates part, and only there") {
  // 100 tokens/s in 1 s, 0.8 to 1.25 s: 80 to 125 tokens/s
  const Compared slow = made("slow", 100, 1, 0.8, 1.25);
  for (const auto& [rate, sure] : {std::pair{150.0, false}, {156.0, false}, {157.0, true}, {300.0, true}}) {
    CAPTURE(rate);
    const std::vector<Compared> all{slow, made("fast", rate, 2, 1.6, 2.5)};  // its slowest rate is 0.8 of it
    const Verdict v = verdict_of(all);
    CHECK(v.best == &all[1]);
    CHECK(v.next == &all[0]);
    CHECK(v.faster == Approx(rate / 100));
    CHECK(v.sure == sure);
  }
}

TEST_CASE("The probability of a verdict: a coin for equals, more for what is further ahead, and more where errors are shared") {
  CHECK(likely_shorter(1, 0.3, 0.3, false) == Approx(0.5));
  CHECK(likely_shorter(1.2, 0, 0, false) == 1);
  double before = 0.5;
  for (const double longer : {1.05, 1.2, 1.5, 3.0}) {
    const double across = likely_shorter(longer, 0.3, 0.35, false), same = likely_shorter(longer, 0.3, 0.35, true);
    CHECK(across > before);
    CHECK(same > across);
    CHECK(likely_shorter(1 / longer, 0.35, 0.3, false) == Approx(1 - across));
    before = across;
  }
  // independent errors of one standard deviation, apart by one of their difference: Phi(1)
  const double apart = std::exp(std::sqrt(2 * (1 - prior::stack::shared_steps)) * 0.1);
  CHECK(likely_shorter(apart, nine_in_ten * 0.1, nine_in_ten * 0.1, false) == Approx(0.8413447461));
}

TEST_CASE("There is no verdict where what kernels reach was measured for one machine and is assumed for another") {
  Compared measured = made("measured", 100, 1, 0.8, 1.25), assumed = made("assumed", 1000, 1, 0.5, 2);
  assumed.kernels = "assumed";
  const std::vector<Compared> all{measured, assumed};
  const Verdict v = verdict_of(all);
  CHECK(v.best == nullptr);
  CHECK(v.next == nullptr);
  CHECK_FALSE(v.sure);
  CHECK_THAT(v.why, Catch::Contains("measured on processors like those of measured") && Catch::Contains("none like those of assumed"));
  measured.kernels = "assumed";  // both of a kind
  const std::vector<Compared> alike{measured, assumed};
  CHECK(verdict_of(alike).best == &alike[1]);
  CHECK((verdict_of(alike).apart && !verdict_of(alike).sure));
  assumed.trouble = "cannot";
  assumed.kernels = "measured";
  const std::vector<Compared> one{measured, assumed};
  CHECK(verdict_of(one).best == &one[0]);
}

TEST_CASE("Kernels of measured generations are measured, those of others assumed, and their intervals wider") {
  const TrainingQuestion q = question("llama3-8b", 8, 32);
  const std::vector<Compared> all = trained(q, {"dgx-h100", "dgx-b200", "mi300x-8", "gaudi-3", "tpu-v5p-cube"});
  std::vector<double> measured, assumed;  // half widths, in log
  for (const Compared& c : all) {
    CAPTURE(c.system, c.trouble);
    if (!c.trouble.empty()) continue;
    CHECK(c.assumed_kernels() == (c.system == "gaudi-3"));
    const double half = std::log(c.high / c.seconds);
    if (c.assumed_kernels()) CHECK(half > nine_in_ten * assumed_kernels_spread);
    (c.assumed_kernels() ? assumed : measured).push_back(half);
  }
  REQUIRE((measured.size() == 4 && !assumed.empty()));
  CHECK(*std::min_element(assumed.begin(), assumed.end()) > *std::max_element(measured.begin(), measured.end()));
  const Verdict v = verdict_of(all);  // of those measured alone
  CHECK(v.best != nullptr);
  REQUIRE(v.unranked.size() == assumed.size());
  CHECK(v.unranked.front()->system == "gaudi-3");
}

TEST_CASE("Money is of one kind for all machines, or left out; a price that was given counts as of any") {
  const TrainingQuestion q = question("llama3-8b", 8, 32);
  std::vector<System> systems;
  for (const char* name : {"dgx-h100", "dgx-b200", "mi350x-8"}) systems.push_back(load_system(name));
  const Prices prices = load_prices();
  std::vector<Compared> all = compare(systems, [&](const System& s) { return compared(q, s, prices); });
  const PricedBy by = price_alike(all, systems, 8, prices);
  CHECK(by.kind == PriceKind::reserved);  // on demand is not known of the third
  for (const Compared& c : all) {
    CHECK(c.price_kind == PriceKind::reserved);
    // the rent of 8 GPUs for as long as a million tokens take
    CHECK(*c.dollars == Approx(c.gpu_hour / 3600 * 1e6 / c.tokens_per_gpu));
  }
  std::vector<Compared> own = all;
  CHECK(price_alike(own, systems, 8, prices, {.gpu_hours = {0, 0, 3.5}}).kind == PriceKind::on_demand);
  CHECK(own[0].price_kind == PriceKind::on_demand);
  CHECK(own[2].price_kind == PriceKind::stated);
  CHECK(own[2].gpu_hour == Approx(3.5));
  const PricedBy none = price_alike(own, systems, 8, prices, {.kind = PriceKind::on_demand});
  CHECK(none.kind == PriceKind::on_demand);  // what is known stands, the rest does not
  CHECK((own[0].dollars && own[1].dollars));
  CHECK_FALSE(own[2].dollars);
}

TEST_CASE("MI355X over B200 is as measured, with the error of three unlike comparisons") {
  // AMD, the same jobs in its own code on both (ROCm 7, v25.9): 8B fp8 1.08, 70B fp8 1.00, 70B bf16 1.16
  struct Measured {
    const char* model;
    int gpus;
    Precision precision;
    double ratio;
  };
  const std::vector<System> systems{load_system("mi355x-8"), load_system("dgx-b200")};
  double off = 0;
  for (const Measured& one : {Measured{"llama3-8b", 8, Precision::fp8, 1.08}, Measured{"llama3-70b", 16, Precision::fp8, 1.00},
                              Measured{"llama3-70b", 16, Precision::bf16, 1.16}}) {
    TrainingQuestion q = question(one.model, one.gpus, 128, 8192);
    q.precision = one.precision;
    const std::vector<Compared> all = compare(systems, [&](const System& s) { return compared(q, s, load_prices()); });
    const double ratio = all[0].tokens_per_gpu / all[1].tokens_per_gpu;
    CAPTURE(one.model, ratio, one.ratio);
    CHECK(std::fabs(std::log(ratio / one.ratio)) < 0.25);
    off += std::log(ratio / one.ratio) / 3;
  }
  CHECK(std::fabs(off) < 0.12);
}

TEST_CASE("A machine is compared with the layout that plan proposes, unless another pays for clearly fewer GPU-seconds") {
  const Prices prices = load_prices();
  int left_idle = 0;
  for (const char* name : {"superpod-h100", "gb200-nvl72"}) {
    const System system = load_system(name);
    for (const char* model : {"llama3-8b", "llama3-70b", "mixtral-8x7b"})
      for (const int gpus : {100, 144, 250}) {
        TrainingQuestion q = question(model, gpus, 250, 512);
        q.fewer = true;
        q.plain_within = plainer_within;
        const PricedLayout proposed = plan_training(system, q).layouts.front();
        const PricedLayout taken = *compared(q, system, prices).training;
        const auto pays = [&](const PricedLayout& one) {
          return seconds_a_sequence(one) * paid_gpus(system, gpus, prices, idle_beyond(one.layout, system, gpus));
        };
        left_idle += idle_beyond(proposed.layout, system, gpus) > 0;
        CAPTURE(name, model, gpus, proposed.time.seconds, taken.time.seconds);
        CHECK((taken.time.seconds == proposed.time.seconds || pays(proposed) > pays(taken) * (1 + plainer_within)));
      }
  }
  CHECK(left_idle > 4);
}

TEST_CASE("No expert group pays for fewer GPU-seconds than the layout taken, and the fastest layout is that of the search") {
  const System system = load_system("gb200-nvl72");
  const Prices prices = load_prices();
  TrainingQuestion q = question("moe-1.8t", 1152, 2304);
  q.plain_within = plainer_within;
  const auto pays = [&](const Compared& one) { return one.seconds * (q.gpus + one.idle_gpus); };
  const Compared taken = compared(q, system, prices);
  CHECK(compared(q, system, prices, LayoutBy::fastest).seconds == plan_training(system, q).layouts.front().time.seconds);
  for (const int ep : {4, 8, 16}) {
    CAPTURE(ep);
    q.ep = ep;
    CHECK(pays(taken) <= pays(compared(q, system, prices)) * (1 + plainer_within));
  }
}

TEST_CASE("A job smaller than a rack pays for its nodes where they are rented, and for the rack where it is bought") {
  const std::vector<System> systems{load_system("gb200-nvl72")};
  Prices prices = load_prices();
  const auto idle = [&](int gpus) {
    const TrainingQuestion q = question("llama3-8b", gpus, 144);
    std::vector<Compared> all = compare(systems, [&](const System& s) { return compared(q, s, prices); });
    (void)price_alike(all, systems, gpus, prices, {.gpu_hours = {}, .kind = prices.kind});
    return all.front();
  };
  for (const int gpus : {4, 8, 16, 48}) {
    CHECK(idle(gpus).idle_gpus == 0);
    CHECK(idle(gpus).part_of_domain);
  }
  CHECK(idle(6).idle_gpus == 2);  // of its second node
  CHECK_FALSE(idle(72).part_of_domain);
  const Compared rented = idle(8);
  CHECK(*rented.dollars == Approx(rented.gpu_hour / 3600 / rented.tokens_per_gpu * 1e6));
  prices.kind = PriceKind::owned;
  CHECK(idle(8).idle_gpus == 64);
  CHECK_FALSE(idle(8).part_of_domain);
  CHECK(idle(8).megawatts > 5 * rented.megawatts);
}
