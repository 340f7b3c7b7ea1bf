// Layouts that fit: published ones, those that the advice proposes, and what sharding and computing again never do.
#include "stacks.hpp"

#include "support/random_layouts.hpp"

#include <fabricost/plan/specs/load_model.hpp>

#include <fmt/format.h>
#include <catch.hpp>

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

constexpr double gib = 1073741824.0;

/// A change of a layout in one step, and the words that tell it.
struct Change {
  const char* words;
  int rank;  ///< the more, the later it is proposed
  std::function<bool(const Model&, Layout&)> apply;
  std::function<double(const Layout&)> of;  ///< what it changes
};

bool take_replicas(Layout& l, int& to) {
  if (l.dp % 2 != 0) return false;
  l.dp /= 2;
  to *= 2;
  return true;
}

const std::vector<Change>& changes() {
  const auto stages = [](const Model& m, Layout& l) {
    if (!take_replicas(l, l.pp) || l.pp > m.layers || l.offload_layers > 0) return false;
    if (l.schedule == PipelineSchedule::none) l.schedule = PipelineSchedule::one_f_one_b;
    l.recompute_by_stage.clear();
    while (l.vp > 1 && (has_idle_chunk(m, l) || l.microbatches() % l.pp != 0)) l.vp /= 2;
    return true;
  };
  static const std::vector<Change> all{
      {"zero ", 0, [](auto&, Layout& l) { return ++l.zero <= 3; }, [](auto& l) { return l.zero; }},
      {"sequence parallel", 1, [](auto&, Layout& l) { return !std::exchange(l.sequence_parallel, true) && l.tp > 1; },
       [](auto& l) { return l.sequence_parallel; }},
      {"selective recompute", 2,
       [](auto&, Layout& l) { return std::exchange(l.recompute, Recompute::selective) == Recompute::none && l.offload_layers == 0; },
       [](auto& l) { return l.recompute == Recompute::selective; }},
      {"microbatch ", 3, [](auto&, Layout& l) { return (l.microbatch /= 2) > 0; }, [](auto& l) { return -std::log2(l.microbatch); }},
      {"ep ", 4, [](const Model& m, Layout& l) { return (l.ep *= 2) <= m.experts; }, [](auto& l) { return std::log2(l.ep); }},
      {"full recompute", 6,
       [](auto&, Layout& l) { return std::exchange(l.recompute, Recompute::full) != Recompute::full && l.offload_layers == 0; },
       [](auto& l) { return l.recompute == Recompute::full; }},
      {"pp ", 7, stages, [](auto& l) { return std::log2(l.pp); }},
      {"activations in host memory", 8,
       [](const Model& m, Layout& l) {
         return std::exchange(l.offload_layers, m.layers - 1) == 0 && l.pp == 1 && l.recompute == Recompute::none;
       },
       [](auto& l) { return l.offload_layers > 0; }},
      {"optimizer's states in host memory", 9, [](auto&, Layout& l) { return std::exchange(l.offload_optimizer, 1) == 0; },
       [](auto& l) { return l.offload_optimizer; }},
      {"tp ", 10, [](auto&, Layout& l) { return take_replicas(l, l.tp) && l.tp <= 8; }, [](auto& l) { return std::log2(l.tp); }},
      {"cp ", 11, [](auto&, Layout& l) { return take_replicas(l, l.cp); }, [](auto& l) { return std::log2(l.cp); }}};
  return all;
}

int cost_of(const Layout& from, const Layout& to) {
  double sum = 0;
  for (const Change& c : changes()) sum += c.rank * std::max(0.0, c.of(to) - c.of(from));
  const std::array<int, 3> sharding{1, to.pp > 1 ? 9 : 4, 12};
  for (int zero = from.zero; zero < to.zero; ++zero) sum += sharding[static_cast<std::size_t>(zero)];
  return static_cast<int>(std::lround(sum));
}

/// Every possible layout that changes lead to, and what it needs.
std::vector<std::pair<Layout, MemoryUse>> reachable(const Model& m, const Layout& from, const MemoryStack& s, double host) {
  const auto values = [](const Layout& l) {
    std::vector<double> out;
    for (const Change& c : changes()) out.push_back(c.of(l));
    return out;
  };
  std::map<std::vector<double>, Layout> seen{{values(from), from}};
  std::vector<Layout> next{from};
  while (!next.empty()) {
    const Layout at = next.back();
    next.pop_back();
    for (const Change& c : changes()) {
      Layout l = at;
      if (!c.apply(m, l)) continue;
      if (host == 0 && (l.offload_layers > 0 || l.offload_optimizer > from.offload_optimizer)) continue;
      if (seen.emplace(values(l), l).second) next.push_back(l);
    }
  }
  std::vector<std::pair<Layout, MemoryUse>> out;
  for (const auto& [key, l] : seen)
    if (is_possible(m, l))
      if (const MemoryUse use = worst_stage(m, l, s); host == 0 || use.host <= host) out.emplace_back(l, use);
  return out;
}

}  // namespace

