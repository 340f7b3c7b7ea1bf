/// What an answer says beside its deployments: ranges, what was extrapolated, the limit that was kept, the precision that was taken.

#include "support/message_of.hpp"
#include "rig.hpp"

#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/design/explore.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/plan/serving/certainty.hpp>
#include <fabricost/plan/specs/serving.hpp>

#include <catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

ServeRequest request(const std::string& model, const std::string& system, int gpus) {
  ServeRequest r;
  r.model.name = model;
  r.system.name = system;
  r.gpus = gpus;
  r.top = 3;
  return r;
}

}  // namespace

TEST_CASE("the rate of every deployment has a range, the same that a comparison states") {
  ServeRequest r = request("llama3-70b", "dgx-h100", 8);
  r.ttft = units::s(1);
  r.tpot = units::ms(40);
  const ServeAnswer plan = answer(r);
  for (const PlannedDeployment& one : plan.layouts) {
    const auto [low, high] = one.interval_tokens_per_second_per_gpu;
    CHECK(low < one.tokens_per_second_per_gpu);
    CHECK(high > one.tokens_per_second_per_gpu);
    // both times late, and both early
    const auto rate = [&](double ttft, double tpot) { return one.concurrency * r.osl / (ttft + r.osl * tpot) / 8; };
    CHECK(low == Approx(rate(one.interval_ttft.second.value(), one.interval_tpot.second.value())).epsilon(1e-3));
    CHECK(high == Approx(rate(one.interval_ttft.first.value(), one.interval_tpot.first.value())).epsilon(1e-3));
  }
  const Compared compared_one = compared(plan.found->question, plan.found->plan.layouts.front(), plan.found->system, {});
  CHECK(compared_one.rate == plan.layouts.front().interval_tokens_per_second_per_gpu);
}

TEST_CASE("under random arrivals a comparison and an exploration of machines answer what plan answers of each, limits and verdict too") {
  std::mt19937_64 source(21);
  const auto any = [&](double from, double to) { return from * std::pow(to / from, std::uniform_real_distribution<double>()(source)); };
  const std::vector<std::string> machines{"dgx-h100", "dgx-b200"};
  for (int i = 0; i < 4; ++i) {
    ArrivingRequests arriving;
    arriving.request_rate = RequestRate{any(0.5, 3)};
    if (i == 1) {
      arriving.burstiness = 0.5;
      arriving.prefix = RepeatedTokens{.share = 0.5, .tokens = 0};
    }
    if (i == 2) {
      arriving.goodput = 0.9;
      arriving.length_variation = 0.4;
    }
    if (i == 3) {
      arriving.draft_tokens = 1;
      arriving.percentile = 90;
    }
    CompareRequest all;
    static_cast<ArrivingRequests&>(all) = arriving;
    ServeRequest alone = request("llama3-8b", "", 1);
    static_cast<ArrivingRequests&>(alone) = arriving;
    ExploreServeRequest points;
    all.isl = alone.isl = static_cast<int>(any(200, 4000));
    all.osl = alone.osl = static_cast<int>(any(20, 300));
    all.ttft = alone.ttft = units::s(any(0.5, 3));
    all.tpot = alone.tpot = units::ms(60);
    all.model = alone.model;
    all.gpus = alone.gpus;
    all.serve = true;
    all.systems.resize(2);
    static_cast<ServeRequest&>(points) = alone;
    points.vary = {"system=dgx-h100,dgx-b200"};
    points.objectives = "req/s,ttft,tpot,tokens/s/gpu";
    for (std::size_t k = 0; k < 2; ++k) all.systems[k].name = machines[k];
    const CompareAnswer compared = answer(all);
    const ExploreAnswer explored = answer(points);
    std::vector<double> most;
    for (std::size_t k = 0; k < 2; ++k) {
      alone.system.name = machines[k];
      const PlannedDeployment plan = answer(alone).layouts.front();
      const ComparedAnswer& row = compared.rows[k];
      CHECK(row.arrivals == plan.arrivals);
      CHECK(row.time == plan.tpot);
      CHECK(row.interval == plan.interval_tpot);
      CHECK(row.tokens_per_second_per_gpu == plan.tokens_per_second_per_gpu);
      const double read = static_cast<double>(*all.isl) / *all.osl, hits = plan.arrivals->hit_rate;  // all kinds of tokens pay for all
      CHECK(*row.dollars_per_million_output_tokens + read * (1 - hits) * *row.dollars_per_million_input_tokens +
                read * hits * row.dollars_per_million_cached_tokens.value_or(0) ==
            Approx(*row.dollars_per_million_tokens));
      CHECK(*row.dollars_per_million_input_tokens < *row.dollars_per_million_output_tokens);
      most.push_back(plan.arrivals->rate_within.value());
      const auto& values = explored.points[k].objectives;
      CHECK(values[0].second == plan.arrivals->rate_within);
      CHECK(values[1].second == plan.ttft.value());
      CHECK(values[2].second == plan.tpot.value());
      CHECK(values[3].second == plan.tokens_per_second_per_gpu);
    }
    CHECK(compared.best == machines[most[0] >= most[1] ? 0 : 1]);
    CHECK(*compared.faster == Approx(std::max(most[0], most[1]) / std::min(most[0], most[1])));
  }
}

