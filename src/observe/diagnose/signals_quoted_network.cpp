/// \file signals_quoted_network.cpp
/// Figures that differ in where they were measured: the pair of nodes, their number, above or below a leaf,
/// the wire without NCCL, one GPU or adapter against the others; and calls that differ among themselves.

#include "diagnose/context.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace fabricost::observe::diagnosis {

namespace {

/// Below one leaf against across leaves: the difference is the upper part of the network.
std::optional<Facts> slower_across_leaves(const Context& c, const Numbers& n) {
  for (const Quoted& a : c.quoted)
    for (const Quoted& b : c.quoted)
      if (a.near && b.far && alike(a, b) && b.rate > 0 && a.rate > n["ratio"] * b.rate) return Facts{a.label, shown(a), b.label, shown(b)};
  return std::nullopt;
}

/// The run takes several times as long as others at the same scale: the setting it differs in does not explain that.
std::optional<Facts> slower_than_siblings(const Context& c, const Numbers& n) {
  for (const Quoted& a : c.quoted)
    for (const Quoted& b : c.quoted)
      if (a.this_run && b.sibling && a.line.number == b.line.number && b.seconds > 0 && a.seconds > n["ratio"] * b.seconds)
        return Facts{cited(a.line), fmt::format("{:.2g}", a.seconds / b.seconds)};
  return std::nullopt;
}

std::optional<Facts> better_without_one(const Context& c, const Numbers& n) {
  for (const Quoted& a : c.quoted)
    for (const Quoted& b : c.quoted)
      if (!a.left_out.empty() && b.left_out.empty() && b.rate > 0 && a.rate > n["ratio"] * b.rate && a.settings == b.settings)
        return Facts{a.left_out, shown(a), shown(b)};
  return std::nullopt;
}

/// Pairs of nodes, some of which are slow.
struct Pairs {
  std::string figures;  ///< of the slowest and the fastest; empty: no difference
  int slow = 0;
  std::pair<std::string, int> suspect;  ///< in most slow pairs
  bool in_fast = false;                 ///< also in a fast one

