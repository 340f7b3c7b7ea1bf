/// The simulated scheduler: what queueing theory says, and what never depends on a model of steps.

#include "rig.hpp"
#include "support/message_of.hpp"
#include "support/number_of.hpp"

#include <fabricost/plan/serving/arrivals/simulate.hpp>
#include <fabricost/plan/specs/serving.hpp>

#include <catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <limits>
#include <random>
#include <utility>
#include <vector>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

/// A machine that reads a token of a prompt in `seconds` and does nothing else.
StepTimes reader(double seconds) {
  return StepTimes({.decode = [](double, double) { return 0.0; }, .rows = [=](double rows) { return seconds * rows; }});
}

/// Decode steps that grow with sequences and contexts, and prompts.
StepTimes engine() {
  return StepTimes(
      {.decode = [](double n, double c) { return 5e-3 + 1e-4 * n + 1e-7 * n * c; }, .rows = [](double rows) { return 2e-5 * rows; }});
}

/// How many random services are drawn where `usual` are by default, for 40 questions: FABRICOST_SERVING_QUESTIONS sets another number.
int many(int usual) { return static_cast<int>(std::max(1LL, usual * support::number_of("FABRICOST_SERVING_QUESTIONS", 40) / 40)); }
/// Other services for another FABRICOST_SEED.
std::mt19937_64 draws(long long start) { return std::mt19937_64(static_cast<std::uint64_t>(start + support::number_of("FABRICOST_SEED", 0))); }

constexpr double at_once = std::numeric_limits<double>::infinity();

/// Sum over requests of the time in the system, and the integral of the requests present, counted from the events alone.
std::pair<double, double> both_of_little(const Simulated& s) {
  std::vector<std::pair<double, int>> events;
  double waits = 0;
  for (const Served& one : s.requests) {
    events.emplace_back(one.arrived, 1);
    events.emplace_back(one.last, -1);
    waits += one.last - one.arrived;
  }
  std::sort(events.begin(), events.end());
  double area = 0, before = 0;
  int present = 0;
  for (const auto& [at, change] : events) {
    area += present * (at - before);
    before = at;
    present += change;
  }
  return {waits, area};
}

}  // namespace