namespace {

/// llama3-8b on two GPUs of dgx-h100 or dgx-b200, p99 within 500 and 30 ms.
[[nodiscard]] CompareRequest two_machines() {
  CompareRequest r;
  r.model.name = "llama3-8b";
  r.serve = true;
  r.gpus = 2;
  r.isl = 1000;
  r.osl = 100;
  r.ttft = units::ms(500);
  r.tpot = units::ms(30);
  r.systems.resize(2);
  r.systems[0].name = "dgx-h100";
  r.systems[1].name = "dgx-b200";
  return r;
}

}  // namespace

TEST_CASE("which machine holds more requests, and what a token costs there, does not depend on the rate asked for, and a row is of one rate") {
  CompareRequest r = two_machines();
  std::optional<CompareAnswer> before;
  for (const double rate : {0.3, 3.0, 20.0}) {
    r.request_rate = RequestRate{rate};
    CompareAnswer now = answer(r);
    if (before) {
      CHECK(now.faster == before->faster);
      for (std::size_t i = 0; i < 2; ++i)
        CHECK(*now.rows[i].dollars_per_million_tokens_within == Approx(*before->rows[i].dollars_per_million_tokens_within).epsilon(0.02));
    }
    for (const ComparedAnswer& row : now.rows)  // of the rate asked for, as what else is in the row
      CHECK(*row.dollars_per_million_tokens == Approx(*row.dollars_per_gpu_hour / 3600 * (1 + double(row.idle_gpus) / now.gpus) / row.tokens_per_second_per_gpu * 1e6));
    before = std::move(now);
  }
}

TEST_CASE("a verdict on requests that arrive names the load that money is of, and the machine that cannot answer them") {
  CompareRequest r = two_machines();
  r.request_rate = RequestRate{3};
  const CompareAnswer both = answer(r);
  CHECK(both.grounds.starts_with("At the rates up to which the limits hold"));
  const auto most = [&](std::size_t i) { return *both.rows[i].arrivals->rate_within; };
  REQUIRE(1.2 * most(0) < most(1));
  r.request_rate = RequestRate{std::sqrt(most(0) * most(1))};
  CHECK(answer(r).verdict.find("dgx-h100 cannot") != std::string::npos);
}