TEST_CASE("what is proposed is the cheapest change that fits and runs, of equal costs the one that needs least, and it is named") {
  RandomJobs jobs(11);
  std::map<std::string, int> met;
  for (int i = 0; i < 1000; ++i) {
    const Model m = jobs.model();
    Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    l.offload_optimizer = jobs.pick({0, 0, 1});
    if (l.recompute == Recompute::full && jobs.flip()) l.recompute_layers = jobs.between(1, m.layers);
    if (l.recompute == Recompute::full && jobs.flip()) l.recompute_by_stage.assign(static_cast<std::size_t>(l.pp), 1);
    if (!is_possible(m, l)) continue;
    const MemoryUse use = worst_stage(m, l, s);
    const double before = use.total(), capacity = before * 0.01 * jobs.between(10, 110), host = jobs.pick({0, 1, 100, 100}) * 0.01 * before;
    const std::array<std::function<bool(const Layout&)>, 3> machines{
        {{}, [&](auto& other) { return other.tp == l.tp; }, [&](auto& other) { return other.recompute == l.recompute; }}};
    const auto& runs = machines[static_cast<std::size_t>(jobs.between(0, 2))];
    INFO("seed " << jobs.seed << " case " << i << told(m, l) << " host " << host);
    const MemoryAdvice a = smallest_change_that_fits(m, l, s, capacity, 0.05, 8, host, runs);
    INFO(a.sentence);
    CHECK(a.use.total() == Approx(worst_stage(m, a.layout, s).total()));
    std::map<int, double> least;  // by cost
    double min = before;
    bool meant = a.layout == l;
    Layout start = l, whole = a.layout;
    if (host > 0 && use.host > host) start.offload_optimizer = 0;  // what has no room on the host comes back first
    if (a.layout.recompute != l.recompute) whole.recompute_layers = 0;
    for (const auto& [other, needed] : reachable(m, start, s, host)) {
      meant = meant || other == whole;
      const bool fitting = fits(needed, capacity, 0.05, host > 0 ? host : 1e300);
      if (fitting && runs && !runs(other)) continue;
      if (other.offload_layers == 0 && other.offload_optimizer == l.offload_optimizer) min = std::min(min, needed.total());
      if (!fitting) continue;
      const auto [at, first] = least.emplace(cost_of(start, other), needed.total());
      at->second = std::min(at->second, needed.total());
    }
    CHECK(meant);
    REQUIRE(a.found == !least.empty());
    CHECK(fits(a.use, capacity, 0.05, host > 0 ? host : 1e300) == a.found);
    if (a.found) CHECK(cost_of(start, a.layout) == least.begin()->first);
    if (a.layout.recompute_layers != whole.recompute_layers) {  // no more layers are computed again than it takes
      CHECK(a.sentence.find(fmt::format("full recompute of {} of {} layers", a.layout.recompute_layers, m.layers)) != std::string::npos);
      Layout fewer = a.layout;
      fewer.recompute_layers -= l.pp;
      if (fewer.recompute_layers > 0) CHECK_FALSE(fits(worst_stage(m, fewer, s), capacity, 0.05));
      ++met["fewer layers again"];
    }
    if (whole == a.layout) CHECK(a.use.total() == Approx(a.found ? least.begin()->second : min));
    for (const Change& c : changes()) CHECK((a.sentence.find(c.words) != std::string::npos) == (c.of(a.layout) > c.of(l)));
    CHECK((a.sentence.find(fmt::format("(zero {})", a.layout.zero)) != std::string::npos) == (a.layout.zero > l.zero));
    CHECK((a.sentence.find("states on the GPU") != std::string::npos) == (a.layout.offload_optimizer < l.offload_optimizer));
    CHECK((a.sentence.find("fits as it is: ") == 0) == (a.found && a.layout == l));
    CHECK((a.sentence.find("take more GPUs") == std::string::npos) == a.found);
    CHECK(a.sentence.find(fmt::format(" of {:.1f} GiB", 0.95 * capacity / gib)) != std::string::npos);
    ++met[!a.found ? "none" : a.layout == l ? "as it is" : "found"];
    met["activations away"] += a.layout.offload_layers > 0;
    met["optimizer away"] += a.layout.offload_optimizer > l.offload_optimizer;
    met["optimizer back"] += a.layout.offload_optimizer < l.offload_optimizer;
  }
  for (const auto& [what, count] : met) {
    INFO(what << " " << count);
    CHECK(count > 3);
  }
}

TEST_CASE("recompute of some layers lies between none and all") {
  const Model m = load_model("llama3-70b");
  Layout l;
  l.global_batch = 1;
  l.sequence = 8192;
  const MemoryStack stack;
  const double none = memory_of(m, l, stack, 0).activations;
  l.recompute = Recompute::full;
  const double full = memory_of(m, l, stack, 0).activations;
  l.recompute_layers = 20;
  CHECK(memory_of(m, l, stack, 0).activations == Approx(0.25 * full + 0.75 * none));
  l.recompute_layers = 80;
  CHECK(memory_of(m, l, stack, 0).activations == Approx(full));
}

