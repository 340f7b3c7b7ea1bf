/// The search against trying everything, and what more freedom may not do: over random questions, with engines that prefill and decode and with
/// both apart. FABRICOST_SERVING_QUESTIONS sets how many (default 40; a long check asks 100,000), FABRICOST_SEED another start.

#include "support/number_of.hpp"
#include "support/random_cases.hpp"
#include "rig.hpp"

#include <fabricost/hardware/design_parameters.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/plan/serving/plan.hpp>
#include <fabricost/plan/specs/serving.hpp>

#include <catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

using support::number_of;

const std::vector<System>& machines() {
  static const std::vector<System> all = [] {
    std::vector<System> out;
    for (const char* name : {"dgx-h100", "dgx-h200", "dgx-b200", "gb200-nvl72", "gb300-nvl72", "mi300x-8", "dgx-a100", "hgx-h20"})
      out.push_back(load_system(name));
    return out;
  }();
  return all;
}
const std::vector<Model>& models() {
  static const std::vector<Model> all = [] {
    std::vector<Model> out;
    for (const char* name : {"llama3-8b", "llama3-70b", "llama3-405b", "mixtral-8x7b", "deepseek-v3", "qwen3-235b-a22b", "qwen3-30b-a3b", "gpt-oss-120b"})
      out.push_back(load_model(name));
    return out;
  }();
  return all;
}

/// A question and the machine that it is of.
struct Asked {
  ServingQuestion question;
  System system;
  [[nodiscard]] std::string text() const {
    const ServingQuestion& q = question;
    const auto sizes = [](const ServingQuestion::Sizes& s) {
      std::string out;
      for (const auto& [name, value] : {std::pair{"tp", s.tp}, {"pp", s.pp}, {"ep", s.ep}, {"dp", s.attention_dp}})
        if (value) out += std::string(" ") + name + " " + std::to_string(*value);
      return out;
    };
    return q.model.name + " on " + std::to_string(q.gpus) + " " + system.name + " isl " + std::to_string(q.isl) + " osl " + std::to_string(q.osl) +
           " " + q.stack.name + " ttft " + std::to_string(q.ttft) + " tpot " + std::to_string(q.tpot) + " concurrency " +
           std::to_string(q.concurrency) + (q.disaggregated ? " apart" : "") + sizes(q.sizes()) + (q.prefill.any() ? " prefill" : "") +
           sizes(q.prefill);
  }
};

Asked random_question(support::Random& random, bool apart) {
  static const ServingTable table = load_serving_table();
  Asked out{.question = {}, .system = random.of(machines())};
  ServingQuestion& q = out.question;
  q.model = random.of(models());
  q.stack = table.stack(random.of<const char*>({"vllm", "sglang", "trtllm"}), out.system.gpu.generation);
  q.constants = table.constants(out.system.gpu.generation);
  const bool narrow = out.system.gpu.fp8.value.value() > 0 && !random.one_in(4);
  q.format = {narrow ? WeightFormat::fp8 : WeightFormat::bf16, narrow ? 1.0 : 2.0};
  q.gpus = random.of<int>({2, 4, 5, 8, 12, 16, 24, 32, 40, 64, 72});
  q.isl = std::floor(random.scaled(64, 40000));
  q.osl = std::floor(random.scaled(2, 4000));
  if (!random.one_in(4)) q.ttft = random.scaled(0.1, 5) * std::max(1.0, q.isl / 4000);
  if (!random.one_in(3)) q.tpot = random.scaled(0.005, 0.2);
  q.disaggregated = apart;
  q.top = 1;
  // servers of fewer GPUs, between which engines reach over the network
  if (out.system.domain == out.system.gpus_per_node && random.one_in(3))
    out.system = with_parameter(out.system, DesignParameter::domain, random.of<int>({1, 2, 4}));
  return out;
}

/// Tokens per second of all GPUs together; 0 where nothing fits or keeps the limits.
double best(const Asked& asked) {
  try {
    const ServingPlan plan = plan_serving(asked.system, asked.question);
    return plan.layouts.empty() ? 0 : plan.layouts.front().tokens_per_s_per_gpu * asked.question.gpus;
  } catch (const RequestError&) {
    return 0;
  }
}