TEST_CASE("where nothing leads turns to their prefix, engines find half as much among twice as many, also of those that are not simulated") {
  const auto found = [](int engines, RequestRoute route) {
    ServeRequest r;
    r.system.name = "dgx-h100";
    r.model.name = "llama3-8b";
    r.gpus = engines;
    r.isl = 1000;
    r.osl = 100;
    r.tp = r.pp = 1;
    r.ttft = units::s(2);
    r.tpot = units::ms(50);
    r.request_rate = RequestRate{engines / 4.0};
    r.turns = 8;
    r.turn_gap = units::s(20);
    r.route = route;
    return answer(r).layouts.front().arrivals->hit_rate;
  };
  const double few = found(16, RequestRoute::round_robin), more = found(64, RequestRoute::round_robin), many = found(1024, RequestRoute::round_robin);
  CHECK(few > 2.5 * more);
  CHECK(more < 6 * few / 16);
  CHECK(many < 0.01);
  CHECK(found(64, RequestRoute::prefix) > 0.9 * found(16, RequestRoute::prefix));
}

TEST_CASE("the best deployment for requests that arrive is the same however many are listed, in random questions") {
  std::mt19937_64 source(5);
  const auto any = [&](double from, double to) { return from * std::pow(to / from, std::uniform_real_distribution<double>()(source)); };
  int answered = 0;
  for (int i = 0; i < 6; ++i) {
    ServeRequest r = request("llama3-8b", i % 2 == 0 ? "dgx-h100" : "l40s-pcie", 2 << i % 2);
    r.isl = static_cast<int>(any(200, 2000));
    r.osl = static_cast<int>(any(20, 200));
    r.request_rate = RequestRate{any(1, 60)};
    if (i % 3 == 1) r.ttft = units::ms(any(300, 3000));
    const auto best_of = [&](int rows) {
      r.top = rows;
      try {
        const PlannedDeployment best = answer(r).layouts.front();
        return std::vector<double>{1.0 * best.tp, 1.0 * best.pp, best.ttft.value(), best.tpot.value(), best.arrivals->rate_within.value()};
      } catch (const RequestError&) {
        return std::vector<double>{};
      }
    };
    const std::vector<double> best = best_of(1);
    INFO(i << ": " << r.request_rate->per_second << " requests/s");
    CHECK(best == best_of(1000));  // all are decided
    answered += best.empty() ? 0 : 1;
  }
  CHECK(answered >= 2);
}

TEST_CASE("a rate of requests is kept wherever a higher one is, and up to the one that the answer names, in random questions") {
  std::mt19937_64 source(22);
  const auto any = [&](double from, double to) { return from * std::pow(to / from, std::uniform_real_distribution<double>()(source)); };
  int changed = 0;
  for (int i = 0; i < 4; ++i) {
    ServeRequest r = request("llama3-8b", i % 2 == 0 ? "dgx-h100" : "l40s-pcie", 1 << i % 3);
    r.isl = static_cast<int>(any(200, 2000));
    r.osl = static_cast<int>(any(20, 200));
    r.ttft = units::ms(any(100, 1000));
    r.tpot = units::ms(any(15, 60));
    if (i % 3 == 2) r.goodput = 0.95;
    const auto kept_to = [&](double rate) {
      r.request_rate = RequestRate{rate};
      try {
        return answer(r).layouts.front().arrivals->rate_within.value();
      } catch (const RequestError&) {
        return 0.0;
      }
    };
    double most = kept_to(0.05), last = 0;
    if (most == 0) continue;
    for (int step = 0; step < 2; ++step) most = std::max(most, kept_to(most));  // another layout may keep more
    std::vector<double> rates{most};
    for (int k = 0; k < 4; ++k) rates.push_back(most * any(0.97, 1.03));  // where percentiles are those of a draw
    std::sort(rates.rbegin(), rates.rend());
    for (const double rate : rates) {
      const double now = kept_to(rate);
      INFO(i << ": " << rate << " requests/s, kept up to " << now << ", a higher rate up to " << last);
      CHECK((now >= rate || now == 0));
      CHECK((last == 0 || now >= rate));
      changed += last == 0 && now > 0 ? 1 : 0;
      last = now;
    }
    CHECK(kept_to(most) >= most);
  }
  CHECK(changed >= 2);
}