namespace {

double needed(const Model& m, const Layout& l, const MemoryStack& s) { return worst_stage(m, l, s).allocated(); }

}  // namespace

TEST_CASE("the worst stage is the worst of all stages") {
  RandomJobs jobs(5);
  int later = 0;
  for (int i = 0; i < 3000; ++i) {
    const Model m = jobs.model();
    Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    if (l.pp > 1 && jobs.pick({0, 1, 2}) == 0 && !jobs.reschedule(m, l)) continue;
    INFO("seed " << jobs.seed << " case " << i << told(m, l) << " schedule " << static_cast<int>(l.schedule));
    MemoryUse worst = memory_of(m, l, s, 0);
    for (int stage = 1; stage < l.pp; ++stage)
      if (const MemoryUse use = memory_of(m, l, s, stage); use.total() > worst.total()) worst = use;
    const MemoryUse found = worst_stage(m, l, s);
    CHECK(found.total() >= worst.total() / rounding);
    CHECK(found.total() <= worst.total());
    later += worst.stage > 0 && worst.stage < l.pp - 1;
  }
  CHECK(later > 50);  // the case is in the test
}

TEST_CASE("items are not negative and add up") {
  RandomJobs jobs(6);
  for (int i = 0; i < 1000; ++i) {
    const Model m = jobs.model();
    const Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    const MemoryUse u = memory_of(m, l, s, jobs.between(0, l.pp - 1));
    INFO("seed " << jobs.seed << " case " << i << told(m, l));
    for (const double item : {u.weights, u.gradients, u.optimizer, u.activations, u.recompute, u.vocabulary, u.buffers, u.runtime,
                              u.communicators, u.fragmentation})
      CHECK(item >= 0);
    CHECK(u.total() == Approx(u.weights + u.gradients + u.optimizer + u.activations + u.recompute + u.vocabulary + u.buffers + u.runtime +
                              u.communicators + u.fragmentation));
  }
}

TEST_CASE("sharding more never needs more") {
  RandomJobs jobs(7);
  for (int i = 0; i < 2000; ++i) {
    const Model m = jobs.model();
    Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    double before = 1e300;
    for (l.zero = 0; l.zero <= 3; ++l.zero) {
      INFO("seed " << jobs.seed << " case " << i << told(m, l));
      const double now = needed(m, l, s);
      CHECK(now <= before * rounding);
      before = now;
    }
  }
}

TEST_CASE("computing more again never needs more") {
  RandomJobs jobs(8);
  for (int i = 0; i < 2000; ++i) {
    const Model m = jobs.model();
    Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    double before = 1e300;
    for (const Recompute again : {Recompute::none, Recompute::selective, Recompute::full}) {
      l.recompute = again;
      INFO("seed " << jobs.seed << " case " << i << told(m, l));
      const double now = needed(m, l, s);
      CHECK(now <= before * rounding);
      before = now;
    }
  }
}

TEST_CASE("more tensor or expert ranks, sequence parallel, smaller microbatches never need more") {
  RandomJobs jobs(9);
  for (int i = 0; i < 2000; ++i) {
    const Model m = jobs.model();
    const Layout l = jobs.layout(m);
    const MemoryStack s = jobs.stack();
    INFO("seed " << jobs.seed << " case " << i << told(m, l));
    const double before = needed(m, l, s);
    Layout tensor = l;
    tensor.tp *= 2;
    if (is_possible(m, tensor)) CHECK(needed(m, tensor, s) <= before * rounding);
    Layout experts = l;
    experts.ep *= 2;
    if (is_possible(m, experts)) CHECK(needed(m, experts, s) <= before * rounding);
    Layout sequence = l;
    sequence.sequence_parallel = true;
    CHECK(needed(m, sequence, s) <= before * rounding);
    Layout half = l;
    half.microbatch /= 2;
    // more microbatches: a pipeline that was not full may hold more of them, not more tokens
    if (half.microbatch >= 1 && is_possible(m, half)) CHECK(needed(m, half, s) <= before * rounding);
  }
}

TEST_CASE("more stages never need more where layers divide") {
  RandomJobs jobs(10);
  int tried = 0;
  while (tried < 300) {
    Model m = jobs.model();
    // stages alike
    m.first_dense = 0;
    m.expert_every = 1;
    Layout l = jobs.layout(m);
    MemoryStack s = jobs.stack();
    s.dropout = false;  // the embedding's masks are kept for every microbatch in flight, and more stages have more in flight
    l.vp = 1;
    l.schedule = PipelineSchedule::one_f_one_b;
    Layout more = l;
    more.pp *= 2;
    if (m.layers % more.pp != 0 || !is_possible(m, more)) continue;
    if (l.pp == 1 && l.zero == 2) continue;  // with stages its gradients are no longer sharded
    ++tried;
    INFO("seed " << jobs.seed << " case " << tried << told(m, l));
    CHECK(needed(m, more, s) <= needed(m, l, s) * rounding);
  }
}
