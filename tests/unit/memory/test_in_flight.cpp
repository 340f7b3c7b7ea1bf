#include <fabricost/plan/memory/memory.hpp>

#include <catch.hpp>

#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <vector>

using namespace fabricost::plan;

namespace {

/// One thing a stage does: forward, backward (input gradient) or weight gradient of a chunk of a microbatch.
struct Work {
  char kind;
  int microbatch, chunk;
};

/// The orders of the published schedules, written down as their papers tell them.
std::vector<Work> gpipe(int, int, int, int m) {
  std::vector<Work> out;
  for (int i = 0; i < m; ++i) out.push_back({'F', i, 0});
  for (int i = 0; i < m; ++i) out.push_back({'B', i, 0});
  return out;
}

std::vector<Work> one_f_one_b(int s, int p, int, int m) {
  std::vector<Work> out;
  int forward = 0, backward = 0;
  while (forward < std::min(m, p - s - 1)) out.push_back({'F', forward++, 0});
  while (backward < m) {
    if (forward < m) out.push_back({'F', forward++, 0});
    out.push_back({'B', backward++, 0});
  }
  return out;
}

/// Megatron: groups of p microbatches go through chunk 0, then chunk 1, ...; backward through the chunks from the last.
std::vector<Work> interleaved(int s, int p, int v, int m) {
  const auto at = [&](int k, bool forward) {
    const int chunk = k / p % v;
    return Work{forward ? 'F' : 'B', k / (p * v) * p + k % p, forward ? chunk : v - 1 - chunk};
  };
  std::vector<Work> out;
  int forward = 0, backward = 0;
  while (forward < std::min(m * v, (p - s - 1) * 2 + (v - 1) * p)) out.push_back(at(forward++, true));
  while (backward < m * v) {
    if (forward < m * v) out.push_back(at(forward++, true));
    out.push_back(at(backward++, false));
  }
  return out;
}

/// Zero Bubble, H1: 1F1B whose stage s puts each weight gradient off by s microbatches; H2: more warm-up, put off by 2 s.
std::vector<Work> zero_bubble(int s, int p, int m, int warm_up, int late) {
  std::vector<Work> out;
  int forward = 0, backward = 0, weight = 0;
  (void)p, (void)s;
  while (forward < std::min(m, warm_up)) out.push_back({'F', forward++, 0});
  while (backward < m) {
    if (forward < m) out.push_back({'F', forward++, 0});
    out.push_back({'B', backward++, 0});
    if (backward - weight > late) out.push_back({'W', weight++, 0});
  }
  while (weight < m) out.push_back({'W', weight++, 0});
  return out;
}

/// Runs the orders of all stages: a thing is done when what it waits for is. \return the most live activations of each stage, in
/// microbatches of all its chunks; empty when the stages wait for each other for ever.
std::vector<double> run(const std::vector<std::vector<Work>>& orders, int v, bool split_weight) {
  const int p = static_cast<int>(orders.size());
  std::set<std::tuple<char, int, int>> done;  // kind, microbatch, place in the order of layers
  std::vector<std::size_t> next(orders.size());
  std::vector<int> live(orders.size()), max(orders.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < orders.size(); ++s) {
      while (next[s] < orders[s].size()) {
        const Work w = orders[s][next[s]];
        const int place = w.chunk * p + static_cast<int>(s);
        const bool ready = w.kind == 'F'   ? place == 0 || done.count({'F', w.microbatch, place - 1}) > 0
                           : w.kind == 'B' ? done.count({'F', w.microbatch, place}) > 0 &&
                                                 (place == p * v - 1 || done.count({'B', w.microbatch, place + 1}) > 0)
                                           : done.count({'B', w.microbatch, place}) > 0;
        if (!ready) break;
        done.insert({w.kind, w.microbatch, place});
        if (w.kind == 'F') max[s] = std::max(max[s], ++live[s]);
        if (w.kind == (split_weight ? 'W' : 'B')) --live[s];
        ++next[s];
        moved = true;
      }
    }
  }
  std::vector<double> out;
  for (std::size_t s = 0; s < orders.size(); ++s) {
    if (next[s] < orders[s].size() || live[s] != 0) return {};
    out.push_back(static_cast<double>(max[s]) / v);
  }
  return out;
}

Layout layout(PipelineSchedule schedule, int p, int v, int m) {
  Layout l;
  l.pp = p;
  l.vp = v;
  l.global_batch = m;
  l.schedule = schedule;
  return l;
}

}  // namespace

TEST_CASE("microbatches in flight are those counted while the schedule runs") {
  for (const int p : {2, 3, 4, 8})
    for (const int m : {1, 2, 3, 4, 8, 16, 24}) {
      for (const auto& [schedule, order] :
           {std::pair{PipelineSchedule::gpipe, &gpipe}, std::pair{PipelineSchedule::one_f_one_b, &one_f_one_b}}) {
        std::vector<std::vector<Work>> orders;
        for (int s = 0; s < p; ++s) orders.push_back(order(s, p, 1, m));
        const auto max = run(orders, 1, false);
        REQUIRE(max.size() == static_cast<std::size_t>(p));
        for (int s = 0; s < p; ++s) {
          INFO("p " << p << " m " << m << " stage " << s << " schedule " << static_cast<int>(schedule));
          CHECK(microbatches_in_flight(layout(schedule, p, 1, m), s) == max[static_cast<std::size_t>(s)]);
        }
      }
      if (m % p != 0) continue;
      for (const int v : {2, 3, 4}) {
        std::vector<std::vector<Work>> orders;
        for (int s = 0; s < p; ++s) orders.push_back(interleaved(s, p, v, m));
        const auto max = run(orders, v, false);
        REQUIRE(max.size() == static_cast<std::size_t>(p));
        for (int s = 0; s < p; ++s) {
          INFO("p " << p << " v " << v << " m " << m << " stage " << s);
          CHECK(microbatches_in_flight(layout(PipelineSchedule::interleaved, p, v, m), s) ==
                Approx(max[static_cast<std::size_t>(s)]).epsilon(1e-14));
        }
      }
    }
}

TEST_CASE("zero bubble keeps as much on every stage as 1F1B on its first, or twice that") {
  for (const int p : {2, 4, 8})
    for (const int m : {p, 2 * p, 4 * p}) {
      std::vector<std::vector<Work>> h1, h2;
      for (int s = 0; s < p; ++s) {
        h1.push_back(zero_bubble(s, p, m, p - s - 1, s));
        h2.push_back(zero_bubble(s, p, m, 2 * (p - s) - 2, 2 * s));
      }
      const auto most1 = run(h1, 1, true), most2 = run(h2, 1, true);
      REQUIRE(most1.size() == static_cast<std::size_t>(p));
      REQUIRE(most2.size() == static_cast<std::size_t>(p));
      for (int s = 0; s < p; ++s) {
        INFO("p " << p << " m " << m << " stage " << s);
        CHECK(microbatches_in_flight(layout(PipelineSchedule::zb_h1, p, 1, m), s) == most1[static_cast<std::size_t>(s)]);
        CHECK(microbatches_in_flight(layout(PipelineSchedule::zb_h2, p, 1, m), s) == most2[static_cast<std::size_t>(s)]);
      }
    }
}

TEST_CASE("the first stage of an interleaved pipeline holds p (1 + (p-1)/(p v)) microbatches") {
  CHECK(microbatches_in_flight(layout(PipelineSchedule::interleaved, 8, 3, 64), 0) == Approx(8 * (1 + 7.0 / 24)));
  CHECK(microbatches_in_flight(layout(PipelineSchedule::one_f_one_b, 1, 1, 64), 0) == 1);
}