TEST_CASE("the rate up to which a layout keeps the limits is one, whatever rate is asked for and whatever else is searched, and the best has the most") {
  std::mt19937_64 source(23);
  const auto any = [&](double from, double to) { return from * std::pow(to / from, std::uniform_real_distribution<double>()(source)); };
  RequestLoad trace;
  for (int i = 0; i < 120; ++i) REQUIRE(add_request(trace, 100 * i + static_cast<int>(source() % 99), 1000 + static_cast<int>(source() % 999), 50).empty());
  complete(trace);
  int layouts = 0;
  for (int i = 0; i < 4; ++i) {
    ServeRequest r = request("llama3-8b", i % 2 == 0 ? "dgx-h100" : "l40s-pcie", 4);
    if (i == 3)
      r.requests.value = std::make_shared<const RequestLoad>(trace);
    else
      r.isl = static_cast<int>(any(200, 2000)), r.osl = static_cast<int>(any(20, 200));
    r.ttft = units::ms(any(600, 1000));
    r.tpot = units::ms(60);
    r.request_rate = RequestRate{any(0.2, 0.5)};
    const ServeAnswer all = answer(r);
    double before = std::numeric_limits<double>::infinity();
    for (const PlannedDeployment& one : all.layouts) {
      const double most = one.arrivals->rate_within.value_or(1e300);
      CHECK(most <= before);
      before = most;
    }
    for (const PlannedDeployment& one : all.layouts) {
      ServeRequest alone = r;
      alone.tp = one.tp;
      alone.pp = one.pp;
      alone.dp = one.dp;
      alone.request_rate = RequestRate{any(0.5, 1)};
      const ServeAnswer again = answer(alone);
      INFO(i << ": tp " << one.tp << " pp " << one.pp << " dp " << one.dp);
      CHECK(again.layouts.front().arrivals->rate_within == one.arrivals->rate_within);
      ++layouts;
    }
  }
  CHECK(layouts >= 6);
}

TEST_CASE("with first tokens in common a machine answers no more than it saturates at, and whatever is less, in random questions") {
  std::mt19937_64 source(24);
  const auto any = [&](double from, double to) { return from * std::pow(to / from, std::uniform_real_distribution<double>()(source)); };
  for (int i = 0; i < 4; ++i) {
    ServeRequest r = request("llama3-8b", i % 2 == 0 ? "dgx-h100" : "l40s-pcie", 1 << i % 3);
    r.isl = static_cast<int>(any(4000, 16000));
    r.osl = static_cast<int>(any(20, 100));
    r.tp = 1;
    r.pp = 1;
    RepeatedTokens common;
    common.tokens = r.isl - static_cast<int>(any(100, 1000));
    r.prefix = common;
    r.request_rate = RequestRate{0.01};
    const double most = answer(r).layouts.front().arrivals->saturation.value();
    INFO(i << ": prompts of " << r.isl << ", " << common.tokens << " in common, answers of " << r.osl << ", saturates at " << most);
    r.request_rate = RequestRate{0.9 * most};
    CHECK(answer(r).layouts.front().arrivals->rate == Approx(0.9 * most).epsilon(0.01));
    r.request_rate = RequestRate{1.1 * most};
    CHECK_THROWS_AS(answer(r), UnmetError);
  }
}