  explicit Pairs(const Context& c) {
    const double ratio = c.numbers("pairs_of_nodes")["ratio"];
    std::vector<const Quoted*> pairs;
    for (const Quoted& q : c.quoted)
      if (!q.pair.first.empty() && q.rate > 0 && !q.perftest) pairs.push_back(&q);
    if (pairs.size() < 2) return;
    const auto [min, max] =
        std::minmax_element(pairs.begin(), pairs.end(), [](const Quoted* a, const Quoted* b) { return a->rate < b->rate; });
    if ((*max)->rate < ratio * (*min)->rate) return;
    const double middle = std::sqrt((*max)->rate * (*min)->rate);
    std::map<std::string, int> in_slow, in_fast_pairs;
    for (const Quoted* q : pairs) {
      auto& where = q->rate < middle ? in_slow : in_fast_pairs;
      slow += q->rate < middle ? 1 : 0;
      ++where[q->pair.first];
      ++where[q->pair.second];
    }
    if (in_slow.empty()) return;
    suspect = *std::max_element(in_slow.begin(), in_slow.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    in_fast = in_fast_pairs.contains(suspect.first);
    figures = fmt::format("{},{} {}, {},{} {}", (*min)->pair.first, (*min)->pair.second, shown(**min), (*max)->pair.first,
                          (*max)->pair.second, shown(**max));
  }
};

std::optional<Facts> pairs_of_nodes_differ(const Context& c, const Numbers&) {
  const Pairs pairs(c);
  return pairs.figures.empty() ? std::nullopt : std::optional{Facts{pairs.figures}};
}
std::optional<Facts> suspect_node(const Context& c, const Numbers&) {
  const Pairs pairs(c);
  if (pairs.figures.empty() || pairs.slow < 2 || pairs.suspect.second < 2 || pairs.in_fast) return std::nullopt;
  return Facts{pairs.suspect.first, fmt::format("{}", pairs.suspect.second), fmt::format("{}", pairs.slow), pairs.figures};
}

/// Rates by number of nodes from two on, the last figure of each; empty unless the last is clearly lower.
std::map<int, const Quoted*> falling(const Context& c) {
  std::map<int, const Quoted*> by_nodes;
  for (const Quoted& q : c.quoted)
    if (q.nodes > 1 && q.rate > 0 && !q.perftest && q.settings.empty()) by_nodes[q.nodes] = &q;
  if (by_nodes.size() < 2 || by_nodes.rbegin()->second->rate > c.numbers("rates_over_nodes")["share"] * by_nodes.begin()->second->rate)
    by_nodes.clear();
  return by_nodes;
}
std::optional<Facts> falls_beyond_two_nodes(const Context& c, const Numbers& n) {
  const auto by_nodes = falling(c);
  if (by_nodes.size() < 3) return std::nullopt;
  const Quoted *two = by_nodes.begin()->second, *third = std::next(by_nodes.begin())->second, *last = by_nodes.rbegin()->second;
  if (last->rate >= n["again"] * third->rate) return std::nullopt;
  return Facts{fmt::format("{}", two->nodes),  shown(*two), fmt::format("{}", third->nodes), shown(*third),
               fmt::format("{}", last->nodes), shown(*last)};
}
std::optional<Facts> falls_from_two_nodes(const Context& c, const Numbers& n) {
  const auto by_nodes = falling(c);
  if (by_nodes.empty()) return std::nullopt;
  const Quoted *two = by_nodes.begin()->second, *last = by_nodes.rbegin()->second;
  if (two->nodes != 2 || last->rate < n["least"] * two->rate) return std::nullopt;
  return Facts{shown(*two), fmt::format("{}", last->nodes), shown(*last)};
}

/// The wire reaches its rate, NCCL does not.
std::optional<Facts> wire_faster_than_library(const Context& c, const Numbers& n) {
  double one = 0, all = 0, library = 0;
  int nodes = 0;
  std::string where;
  for (const Quoted& q : c.quoted) {
    if (q.rate <= 0) continue;
    if (q.perftest && !q.whole) one = std::max(one, q.rate);
    if (q.whole) all = std::max(all, q.rate);
    if (!q.perftest && !q.whole && q.nodes != 1 && q.rate > 0 && (library == 0 || q.nodes > 1)) {
      library = q.rate;
      nodes = q.nodes;
      where = shown(q);
    }
  }
  const double wire = std::max(all, one);
  if (wire <= 0 || library <= 0 || library > n["share"] * wire) return std::nullopt;
  return Facts{fmt::format("the adapters alone carry {}, NCCL moves {} of it, {:.0f} %{}", gigabytes(wire), where, 100 * library / wire,
                           nodes > 0 ? fmt::format(" on {} nodes", nodes) : std::string{})};
}

std::optional<Facts> one_gpu_slower(const Context& c, const Numbers& n) {
  const Quoted *min = nullptr, *max = nullptr;
  for (const Quoted& q : c.quoted) {
    if (q.gpus.empty() || q.rate <= 0) continue;
    if (min == nullptr || q.rate < min->rate) min = &q;
    if (max == nullptr || q.rate > max->rate) max = &q;
  }
  if (min == nullptr || max->rate < n["ratio"] * min->rate) return std::nullopt;
  const auto between = [](const Quoted& q) { return fmt::format("{}-{}", q.gpus[0], q.gpus[1]); };
  return Facts{between(*min), shown(*min), between(*max), shown(*max)};
}

/// One adapter alone, and all of them: their ratio should be a whole number.
std::optional<Facts> adapters_lose_together(const Context& c, const Numbers& n) {
  const Quoted *one = nullptr, *all = nullptr;
  for (const Quoted& q : c.quoted) {
    if (q.rate <= 0 || q.nodes < 2) continue;
    const bool alone = std::any_of(q.settings.begin(), q.settings.end(),
                                   [](const auto& s) { return s.first == "NCCL_IB_HCA" && s.second.find(',') == std::string::npos; });
    if (alone) one = &q;
    if (q.settings.empty()) all = &q;
  }
  if (one == nullptr || all == nullptr || all->rate < n["ratio"] * one->rate) return std::nullopt;
  const double times = all->rate / one->rate, whole = std::ceil(times - n["over"]);
  if (times > n["share"] * whole) return std::nullopt;
  return Facts{shown(*one), shown(*all), fmt::format("{:.3g}", times), fmt::format("{:.0f}", whole), gigabytes(whole * one->rate)};
}

/// Equal calls, most of them with equal times, a few a hundred times longer: a timeout somewhere.
std::optional<Facts> rare_stalls(const Context& c, const Numbers& n) {
  std::vector<const Quoted*> sorted;
  for (const Quoted& q : c.quoted)
    if (q.seconds > 0) sorted.push_back(&q);
  if (sorted.size() < 4) return std::nullopt;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Quoted* a, const Quoted* b) { return a->seconds < b->seconds; });
  const double usual = sorted[(sorted.size() - 1) / 2]->seconds, longest = sorted.back()->seconds;
  if (longest < n["ratio"] * usual || longest < n["time"]) return std::nullopt;
  return Facts{fmt::format("{}", sorted.back()->line.number), time_text(Time::from_value(longest)), time_text(Time::from_value(usual))};
}

}  // namespace

std::span<const Signal> quoted_network_signals() {
  static const std::vector<Signal> all{
      {"slower_across_leaves", slower_across_leaves, {"near", "more", "far", "less"}, {{"ratio"}}},
      {"slower_than_siblings", slower_than_siblings, {"line", "ratio"}, {{"ratio"}}},
      {"better_without_one", better_without_one, {"node", "more", "less"}, {{"ratio"}}},
      {"pairs_of_nodes", nullptr, {}, {{"ratio"}}},
      {"pairs_of_nodes_differ", pairs_of_nodes_differ, {"figures"}},
      {"suspect_node", suspect_node, {"node", "among", "slow", "figures"}},
      {"rates_over_nodes", nullptr, {}, {{"share"}}},
      {"falls_beyond_two_nodes", falls_beyond_two_nodes, {"nodes", "two", "third_nodes", "third", "last_nodes", "last"}, {{"again"}}},
      {"falls_from_two_nodes", falls_from_two_nodes, {"two", "last_nodes", "last"}, {{"least"}}},
      {"wire_faster_than_library", wire_faster_than_library, {"figures"}, {{"share"}}},
      {"one_gpu_slower", one_gpu_slower, {"slow", "less", "fast", "more"}, {{"ratio"}}},
      {"adapters_lose_together", adapters_lose_together, {"one", "all", "times", "whole", "rate"}, {{"ratio"}, {"over"}, {"share"}}},
      {"rare_stalls", rare_stalls, {"line", "longest", "usual"}, {{"ratio"}, {"time", QuantityKind::time}}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
