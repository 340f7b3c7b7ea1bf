/// Input, cached and output tokens pay for all GPUs together, each for the time that it takes.

#include "rig.hpp"

#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/economics/cost.hpp>
#include <fabricost/plan/specs/prices.hpp>

#include <catch.hpp>

#include <cmath>
#include <random>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

/// What so many GPUs of a machine cost in a second, counted apart from any deployment.
double dollars_a_second(const System& system, int gpus) {
  const Prices prices = load_prices();
  return money_of(system, paid_gpus(system, gpus, prices), units::s(1), prices).paid().value();
}

/// Tokens per second of a kind times its price, over all kinds.
double paid_a_second(const PlannedDeployment& one, double osl) {
  double out = 0;
  for (const TokenPrice& kind : one.token_prices) out += one.tokens_per_second / osl * kind.per_request * *kind.dollars / 1e6;
  return out;
}

const TokenPrice* of(const PlannedDeployment& one, const std::string& tokens) {
  for (const TokenPrice& kind : one.token_prices)
    if (kind.tokens == tokens) return &kind;
  return nullptr;
}

}  // namespace

TEST_CASE("tokens of all kinds pay for all GPUs, of clients and of arrivals, of pools and of machines of two kinds") {
  std::mt19937_64 random(5761);
  const auto between = [&](double low, double high) { return low * std::pow(high / low, std::uniform_real_distribution<>{0, 1}(random)); };
  const auto one_of = [&](std::vector<std::string> all) { return all[random() % all.size()]; };
  int cached = 0, apart = 0, pools = 0;
  for (int i = 0; i < 18; ++i) {
    ServeRequest r;
    r.system.name = one_of({"dgx-h100", "dgx-b200", "gb200-nvl72"});
    r.model.name = one_of({"llama3-8b", "qwen3-30b-a3b", "llama3-70b"});
    r.gpus = static_cast<int>(between(4, 20));
    r.isl = static_cast<int>(between(20, 20000));
    r.osl = i % 10 == 9 ? 1 : static_cast<int>(between(2, 1500));
    r.top = 3;
    r.disaggregated = i % 3 == 1;
    if (i % 6 == 2) r.prefill_system.name = "dgx-h200", r.prefill_gpus = 8;
    if (i % 2 == 1) {
      r.request_rate = RequestRate{between(0.01, 2)};
      if (i % 4 == 1) r.prefix = RepeatedTokens{.share = between(0.1, 1), .tokens = 0};
      if (i % 8 == 3) r.turns = 4;
      if (i % 8 == 3 && i % 16 == 3) r.prefix_tier = PrefixTiers{{{.tier = PrefixTier::host}}};
    }
    ServeAnswer plan;
    try {
      plan = answer(r);
    } catch (const RequestError&) {
      continue;
    }
    double due = dollars_a_second(plan.found->system, *r.gpus);
    if (r.prefill_system) due += dollars_a_second(load_system("dgx-h200"), 8), ++pools;
    for (const PlannedDeployment& one : plan.layouts) {
      INFO(i << " " << r.system.name << " " << r.model.name << " " << *r.gpus << " " << r.isl << " " << r.osl);
      const double osl = of(one, "output")->per_request;
      CHECK(paid_a_second(one, osl) == Approx(due));
      double shares = 0, prompt = 0;
      for (const TokenPrice& kind : one.token_prices) {
        shares += kind.share;
        if (kind.tokens != "output") prompt += kind.per_request;
        CHECK(kind.share >= 0);
        CHECK(kind.interval->first <= *kind.dollars * (1 + 1e-9));
        CHECK(kind.interval->second >= *kind.dollars * (1 - 1e-9));
      }
      CHECK(shares == Approx(1));
      CHECK(prompt == Approx(plan.found->question.isl));
      if (const TokenPrice* found = of(one, "cached"); found != nullptr) {
        ++cached;
        CHECK(*found->dollars < *of(one, "input")->dollars);  // attention and its way back, not the products
      }
      apart += one.disaggregated ? 1 : 0;
    }
  }
  CHECK(cached > 5);
  CHECK(apart > 5);
  CHECK(pools > 1);
}

TEST_CASE("machines of two kinds are priced by one kind of price") {
  ServeRequest r;
  r.system.name = "dgx-h100";
  r.model.name = "llama3-70b";
  r.gpus = 8;
  r.prefill_system.name = "gaudi-3";  // whose rent is not known
  r.prefill_gpus = 8;
  r.top = 1;
  const auto owned_a_second = [](const std::string& name) {
    const System system = load_system(name);
    Prices prices = load_prices();
    prices.kind = PriceKind::owned;
    return money_of(system, 8, units::s(1), prices).owned().value();
  };
  const PlannedDeployment one = answer(r).layouts.front();
  CHECK(one.price_kind == "owned");
  CHECK(*one.dollars_per_million_tokens * 1e-6 * one.tokens_per_second == Approx(owned_a_second("dgx-h100") + owned_a_second("gaudi-3")));
}

TEST_CASE("a plan of serving costs the same in fabricost cost, GPUs that it leaves idle and prices of one's own too") {
  ServeRequest r;
  r.system.name = "dgx-h100";
  r.model.name = "llama3-70b";
  r.gpus = 15;
  const PlannedDeployment plan = answer(r).layouts.front();
  CostRequest c;
  c.plan = PlannedRate{.system = plan.system,
                       .model = plan.model,
                       .gpus = 15,
                       .tokens_per_second_per_gpu = plan.tokens_per_second_per_gpu,
                       .tokens = plan.token_prices,
                       .between = plan.interval_tokens_per_second_per_gpu};
  const CostAnswer same = answer(c);
  CHECK(same.token_prices == plan.token_prices);
  c.dollars_per_gpu_hour = 2 * *same.dollars_per_gpu_hour;
  for (std::size_t k = 0; k < plan.token_prices.size(); ++k)
    CHECK(*answer(c).token_prices[k].dollars == Approx(2 * *plan.token_prices[k].dollars));
}

TEST_CASE("longer prompts take more of the price, and longer answers less") {
  ServeRequest r;
  r.system.name = "dgx-h100";
  r.model.name = "llama3-8b";
  r.gpus = 1;
  r.batch = 16;
  for (const bool arrive : {false, true}) {
    if (arrive) r.request_rate = RequestRate{1}, r.batch.reset();
    double before = 0;
    for (const int isl : {100, 400, 1600, 6400}) {
      r.isl = isl, r.osl = 200;
      const double share = answer(r).layouts.front().token_prices.front().share;
      CHECK(share > before);
      before = share;
    }
    for (const int osl : {400, 800, 1600}) {
      r.osl = osl;
      const double share = answer(r).layouts.front().token_prices.front().share;
      CHECK(share < before);
      before = share;
    }
  }
}