TEST_CASE("clients whose prompts have first tokens in common are answered as many as arrive at the most, and hold those tokens once, in random questions") {
  std::mt19937_64 source(2025);
  const auto any = [&](double from, double to) { return from * std::pow(to / from, std::uniform_real_distribution<double>()(source)); };
  std::vector<double> off;
  for (int i = 0; i < 24; ++i) {
    ServeRequest r = request(i % 3 == 0 ? "llama3-70b" : i % 3 == 1 ? "llama3-8b" : "qwen3-30b-a3b", i % 2 == 0 ? "dgx-h100" : "dgx-b200", 1);
    r.isl = static_cast<int>(any(200, 30000));
    r.osl = static_cast<int>(any(100, 1500));
    r.tp = r.pp = r.dp = r.top = 1;
    const double share = any(0.2, 0.98);
    r.prefix = RepeatedTokens{.share = 0, .tokens = static_cast<int>(share * r.isl)};
    ServeRequest arrive = r;
    arrive.request_rate = RequestRate{0.001};
    r.ttft = units::s(86400);
    const PlannedDeployment one = answer(r).layouts.front();
    INFO(i << ": " << r.model.name << ", prompts of " << r.isl << ", " << r.prefix->tokens << " in common, answers of " << r.osl);
    const double saturation = answer(arrive).layouts.front().arrivals->saturation.value();
    CHECK(saturation == Approx(one.tokens_per_second / r.osl).epsilon(0.03));
    off.push_back(std::fabs(saturation * r.osl / one.tokens_per_second - 1));
    r.prefix = RepeatedTokens{.share = share, .tokens = 0};  // of each prompt its own
    const PlannedDeployment apart = answer(r).layouts.front();
    CHECK(one.tokens_per_second >= 0.999 * apart.tokens_per_second);
    CHECK(one.batch >= apart.batch);
  }
  std::nth_element(off.begin(), off.begin() + 20, off.end());
  CHECK(off[20] < 0.02);
}

TEST_CASE("requests of one length are kept by the replicas with the fewest as well as in turn, and lengths vary where nothing is said of them") {
  ServeRequest r = request("llama3-70b", "dgx-h200", 16);
  r.isl = 4096;
  r.osl = 500;
  r.tp = 4;
  r.pp = 1;
  r.ttft = units::s(1);
  r.tpot = units::ms(40);
  r.request_rate = RequestRate{6};
  const ServedArrivals usual = *answer(r).layouts.front().arrivals;
  CHECK(usual.answer_variation == usual_variation);
  const auto within = [&](double variation, RequestRoute route) {
    r.length_variation = variation;
    r.route = route;
    return answer(r).layouts.front().arrivals->rate_within.value();
  };
  CHECK(within(usual_variation, RequestRoute::fewest) == Approx(*usual.rate_within).epsilon(0.05));
  CHECK(within(0, RequestRoute::round_robin) == Approx(within(usual_variation, RequestRoute::round_robin)).epsilon(0.05));
  // a replica that a bunch leaves has the fewest requests, but does not take the next bunch whole: those that wait count more
  CHECK(within(0, RequestRoute::fewest) >= 0.95 * within(0, RequestRoute::round_robin));
  r = request("qwen3-32b", "mi300x-8", 32);
  r.isl = 4096;
  r.osl = 64;
  r.tp = r.pp = 1;
  r.ttft = units::s(1);
  r.tpot = units::ms(80);
  r.request_rate = RequestRate{1};
  CHECK(within(0, RequestRoute::fewest) >= 0.95 * within(0, RequestRoute::round_robin));
}

TEST_CASE("a layout that answers none while requests arrive is not listed beside one that holds them") {
  ServeRequest r = request("gemma-3-27b", "dgx-b200", 32);
  r.isl = 256;
  r.osl = 64;
  r.ttft = units::s(1);
  r.tpot = units::ms(80);
  r.request_rate = RequestRate{2400};
  const ServeAnswer plan = answer(r);
  CHECK(plan.layouts.size() >= 2);
  for (const PlannedDeployment& one : plan.layouts) CHECK(one.tokens_per_second > 0);
}