/// Counts what was asked and answered; prints the first faults of each kind.
struct Count {
  long long asked = 0, answered = 0, faults = 0;
  std::map<std::string, int> kinds{};
  void expect(bool holds, const std::string& rule, const std::function<std::string()>& question) {
    if (holds) return;
    ++faults;
    if (kinds[rule]++ < 3) std::printf("  %s: %s\n", rule.c_str(), question().c_str());
  }
};

constexpr double as_much = 1 - 2e-9;

/// Tokens per second of the best of every engine, batch and number of workers, priced one by one with serving.hpp alone.
double of_everything(const Asked& asked, double max_batch) {
  const ServingQuestion& q = asked.question;
  const System& system = asked.system;
  ServingMachine machine{system, q.constants, q.stack.kernels};
  std::vector<Engine> engines;
  for (int tp = 1; tp <= q.gpus; ++tp)
    for (int dp = 1; tp * dp <= q.gpus && (dp == 1 || q.model.mixture()); ++dp)
      for (int pp = 1; tp * dp * pp <= q.gpus && pp <= 16; ++pp)
        for (const int ep : tp * dp > 1 ? std::vector{1, tp * dp} : std::vector{1}) {
          const EngineLayout l{tp, dp, pp, ep};
          if (!why_impossible(q.model, l).empty() || !why_refused(q.model, l, q.format.weights).empty()) continue;
          try {
            engines.emplace_back(q.model, l, q.format, machine);
          } catch (const RequestError&) {  // the machine cannot join these ranks
          }
        }
  const auto room = [&](const Engine& e, double context) {
    return std::min(e.capacity(context, q.stack.memory_share, q.stack.cache_share), 8192.0 * e.layout().attention_dp);
  };
  const auto keeps = [&](const ServingTime& t) { return (q.ttft <= 0 || t.ttft <= q.ttft) && (q.tpot <= 0 || t.tpot <= q.tpot); };
  std::vector<Prefill> prompts;
  for (const Engine& one : engines) prompts.push_back(prefill_prompt(one, q.stack, q.isl));
  double out = 0;
  for (std::size_t at = 0; at < engines.size(); ++at) {
    const Engine& decode = engines[at];
    const int each = decode.layout().gpus();
    for (double batch = 1; batch <= std::min(max_batch, room(decode, q.isl + q.osl)); ++batch) {
      if (!q.disaggregated) {
        const ServingTime t = aggregated(decode, q.stack, {q.isl, q.osl, batch}, prompts[at]);
        if (keeps(t)) out = std::max(out, t.rate * q.osl * (q.gpus / each));
        continue;
      }
      for (std::size_t beside = 0; beside < engines.size(); ++beside) {
        const Engine& prefill = engines[beside];
        if (room(prefill, q.isl) < prefill.layout().attention_dp) continue;
        const int holders = std::min(prefill.layout().cache_gpus(), decode.layout().cache_gpus());
        for (int decodes = 1; decodes * each < q.gpus; ++decodes) {
          const int prefills = (q.gpus - decodes * each) / prefill.layout().gpus();
          if (prefills < 1) break;
          const ServingTime t = disaggregated(prefill, decode, {prefills, decodes}, q.stack, {q.isl, q.osl, batch * decodes, batch * decodes},
                                              q.sent(kv_link(system, holders, true), q.isl, prompts[beside].alone), prompts[beside]);
          if (keeps(t)) out = std::max(out, t.rate * q.osl);
        }
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("the search finds what trying every engine, batch and number of workers finds", "[serving]") {
  Count count;
  for (long long i = 0, n = std::max(6LL, number_of("FABRICOST_SERVING_QUESTIONS", 40) / 4); i < n; ++i) {
    support::Random random{static_cast<std::uint64_t>(number_of("FABRICOST_SEED", 20261126)) * 7919ULL + static_cast<std::uint64_t>(i)};
    Asked asked = random_question(random, i % 2 == 0);
    ServingQuestion& q = asked.question;
    q.model = load_model(random.of<const char*>({"llama3-8b", "qwen3-30b-a3b", "mixtral-8x7b"}));
    q.gpus = random.of<int>({2, 3, 4});
    q.isl = std::max(q.isl, 2000.0);  // for fewer batches
    if (asked.system.domain < q.gpus && q.disaggregated) continue;  // a cache's links differ with the places of its workers
    // all whole batches up to 96 are in both; both are kept there by the limit on time per token
    if (q.tpot <= 0 || q.tpot > 0.03) q.tpot = 0.03;
    ++count.asked;
    const double found = best(asked), all = of_everything(asked, 96);
    count.answered += all > 0;
    count.expect(found >= as_much * all, "the search misses the best", [&] {
      return asked.text() + ": " + std::to_string(found) + ", there is " + std::to_string(all);
    });
  }
  std::printf("  %lld tried whole, %lld answered\n", count.asked, count.answered);
  CHECK(count.faults == 0);
  CHECK(count.answered > 0);
}

TEST_CASE("a looser limit, more GPUs and more memory never answer less, and a named worker is never better than the search", "[serving]") {
  Count count;
  for (long long i = 0, n = number_of("FABRICOST_SERVING_QUESTIONS", 40); i < n; ++i) {
    support::Random random{static_cast<std::uint64_t>(number_of("FABRICOST_SEED", 20261126)) * 1000003ULL + static_cast<std::uint64_t>(i) * 104729ULL};
    const Asked asked = random_question(random, i % 2 == 0);
    const double now = best(asked);
    ++count.asked;
    count.answered += now > 0;
    const auto at_least = [&](const char* rule, const auto& change) {
      Asked other = asked;
      change(other);
      const double then = best(other);
      count.expect(then >= as_much * now, rule, [&] {
        return asked.text() + ": " + std::to_string(now) + "; then " + std::to_string(then) + ": " + other.text();
      });
    };
    switch (i / 2 % 4) {
      case 0: at_least("a looser limit on TTFT answers less", [&](Asked& a) { a.question.ttft *= random.scaled(1.0001, 3); }); break;
      case 1: at_least("a looser limit on TPOT answers less", [&](Asked& a) { a.question.tpot *= random.scaled(1.0001, 3); }); break;
      case 2: at_least("more GPUs answer less", [&](Asked& a) { a.question.gpus += random.of<int>({1, 2, 4, 7, 8, 16, 33, 72}); }); break;
      default:
        at_least("more memory answers less", [&](Asked& a) {
          a.system.gpu.memory.value = units::GiB(a.system.gpu.memory.value.value() / 1073741824.0 * random.scaled(1.001, 2));
        });
    }
    const auto size = [&](std::optional<int>& out, std::initializer_list<int> of) {
      if (!random.one_in(3)) out = random.of<int>(of);
    };
    Asked named = asked;
    ServingQuestion& q = named.question;
    const bool prefill = q.disaggregated && random.one_in(2);
    if (prefill) {
      size(q.prefill.tp, {1, 2, 4, 8, 16});
      size(q.prefill.pp, {1, 1, 2, 4});
      size(q.prefill.ep, {1, 2, 4, 8, 16});
      if (q.model.mixture()) size(q.prefill.attention_dp, {1, 2, 4, 8, 16});
    } else {
      size(q.tp, {1, 2, 4, 8, 16, 32});
      size(q.pp, {1, 1, 2, 4});
      size(q.ep, {1, 2, 4, 8, 16});
      if (q.model.mixture()) size(q.attention_dp, {1, 2, 4, 8, 16, 32});
    }
    const double of_named = best(named);
    count.expect(now >= as_much * of_named, prefill ? "a named prefill worker is better than the search" : "a named engine is better than the search",
                 [&] { return named.text() + ": " + std::to_string(of_named) + ", searched " + std::to_string(now); });
  }
  std::printf("  %lld asked, %lld answered, %lld faults\n", count.asked, count.answered, count.faults);
  for (const auto& [rule, times] : count.kinds) std::printf("    %d times: %s\n", times, rule.c_str());
  CHECK(count.faults == 0);
  CHECK(count.answered * 3 >= count.asked);
}

TEST_CASE("on servers of few GPUs one request is answered by tensor ranks on several, and no named number of them answers faster", "[serving]") {
  static const ServingTable table = load_serving_table();
  for (const int domain : {1, 2}) {
    Asked asked{.question = {}, .system = with_parameter(load_system("dgx-h100"), DesignParameter::domain, domain)};
    ServingQuestion& q = asked.question;
    q.model = load_model("llama3-70b");
    q.stack = table.stack("vllm", asked.system.gpu.generation);
    q.constants = table.constants(asked.system.gpu.generation);
    q.format = {WeightFormat::fp8, 1.0};
    q.gpus = 4;
    q.concurrency = 1;
    q.top = 1;
    const double searched = best(asked);
    CHECK(plan_serving(asked.system, q).layouts.front().engine.tp > domain);
    for (const int tp : {1, 2, 4}) {
      q.tp = tp;
      CAPTURE(domain, tp);
      CHECK(searched >= as_much * best(asked));
    }
  }
}

TEST_CASE("need, compare and plan agree on what GPUs serve, in domains of one GPU and of many", "[serving]") {
  support::Random random{static_cast<std::uint64_t>(number_of("FABRICOST_SEED", 20261126)) * 32452843ULL};
  int met = 0;
  for (int i = 0; i < 8; ++i) {
    const System system = with_parameter(load_system("dgx-h100"), DesignParameter::domain, random.of<int>({1, 1, 2, 8}));
    NeedServeRequest r;
    r.unknown = "gpus";
    r.system = system;
    r.model.name = random.of<const char*>({"llama3-70b", "llama3-8b", "qwen3-30b-a3b"});
    r.tpot = units::ms(random.scaled(6, 60));
    if (random.one_in(2)) r.concurrency = random.of<int>({1, 4, 40});
    CAPTURE(i, r.model.name, system.domain, r.tpot->value());
    ServeRequest forward = r;
    forward.gpus = 8;
    forward.top = 1;
    CompareRequest beside;
    beside.systems = {system, load_system("dgx-b200")};
    beside.model.name = r.model.name;
    beside.serve = true;
    beside.gpus = 8;
    beside.tpot = r.tpot;
    beside.concurrency = r.concurrency;
    try {
      const PlannedDeployment best = answer(forward).layouts.front();
      ++met;
      CHECK(answer(beside).rows.front().tokens_per_second_per_gpu == Approx(best.tokens_per_second_per_gpu));
      r.tokens_per_second = as_much * best.tokens_per_second;
      const NeedAnswer found = answer(r);
      REQUIRE(found.satisfied);
      CHECK(*found.value <= 8);
      if (r.concurrency) {  // the limits alone are a goal then
        r.tokens_per_second.reset();
        CHECK(*answer(r).value <= 8);
      }
    } catch (const UnmetError&) {
      r.tokens_per_second = 1;
      r.over = "1,2,4,8";
      CHECK_FALSE(answer(r).satisfied);
    }
  }
  CHECK(met > 3);
}

TEST_CASE("requests in flight wait for their first token or decode, and more of them are not answered more slowly", "[serving]") {
  Count count;
  for (long long i = 0, n = number_of("FABRICOST_SERVING_QUESTIONS", 40); i < n; ++i) {
    support::Random random{static_cast<std::uint64_t>(number_of("FABRICOST_SEED", 20261126)) * 15485863ULL + static_cast<std::uint64_t>(i) * 7907ULL};
    Asked asked = random_question(random, true);
    ServingQuestion& q = asked.question;
    q.concurrency = std::floor(random.scaled(1, 5000));
    q.ttft = q.tpot = 0;
    ++count.asked;
    try {
      for (const PricedServing& p : plan_serving(asked.system, q).layouts) {
        ++count.answered;
        const double rate = p.tokens_per_s_per_gpu * q.gpus / q.osl, answer = q.osl * p.time.tpot;
        const double decoding = std::max(1.0, rate * answer / p.replicas);
        const auto expect = [&](bool holds, const char* rule) {
          count.expect(holds, rule, [&] {
            return asked.text() + ": rate " + std::to_string(rate) + ", first tokens " + std::to_string(p.time.ttft) + " s, answers " + std::to_string(answer) +
                   " s, decoding " + std::to_string(decoding) + " of " + std::to_string(p.time.running);
          });
        };
        expect(std::fabs(rate * (p.time.ttft + answer) / p.requests - 1) < 1e-6, "Little's law");
        expect(p.time.running >= decoding * (1 - 1e-6) && p.time.running - 1 <= decoding * (1 + 1e-6), "those that decode are rate x answer");
        expect(p.time.prefill_use <= 1 && p.time.link_use <= 1 && p.time.queue >= -1e-9, "a pool does more than it can");
      }
    } catch (const RequestError&) {  // nothing fits
      continue;
    }
    Asked more = asked;
    more.question.concurrency *= random.scaled(1, 4);
    const double now = best(asked), then = best(more);
    count.expect(then >= as_much * now, "more requests answer less", [&] { return asked.text() + ": " + std::to_string(now) + ", then " + std::to_string(then); });
  }
  std::printf("  %lld asked, %lld layouts, %lld faults\n", count.asked, count.answered, count.faults);
  CHECK(count.faults == 0);
  CHECK(count.answered * 3 >= count.asked);
}