TEST_CASE("equal prompts one at a time wait as in a queue M/D/1") {
  StepTimes times = reader(0.01);
  for (const double load : {0.3, 0.6, 0.8}) {
    const RequestLoad requests = drawn_load({.rate = load / 0.01, .isl = 1, .osl = 1, .count = 200'000});
    const LoadFigures f = figures_of(requests, simulate(times, {.sequences = 1}, 1, requests), 99, 0, 0);
    CHECK(f.queue == Approx(0.01 * load / (2 * (1 - load))).epsilon(0.03));  // Pollaczek-Khinchine
    CHECK(f.ttft.mean == Approx(f.queue + 0.01).epsilon(1e-9));
  }
}

TEST_CASE("prompts of exponential lengths one at a time stay as in a queue M/M/1") {
  StepTimes times = reader(1e-5);
  std::mt19937_64 source(7);
  std::exponential_distribution<double> length(1e-3);
  for (const double load : {0.3, 0.7}) {
    RequestLoad requests = drawn_load({.rate = load / 0.01, .isl = 1, .osl = 1, .count = 200'000});
    for (Arrival& one : requests.requests) one.prompt = 1 + static_cast<int>(length(source));
    const LoadFigures f = figures_of(requests, simulate(times, {.sequences = 1, .chunk = 1e9}, 1, requests), 99, 0, 0);
    CHECK(f.e2e.mean == Approx(0.01 / (1 - load)).epsilon(0.04));
    CHECK(f.e2e.p99 == Approx(std::log(100) * 0.01 / (1 - load)).epsilon(0.08));
  }
}

TEST_CASE("random services keep Little's law, the order of percentiles, and every token") {
  std::mt19937_64 source = draws(3);
  const auto any = [&](double from, double to) { return from * std::pow(to / from, std::uniform_real_distribution<double>()(source)); };
  for (int i = 0; i < many(60); ++i) {
    StepTimes times = engine();
    const RequestLoad load = drawn_load({.rate = any(0.1, 100),
                                         .burstiness = any(0.2, 5),
                                         .isl = any(1, 4000),
                                         .osl = any(1, 500),
                                         .variation = any(0.01, 1),
                                         .hit_rate = any(0.01, 1),
                                         .count = 400,
                                         .seed = source()});
    const Scheduler scheduler{.replicas = 1 + i % 3,
                              .cache = 60'000,
                              .sequences = std::round(any(1, 256)),
                              .chunk = std::round(any(16, 8192)),
                              .poll = std::round(any(1, 10)),
                              .first = 0.003,
                              .ahead = i % 2,
                              .drafts = i % 4,
                              .acceptance = any(0.1, 1)};
    const Simulated s = simulate(times, scheduler, 1 + i % 2, load);
    const auto [waits, area] = both_of_little(s);
    CHECK(waits == Approx(area).epsilon(1e-9));
    for (const Served& one : s.requests) {
      CHECK(one.started >= one.arrived);
      CHECK(one.first >= one.started);
      CHECK(one.last >= one.first);
    }
    const LoadFigures f = figures_of(load, s, 95, 0.5, 0.02);
    for (const Percentiles& p : {f.ttft, f.tpot, f.e2e}) {
      CHECK(p.p50 <= p.p90);
      CHECK(p.p90 <= p.at);
      CHECK(p.at <= p.p99);
    }
    CHECK(f.within >= 0);
    CHECK(f.within <= 1);
    const Simulated again = simulate(times, scheduler, 1 + i % 2, load);
    for (std::size_t k = 0; k < s.requests.size(); ++k) CHECK(s.requests[k].last == again.requests[k].last);
  }
}

TEST_CASE("a lone request has the times of its steps") {
  StepTimes times = engine();
  RequestLoad load;
  load.requests = {{.at = 0, .prompt = 1000, .answer = 101}};
  const Simulated s = simulate(times, {.chunk = 400, .first = 0.004, .ahead = 1}, 1, load);
  const double prompt = 1000 * 2e-5;
  CHECK(s.requests[0].first == Approx(0.004 + prompt));
  CHECK(s.requests[0].last == Approx(0.004 + prompt + 100 * (5e-3 + 1e-4 + 1e-7 * 1049.5)).epsilon(1e-6));
}

TEST_CASE("random services with more cache, hits, accepted drafts or engines answer no less, and more requests wait no less") {
  std::mt19937_64 source = draws(17);
  const auto any = [&](double from, double to) { return from * std::pow(to / from, std::uniform_real_distribution<double>()(source)); };
  for (int i = 0; i < many(12); ++i) {
    StepTimes times = engine();
    const double isl = std::round(any(100, 4000)), osl = std::round(any(20, 600)), variation = any(0.05, 1);
    const std::uint64_t seed = source();
    Scheduler usual{.cache = 1e5, .sequences = std::round(any(8, 256)), .chunk = std::round(any(512, 8192)), .ahead = i % 2};
    const auto figures = [&](const Scheduler& scheduler, int engines, double rate, double hits) {
      const RequestLoad load =
          drawn_load({.rate = rate, .isl = isl, .osl = osl, .variation = variation, .hit_rate = hits, .count = 2000, .seed = seed});
      return figures_of(load, simulate(times, scheduler, engines, load), 99, 1, 0.03);
    };
    INFO(isl << "/" << osl << " +-" << variation << " chunk " << usual.chunk << " sequences " << usual.sequences);
    const double full = figures(usual, 1, at_once, 0).rate;
    double before = 0;
    const auto no_less = [&](double now) {
      CHECK(now >= before * 0.98);  // of whom the last tenth is served, sequences differ
      before = std::max(before, now);
    };
    for (const double cache : {5e4, 1e5, 4e5}) {
      usual.cache = cache;
      no_less(figures(usual, 1, at_once, 0).rate);
    }
    usual.cache = 1e5;
    before = 0;
    for (const double hits : {0.0, 0.4, 0.8}) no_less(figures(usual, 1, at_once, hits).rate);
    before = 0;
    for (const double accepted : {0.0, 0.4, 0.8}) {
      Scheduler drafting = usual;
      drafting.drafts = 2;
      drafting.acceptance = accepted;
      no_less(figures(drafting, 1, at_once, 0).rate);
    }
    before = 0;
    for (const int engines : {1, 2, 4}) no_less(figures(usual, engines, at_once, 0).rate);
    double within = 1, mean = 0;
    for (const double load : {0.3, 0.6, 0.9, 1.2}) {
      const LoadFigures f = figures(usual, 1, load * full, 0);
      CHECK(f.within <= within + 0.01);
      CHECK(f.e2e.mean >= 0.99 * mean);
      within = f.within;
      mean = f.e2e.mean;
    }
  }
}

TEST_CASE("replicas that read prompts together hold them until each has one, or so many steps, and the closed form knows how long") {
  StepTimes times = engine();
  std::mt19937_64 source(19);
  for (const double each : {4.0, 16.0})
    for (const double chunk : {1200.0, 8192.0}) {
      const int replicas = 8, clients = static_cast<int>(each) * replicas;
      RequestLoad load = drawn_load({.rate = at_once, .isl = 1000, .osl = 400, .variation = 0.5, .count = 40 * clients, .seed = source()});
      for (Arrival& one : load.requests) one.prompt = 1000;
      Scheduler scheduler{.replicas = replicas, .chunk = chunk};
      const auto held = [&](int together) {
        scheduler.together = together;
        const Simulated s = simulate(times, scheduler, 1, load, EngineRole::both, clients);
        double out = 0;
        for (std::size_t k = s.requests.size() / 4; k < s.requests.size(); ++k) out += s.requests[k].first - s.requests[k].arrived;
        return out / (0.75 * static_cast<double>(s.requests.size()));
      };
      const double step = times.decode(each, 1200), none = held(0), some = held(40);
      // each place decodes 400 steps and waits
      const Readings readings = readings_of(each / 440, replicas, 40, std::max(1.0, (chunk - each) / 1000));
      INFO(each << " " << chunk << ": " << none << " " << some << " " << step);
      CHECK(readings.every <= 40);
      CHECK((some - none) / step == Approx(readings.held).epsilon(0.5));
      CHECK(some > none + 8 * step);
    }
}

TEST_CASE("random closed loops answer what the simulated scheduler answers, also where more arrives than they can") {
  const ServingTable table = load_serving_table();
  std::mt19937_64 source = draws(11);
  const auto any = [&](double from, double to) { return from * std::pow(to / from, std::uniform_real_distribution<double>()(source)); };
  struct Deployment {
    const char *system, *model;
    EngineLayout layout;
    WeightFormat weights;
  };
  const std::array deployments{Deployment{"dgx-h100", "llama3-70b", {.tp = 4}, WeightFormat::bf16},
                               Deployment{"dgx-h100", "llama3-8b", {}, WeightFormat::fp8},
                               Deployment{"dgx-b200", "llama3-70b", {.tp = 2, .pp = 2}, WeightFormat::fp8},
                               Deployment{"dgx-h100", "mixtral-8x7b", {.tp = 4}, WeightFormat::bf16},
                               Deployment{"dgx-b200", "deepseek-v3", {.attention_dp = 8, .ep = 8}, WeightFormat::fp8}};
  std::vector<double> closed_off, saturated_off;
  for (int i = 0; i < many(60); ++i) {
    const Deployment& of = deployments[static_cast<std::size_t>(i) % deployments.size()];
    const Model model = load_model(of.model);
    const Rig rig(of.system);
    ServingStack stack =
        table.stack(std::array{"vllm", "sglang", "trtllm"}[static_cast<std::size_t>(i / 5) % 3], rig.system.gpu.generation);
    stack.first = 0;  // a client that waits for an answer's way through the server leaves a place empty
    ServingMachine machine(rig.system, table.constants(rig.system.gpu.generation), stack.kernels);
    const Engine engine(model, of.layout, {of.weights, of.weights == WeightFormat::bf16 ? 2.0 : 1.0}, machine);
    const double isl = std::round(any(128, 8192)), osl = std::round(any(128, 2048));
    const int replicas = of.layout.attention_dp;
    const double clients = std::min(512.0 * replicas, std::floor(room_for(engine, stack, isl + osl)));
    const double formula = aggregated(engine, stack, {isl, osl, clients}).rate;
    StepTimes times(engine, stack);
    const Scheduler scheduler{.replicas = replicas, .sequences = clients / replicas, .chunk = stack.chunk, .poll = stack.poll, .ahead = 1};
    const RequestLoad load = drawn_load({.rate = 2 * formula,
                                         .isl = isl,
                                         .osl = osl,
                                         .of_answers = 0.15,
                                         .running = static_cast<int>(clients),
                                         .count = static_cast<int>(16 * clients) + 200});
    const auto answered = [&](const Simulated& s) {  // per second, of the second half of the time in which requests arrive
      const double end = s.requests.back().arrived;
      return static_cast<double>(std::count_if(s.requests.begin(), s.requests.end(),
                                               [&](const Served& one) { return one.last > end / 2 && one.last <= end; })) / (end / 2);
    };
    const double closed = answered(simulate(times, scheduler, 1, load, EngineRole::both, static_cast<int>(clients)));
    const double saturated = answered(simulate(times, scheduler, 1, load));
    closed_off.push_back(std::fabs(closed / formula - 1)), saturated_off.push_back(std::fabs(saturated / formula - 1));
    INFO(of.model << " " << stack.name << " " << isl << "/" << osl << " x " << clients);
    CHECK(closed == Approx(formula).epsilon(0.02));
    CHECK(saturated == Approx(formula).epsilon(0.02));
  }
  for (std::vector<double>* off : {&closed_off, &saturated_off}) {
    std::sort(off->begin(), off->end());
    CHECK((*off)[off->size() / 2] < 0.005);
    CHECK((*off)[off->size() * 9 / 10] < 0.01);
  }
}

TEST_CASE("what is there at once is answered as fast as by a closed loop of as many clients") {
  StepTimes times = engine();
  for (const double sequences : {8.0, 64.0}) {
    const RequestLoad load = drawn_load({.rate = at_once, .isl = 1000, .osl = 200, .variation = 0.5, .count = 4000});
    const Scheduler scheduler{.sequences = sequences};
    const double open = figures_of(load, simulate(times, scheduler, 1, load), 99, 0, 0).rate;
    const double closed =
        figures_of(load, simulate(times, scheduler, 1, load, EngineRole::both, static_cast<int>(sequences)), 99, 0, 0).rate;
    CHECK(open == Approx(closed).epsilon(0.02));
  }
}

TEST_CASE("blocks of a trace are found again until others need their room") {
  StepTimes times = reader(1e-5);
  RequestLoad load;
  load.hashes = {1, 2, 3, 4, 5, 6};
  load.block = 100;
  load.requests = {{.at = 0, .prompt = 300, .answer = 1, .first = 0, .blocks = 3},
                   {.at = 1, .prompt = 300, .answer = 1, .first = 0, .blocks = 3},
                   {.at = 2, .prompt = 300, .answer = 1, .first = 3, .blocks = 3},
                   {.at = 3, .prompt = 300, .answer = 1, .first = 0, .blocks = 3}};
  // the second finds all but the last token, the fourth too if both fit
  CHECK(simulate(times, {.cache = 1000}, 1, load).hit_rate == Approx((299.0 + 299) / 1200));
  CHECK(simulate(times, {.cache = 350}, 1, load).hit_rate == Approx(299.0 / 1200));
  load.requests[3].prompt = 500;
  CHECK_THAT(support::message_of([&] { return simulate(times, {.cache = 350}, 1, load).steps; }),
             Catch::Contains("does not fit the cache"));
}

TEST_CASE("a prefix behind the cache comes back over its link, one after another, where that is sooner than reading it") {
  StepTimes times = reader(1e-5);
  RequestLoad load;
  load.requests.assign(2, {.at = 0, .prompt = 1000, .answer = 1, .repeated = 800});
  Scheduler scheduler{.behind = {{.tokens = 1e9, .start = 1e-3, .token = 1e-6}}};
  Simulated s = simulate(times, scheduler, 1, load);
  CHECK(s.requests[0].first == Approx(1.8e-3 + 200e-5));
  CHECK(s.requests[1].first == Approx(3.8e-3 + 200e-5));  // its prefix was back before the first prompt had been read
  CHECK(s.reloaded == Approx(0.8));
  CHECK(s.reload == Approx((1.8e-3 + 3.6e-3) / 2));
  scheduler.behind[0].token = 1e-4;
  s = simulate(times, scheduler, 1, load);
  CHECK(s.requests[0].first == Approx(1000e-5));
  CHECK(s.requests[1].first == Approx(2000e-5));
  CHECK(s.hit_rate == 0);
}

TEST_CASE("blocks that had to leave the cache are found in the tier behind it until others need their room there too") {
  StepTimes times = reader(1e-5);
  RequestLoad load;
  load.hashes = {1, 2, 3, 4, 5, 6};
  load.block = 100;
  for (const std::uint32_t first : {0, 0, 3, 0})
    load.requests.push_back({.at = static_cast<double>(load.requests.size()), .prompt = 300, .answer = 1, .first = first, .blocks = 3});
  const auto hits = [&](double cache, double behind) {
    return simulate(times, {.cache = cache, .behind = {{.tokens = behind, .token = 1e-6}}}, 1, load).hit_rate;
  };
  CHECK(hits(350, 0) == Approx(299.0 / 1200));
  CHECK(hits(350, 1000) == Approx((299.0 + 299) / 1200));
  CHECK(hits(350, 300) == Approx(299.0 / 1200));
}

TEST_CASE("blocks are found in the nearest of several tiers, and one behind it has what it no longer has") {
  StepTimes times = reader(1e-5);
  RequestLoad load;
  load.block = 100;
  for (std::uint32_t i = 0; i < 9; ++i) load.hashes.push_back(i);
  for (const std::uint32_t first : {0, 3, 6, 0})
    load.requests.push_back({.at = static_cast<double>(load.requests.size()), .prompt = 300, .answer = 1, .first = first, .blocks = 3});
  const CacheTier near{.tokens = 300, .token = 1e-6}, wide{.tokens = 600, .token = 2e-6}, all{.tokens = 1e9, .common = true, .token = 4e-6};
  const auto back = [&](const std::vector<CacheTier>& tiers) {
    const Simulated s = simulate(times, {.cache = 350, .behind = tiers}, 1, load);
    return s.requests[3].first - s.requests[3].arrived;
  };
  CHECK(back({near}) == Approx(300e-5));
  CHECK(back({near, wide}) == Approx(300e-5));
  CHECK(back({near, wide, all}) == Approx(299 * 4e-6 + 1e-5));
  CHECK(back({{.tokens = 900, .token = 1e-6}, all}) == Approx(299e-6 + 1e-5));
}

TEST_CASE("a turn waits for the answer before it, and no longer, beside other requests and engines") {
  StepTimes times = engine();
  RequestLoad load;
  load.requests = {{.prompt = 1000, .answer = 101}, {.at = 0.1, .prompt = 1200, .answer = 11, .after = 0}, {.at = 9, .prompt = 10, .answer = 1}};
  for (const int engines : {1, 3}) {
    const Simulated s = simulate(times, {.first = 0.004}, engines, load);
    CHECK(s.requests[1].arrived == s.requests[0].last);
    CHECK(s.requests[1].first == Approx(s.requests[1].arrived + 0.004 + 1200 * 2e-5));
    CHECK(s.requests[2].first == Approx(9 + 0.004 + 10 * 2e-5));
  }
  // where other engines answer
  const Simulated s = simulate(times, {.elsewhere = 0.02}, 1, load, EngineRole::prefill);
  CHECK(s.requests[1].arrived == Approx(1000 * 2e-5 + 100 * 0.02));
}

TEST_CASE("random sessions routed to where their prefix lies find more of it than in turn, and wait less") {
  std::mt19937_64 source(23);
  const auto any = [&](double from, double to) { return from * std::pow(to / from, std::uniform_real_distribution<double>()(source)); };
  for (int i = 0; i < 6; ++i) {
    const RequestLoad load = drawn_load({.rate = any(4, 12), .isl = std::round(any(300, 900)), .osl = std::round(any(30, 200)),
                                         .turns = static_cast<int>(any(4, 101)), .gap = any(1, 10), .count = 3000, .seed = source()});
    StepTimes times = engine();
    const auto run = [&](RequestRoute route) {
      const Simulated s = simulate(times, {.cache = 1e5, .route = route}, 4, load);
      const auto [waits, area] = both_of_little(s);
      CHECK(waits == Approx(area).epsilon(1e-9));
      return std::pair{s.hit_rate, figures_of(load, s, 99, 0, 0).ttft.mean};
    };
    const auto [turn, slow] = run(RequestRoute::round_robin);
    const auto [few, usual] = run(RequestRoute::fewest);
    const auto [known, quick] = run(RequestRoute::prefix);
    INFO(i << ": " << turn << " " << few << " " << known << "; " << slow << " " << usual << " " << quick);
    CHECK(known > turn + 0.1);
    CHECK(known > few);
    CHECK(quick < slow);
  }
}

TEST_CASE("random sessions find what they said before, and more of either cache, or one that all share, never answers less") {
  std::mt19937_64 source = draws(13);
  const auto any = [&](double from, double to) { return from * std::pow(to / from, std::uniform_real_distribution<double>()(source)); };
  for (int i = 0; i < many(16); ++i) {
    const DrawnLoad of{.rate = any(2, 8), .isl = std::round(any(100, 600)), .osl = std::round(any(30, 200)), .variation = i % 2 * 0.4,
                       .turns = static_cast<int>(any(2, 101)), .gap = any(1, 20), .count = 2000, .seed = source()};
    const RequestLoad load = drawn_load(of);
    INFO(i << ": " << of.turns << " turns every " << of.gap << " s, " << of.rate << " requests/s of " << of.isl << "/" << of.osl);
    const double span = load.requests.back().at - load.requests[load.warm_up].at;
    CHECK(static_cast<double>(load.requests.size() - load.warm_up) / span == Approx(of.rate).epsilon(0.02));
    double prompts = 0, repeated = 0;
    for (const Arrival& one : load.requests) prompts += one.prompt;
    StepTimes times = engine();
    const auto run = [&](double cache, double behind, bool common) {
      Scheduler scheduler{.cache = cache, .behind = {{.tokens = behind, .common = common, .start = 1e-3, .token = 2e-6}}};
      const Simulated s = simulate(times, scheduler, 2, load);
      const auto [waits, area] = both_of_little(s);
      CHECK(waits == Approx(area).epsilon(1e-9));
      for (std::size_t k = 0; k < load.requests.size(); ++k)
        if (const int last = load.requests[k].after; last >= 0) CHECK(s.requests[k].arrived >= s.requests[static_cast<std::size_t>(last)].last);
      return std::pair{s.hit_rate, figures_of(load, s, 99, 0, 0)};
    };
    const double longest = std::max_element(load.requests.begin(), load.requests.end(), [](const Arrival& a, const Arrival& b) {
                             return a.prompt < b.prompt;
                           })->prompt + 10'000.0;
    std::pair<double, LoadFigures> before;
    const auto no_worse = [&](const std::pair<double, LoadFigures>& now) {
      CHECK(now.first >= before.first - 0.01);
      CHECK(now.second.rate >= 0.98 * before.second.rate);
      // where turns come faster than they are answered, waits are those of one draw
      if (before.second.rate >= 0.98 * of.rate) CHECK(now.second.e2e.mean <= before.second.e2e.mean * 1.02);
      before = now;
    };
    for (const double cache : {1.0, 4.0, 64.0}) no_worse(run(cache * longest, 0, false));
    before = {};
    for (const double behind : {0.0, 1.0, 4.0, 1e4}) no_worse(run(longest, behind * longest, false));
    no_worse(run(longest, 1e4 * longest, true));
    // with room for all in one place, all but what a turn adds is found, up to a block
    for (const Arrival& one : load.requests) repeated += std::max(0.0, one.prompt - of.isl * (1 + of.variation) - 128);
    CHECK(before.first >= 0.9 * repeated / prompts);
  }
}

TEST_CASE("a full cache takes places away and answers all the same") {
  StepTimes times = engine();
  const RequestLoad load = drawn_load({.rate = at_once, .isl = 50, .osl = 900, .count = 200});
  const Simulated s = simulate(times, {.cache = 5000}, 1, load);
  CHECK(s.preempted > 0);
  for (const Served& one : s.requests) CHECK(one.last > 0);
}

TEST_CASE("a simulation that is ended early has answered what the whole one answers, and no more than was asked for") {
  StepTimes times = engine();
  for (const int engines : {1, 3}) {
    const RequestLoad load = drawn_load({.rate = 20, .isl = 300, .osl = 100, .variation = 0.5, .count = 500});
    const Simulated whole = simulate(times, {.cache = 5000}, engines, load);
    std::size_t answers = 0;
    const auto enough = [&](std::size_t, const Served&) { return ++answers >= 50; };
    const Simulated part = simulate(times, {.cache = 5000}, engines, load, EngineRole::both, 0, enough);
    CHECK(part.steps < whole.steps / 2);
    CHECK(answers >= 50);
    CHECK(answers < 100);
    for (std::size_t i = 0; i < part.requests.size(); ++i)
      if (part.requests[i].last > 0) CHECK(part.requests[i].last == whole.requests[i].last);
  }
}

TEST_CASE("ten thousand requests are drawn and served in 50 ms of a processor") {
  StepTimes times = engine();
  const std::clock_t begin = std::clock();
  const RequestLoad load = drawn_load({.rate = 6, .isl = 1000, .osl = 300, .variation = 0.5});
  CHECK(simulate(times, {.cache = 2e5}, 1, load).steps > 1000);
  CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 0.05);
}