TEST_CASE("lengths beside a trace are refused, and its GPUs are found upward from the least") {
  RequestLoad trace;
  for (int i = 0; i < 40; ++i) REQUIRE(add_request(trace, 250.5 * i, 1000, 50).empty());
  complete(trace);
  ServeRequest r = request("llama3-8b", "dgx-h100", 1);
  r.requests.value = std::make_shared<const RequestLoad>(trace);
  r.isl = 8192;
  CHECK_THAT(support::message_of([&] { return answer(r); }), Catch::Contains("isl") && Catch::Contains("in the trace"));
  r = request("llama3-8b", "dgx-h100", 1);
  r.requests.value = std::make_shared<const RequestLoad>(trace);
  r.ttft = units::ms(1);
  CHECK_THAT(support::message_of([&] { return answer(r); }), !Catch::Contains("look like seconds"));
  RequestLoad in_seconds;
  for (int i = 0; i < 40; ++i) REQUIRE(add_request(in_seconds, 0.2505 * i, 1000, 50).empty());
  complete(in_seconds);
  r.requests.value = std::make_shared<const RequestLoad>(in_seconds);
  CHECK_THAT(support::message_of([&] { return answer(r); }), Catch::Contains("look like seconds"));
  r.requests.value = std::make_shared<const RequestLoad>(trace);
  NeedServeRequest need;
  static_cast<ServeRequest&>(need) = r;
  need.gpus.reset();
  need.unknown = "gpus";
  need.ttft = units::s(1);
  const NeedAnswer found = answer(need);
  CHECK(found.value == 1);
  CHECK(found.tried.back().value <= 4);
}

TEST_CASE("what drafts bring here is what the plans with and without them say, in batches and models of experts too") {
  for (const char* model : {"gpt-oss-120b", "llama3-70b"})
    for (const double concurrency : {2.0, 64.0, 512.0}) {
      ServeRequest r = request(model, "dgx-b200", 1);
      r.isl = r.osl = 1024;
      r.ttft = units::h(24);
      r.concurrency = concurrency;
      r.top = 1;
      r.tp = r.pp = 1;
      const double without = answer(r).layouts.front().tokens_per_second_per_gpu;
      r.draft_tokens = 0;
      CHECK(answer(r).layouts.front().tokens_per_second_per_gpu == without);
      r.draft_tokens = 3;
      r.draft_accept = 0.7;
      const PlannedDeployment drafted = answer(r).layouts.front();
      INFO(model << " " << concurrency);
      CHECK(*drafted.without_drafts == Approx(without).epsilon(1e-3));
    }
}

TEST_CASE("more sequences, longer prompts and longer answers than any fitted run had are said, and widen the ranges") {
  const auto of = [](int isl, int osl, double concurrency) {
    ServeRequest r = request("llama3-70b", "dgx-h100", 8);
    r.isl = isl;
    r.osl = osl;
    r.concurrency = concurrency;
    return answer(r).layouts.front();
  };
  const PlannedDeployment inside = of(1000, 1000, 256), crowded = of(16, 16, 4000), long_prompt = of(100000, 1000, 1),
                          long_answer = of(1000, 30000, 8);
  const auto width = [](const PlannedDeployment& p) { return p.interval_tpot.second / p.interval_tpot.first; };
  CHECK(inside.extrapolated.empty());
  CHECK(crowded.extrapolated == std::vector<std::string>{"sequences"});
  CHECK(long_prompt.extrapolated == std::vector<std::string>{"prompts"});
  CHECK(long_answer.extrapolated == std::vector<std::string>{"answers"});
  for (const PlannedDeployment* one : {&crowded, &long_prompt, &long_answer}) CHECK(width(*one) > 1.01 * width(inside));
}

TEST_CASE("a search without a limit on TTFT keeps the usual one, and says so; a longer one lifts it") {
  ServeRequest r = request("llama3-405b", "dgx-h100", 16);
  r.isl = 2000;
  r.osl = 200;
  const ServeAnswer usual = answer(r);
  CHECK(usual.ttft_limit == units::s(usual_ttft(2000)));
  for (const PlannedDeployment& one : usual.layouts) CHECK(one.ttft <= usual.ttft_limit);
  r.ttft = units::h(24);
  const ServeAnswer lifted = answer(r);
  CHECK(lifted.ttft_limit == units::h(24));
  CHECK(lifted.layouts.front().tokens_per_second_per_gpu > usual.layouts.front().tokens_per_second_per_gpu);
  // a given load is priced as it is
  r.ttft.reset();
  r.concurrency = 500;
  CHECK(answer(r).ttft_limit == Time{});
  CHECK(usual_ttft(128000) == 32);
}

TEST_CASE("weights are taken as published where that is narrower than 16 bit") {
  CHECK(answer(request("gpt-oss-120b", "dgx-h100", 1)).precision == "fp4");
  CHECK(answer(request("deepseek-v3", "dgx-h100", 32)).precision == "fp8");
  CHECK(answer(request("llama3-70b", "dgx-h100", 8)).precision == "fp8");
  CHECK(answer(request("llama3-70b", "dgx-a100", 8)).precision == "bf16");
  ServeRequest named = request("gpt-oss-120b", "dgx-h100", 8);
  named.precision = WeightFormat::bf16;
  CHECK(answer(named).precision == "bf16");
}

TEST_CASE("experts distributed and split at once are searched where the engine runs them, and refused where not") {
  ServeRequest r = request("deepseek-v3", "dgx-h200", 32);
  r.isl = 2048;
  r.osl = 512;
  r.ttft = units::s(1);
  r.tpot = units::ms(30);
  r.stack = "trtllm";
  const double searched = answer(r).layouts.front().tokens_per_second_per_gpu;
  r.tp = 2;
  r.pp = 1;
  r.ep = 2;
  r.dp = 16;
  CHECK(searched >= answer(r).layouts.front().tokens_per_second_per_gpu);
  r.stack = "vllm";
  CHECK_THAT(support::message_of([&] { return answer(r); }), Catch::Contains("vLLM") && Catch::Contains("32"));
}

TEST_CASE("an engine's all-reduce over two trays costs what predict says") {
  const System system = load_system("gb200-nvl72");
  const ServingTable table = load_serving_table();
  for (const char* stack : {"vllm", "sglang", "trtllm"}) {
    const ServingStack of = table.stack(stack, system.gpu.generation);
    ServingMachine machine{system, {}, of.kernels};
    for (const int ranks : {4, 8}) {
      const AllReduce call{.bytes = units::KiB(128), .ranks = ranks};
      CHECK(machine.all_reduce_seconds(ranks, 131072) == Approx(predict(system, call, {.inference = of.kernels.reduce}).seconds));
    }
  }
  // no version of vLLM's own kernel leaves its tray
  const AllReduce two_trays{.bytes = units::KiB(128), .ranks = 8};
  CHECK(predict(system, two_trays, {.inference = {.library = InferenceLibrary::vllm}}).seconds == predict(system, two_trays).seconds);
}

TEST_CASE("experts with more rows than any fitted run had reach more of a large product's rate, and never take less time") {
  for (const double fitted : {0.2, 0.23, 0.5, 1.0}) {
    double before = 0, share_before = fitted;
    for (double rows = 1; rows < 1e6; rows *= 1.3) {
      const double share = expert_share(fitted, rows);
      CHECK(rows / share >= before);
      CHECK(share >= share_before);
      CHECK(share <= 1);
      before = rows / share;
      share_before = share;
    }
    CHECK(expert_share(fitted, fitted_expert_rows) == fitted);
    CHECK(expert_share(fitted, 1e6) > 0.99);
  }
}

TEST_CASE("a measured TPOT gives the factor that explains it, and a narrower range") {
  for (const std::string& model : std::vector<std::string>{"llama3-70b", "qwen3-30b-a3b"}) {
    ServeRequest r = request(model, "dgx-h100", 8);
    r.tp = 4, r.pp = 1;
    if (model != "llama3-70b") r.dp = 1, r.ep = 4;
    r.concurrency = 32;
    const PlannedDeployment before = answer(r).layouts.front();
    r.measured_tpot = 1.2 * before.tpot;
    const ServeAnswer found = answer(r);
    const PlannedDeployment after = found.layouts.front();
    CHECK(after.tpot.value() == Approx(1.2 * before.tpot.value()).epsilon(1e-9));
    CHECK(*found.stack_scale > 1.2);  // exchanges keep their time
    const auto exchange = [](const PlannedDeployment& one) {
      return std::find_if(one.terms.begin(), one.terms.end(), [](const StepTerm& t) { return t.name == "tensor"; })->time;
    };
    CHECK(exchange(after) == exchange(before));
    CHECK(after.interval_tpot.second / after.tpot < before.interval_tpot.second / before.tpot);
    r.measured_tpot.reset();
    r.stack_scale = found.stack_scale;
    CHECK(answer(r).layouts.front().tpot.value() == Approx(after.tpot.value()).epsilon(1e-9));
    r.measured_tpot = before.tpot;
    CHECK_THROWS_WITH(answer(r), Catch::Contains("leave one of them out"));
    r.stack_scale.reset();
    r.measured_tpot = 100 * before.tpot;
    CHECK_THROWS_WITH(answer(r), Catch::Contains("with factors from 0.2 to 5 this engine takes"));
    r.tp.reset();
    CHECK_THROWS_WITH(answer(r), Catch::Contains("is of one engine"));
  }
}

TEST_CASE("clients whose prompts are cached in part are answered as many as arrive at the most, and never fewer with more hits") {
  for (const bool apart : {false, true})
    for (const std::string& model : std::vector<std::string>{"llama3-8b", "qwen3-30b-a3b"}) {
      ServeRequest r = request(model, "dgx-h100", apart ? 4 : 1);
      r.isl = 4000, r.osl = 200;
      r.ttft = units::s(86400);
      r.disaggregated = apart;
      double before = 0;
      for (const double share : {0.0, 0.3, 0.6, 0.9}) {
        r.prefix = RepeatedTokens{.share = share, .tokens = 0};
        const PlannedDeployment one = answer(r).layouts.front();
        CHECK(one.tokens_per_second >= before * (1 - 1e-9));
        before = one.tokens_per_second;
        if (share != 0.6) continue;
        CHECK(one.token_prices[1].per_request == Approx(2400));
        if (apart) continue;
        ServeRequest arrive = r;
        arrive.request_rate = RequestRate{0.1};
        arrive.tp = one.tp, arrive.pp = one.pp;
        CHECK(*answer(arrive).layouts.front().arrivals->saturation == Approx(one.tokens_per_second / r.osl).epsilon(0.025));
      }
    }
}

TEST_CASE("where one request at a time is too slow, the remedy is none that leaves it so") {
  ServeRequest r = request("llama3-70b", "dgx-h100", 8);
  r.tpot = units::ms(7.5);
  const auto said = [&] { return support::message_of([&] { return answer(r); }); };
  const std::string slow = said();
  CHECK_THAT(slow, Catch::EndsWith("or take narrower weights (precision), drafts (draft_tokens) or a faster machine"));
  r.gpus = 16;
  CHECK_FALSE(said().empty());  // more GPUs than a domain has
  r.gpus = 8;
  r.precision = WeightFormat::fp4;
  CHECK_THAT(said(), !Catch::Contains("no layout"));
  r.precision.reset();
  r.draft_tokens = 3;
  r.draft_accept = 0.9;
  CHECK_THAT(said(), !Catch::Contains("no layout"));
  r = request("llama3-70b", "dgx-h100", 2);
  r.tpot = units::ms(10);
  CHECK_THAT(said(), Catch::Contains("a larger engine of more GPUs"));
  r.gpus = 8;
  CHECK(said().empty());
  r.tpot.reset();
  r.ttft = units::ms(150);
  CHECK_THAT(said(), Catch::Contains("or take shorter prompts, narrower") && !Catch::Contains("tpot_seconds") && !Catch::Contains("drafts"));
  r.isl = 2048;
  CHECK(said().empty());
}
