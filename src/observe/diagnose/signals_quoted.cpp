/// Signals of figures that people wrote beside the log.

#include "diagnose/context.hpp"
#include "text/ascii.hpp"

#include <fabricost/error.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace fabricost::observe::diagnosis {

// Figures that differ in one property only are an experiment: the version, a variable, the algorithm, the
// driver. That property is the cause.

std::string shown(const Quoted& q) { return fmt::format("{} (line {})", gigabytes(q.rate), q.line.number); }

bool alike(const Quoted& a, const Quoted& b) {
  const bool one_line = a.line.number == b.line.number;  // what is stated once holds for the whole line
  const bool nodes = a.nodes == b.nodes || (one_line && (a.nodes == 0 || b.nodes == 0));
  return nodes && a.perftest == b.perftest && a.pair == b.pair && a.gpus == b.gpus && (a.bytes == b.bytes || a.bytes == 0 || b.bytes == 0);
}

namespace {

/// Calls per second or bytes per second: larger is better; 0 if neither was quoted.
double speed(const Quoted& q) { return q.rate > 0 ? q.rate : q.seconds > 0 ? 1 / q.seconds : 0; }
std::string shown_speed(const Quoted& q) {
  return q.rate > 0 ? shown(q) : fmt::format("{} (line {})", time_text(Time::from_value(q.seconds)), q.line.number);
}

std::array<int, 3> numbers_of(const std::string& version) {
  std::array<int, 3> out{};
  const char* at = version.data();
  const char* const last = at + version.size();
  for (int& part : out) {
    const auto [end, error] = std::from_chars(at, last, part);
    if (error != std::errc{}) break;
    at = end < last ? end + 1 : last;
  }
  return out;
}

/// Both name a version, without other settings.
bool of_versions(const Quoted& a, const Quoted& b) {
  return !a.version.empty() && !b.version.empty() && alike(a, b) && a.settings.empty() && b.settings.empty() && b.rate > 0;
}

std::optional<Facts> slower_version(const Context& c, const Numbers& n) {
  const Quoted *fast = nullptr, *slow = nullptr;
  double max = n["ratio"];
  const auto look = [&](auto differ) {
    for (const Quoted& a : c.quoted)
      for (const Quoted& b : c.quoted)
        if (of_versions(a, b) && a.algorithm == b.algorithm && differ(a, b) && a.rate > max * b.rate) {
          max = a.rate / b.rate;
          fast = &a;
          slow = &b;
        }
  };
  look([](const Quoted& a, const Quoted& b) { return numbers_of(a.version) < numbers_of(b.version); });
  // "2.19.3" against "2.19.3 patched"
  if (fast == nullptr) look([](const Quoted& a, const Quoted& b) { return a.version == b.version && a.label != b.label; });
  if (fast == nullptr) return std::nullopt;
  return Facts{fast->label == slow->label ? "version" : "",
               fast->version,
               shown(*fast),
               slow->version == fast->version ? "unchanged" : slow->version,
               shown(*slow),
               fmt::format("{:.3g}", max)};
}

/// One version, two topology files: the slower one describes another machine.
std::optional<Facts> another_topology(const Context& c, const Numbers& n) {
  const auto names_one = [](const Quoted& q) { return q.label.find("topo") != std::string::npos; };
  for (const Quoted& a : c.quoted)
    for (const Quoted& b : c.quoted)
      if (of_versions(a, b) && a.version == b.version && a.label != b.label && names_one(a) && names_one(b) && a.rate > n["ratio"] * b.rate)
        return Facts{a.label, shown(a), b.label, shown(b)};
  return std::nullopt;
}

std::optional<Facts> version_lost_a_path(const Context& c, const Numbers& n) {
  for (const Quoted& a : c.quoted)
    for (const Quoted& b : c.quoted)
      if (of_versions(a, b) && numbers_of(a.version) < numbers_of(b.version) && a.rate > n["ratio"] * b.rate)
        return Facts{a.version, shown(a), b.version, shown(b), fmt::format("{:.3g}", a.rate / b.rate)};
  return std::nullopt;
}

std::optional<Facts> setting_that_helps(const Context& c, const Numbers& n) {
  for (const Quoted& with : c.quoted) {
    if (with.settings.empty() || speed(with) <= 0 || with.perftest) continue;
    for (const auto& [name, value] : with.settings) {
      const auto known = std::find_if(c.rules->helps.begin(), c.rules->helps.end(), [&, &name = name, &value = value](const Help& one) {
        return one.variable == name && one.value.fits(value);
      });
      if (known == c.rules->helps.end()) continue;
      const Quoted* worst = nullptr;
      for (const Quoted& without : c.quoted) {
        const bool other_value =
            without.settings.size() == 1 && without.settings.front().first == name && without.settings.front().second != value;
        if ((!without.settings.empty() && !other_value) || without.perftest || speed(without) <= 0 || !alike(with, without)) continue;
        if ((with.rate > 0) != (without.rate > 0)) continue;
        if (!with.version.empty() && !without.version.empty() && with.version != without.version) continue;
        if (speed(with) > n["ratio"] * speed(without) && (worst == nullptr || speed(without) < speed(*worst))) worst = &without;
      }
      if (worst != nullptr)
        return Facts{std::string{fabricost::observe::name(known->cause)}, name, value, shown_speed(with), shown_speed(*worst)};
    }
  }
  return std::nullopt;
}

/// Same operation, two algorithms: the default is the slower one.
std::optional<Facts> default_is_slower(const Context& c, const Numbers& n) {
  for (const Quoted& a : c.quoted)
    for (const Quoted& b : c.quoted) {
      if (a.algorithm.empty() || b.algorithm.empty() || a.algorithm == b.algorithm || a.rate <= 0 || b.rate <= 0) continue;
      if (!(a.by_default && !b.by_default) || !alike(a, b) || b.rate <= n["ratio"] * a.rate) continue;
      return Facts{a.algorithm, shown(a), b.algorithm, shown(b), fmt::format("{:.3g}", b.rate / a.rate)};
    }
  return std::nullopt;
}

/// 33554432: TREE LL128 127, RING LL128 156.
std::optional<Facts> algorithms_differ(const Context& c, const Numbers& n) {
  std::map<double, std::pair<const Quoted*, const Quoted*>> extremes;
  for (const Quoted& q : c.quoted) {
    if (q.bytes <= 0 || q.rate <= 0 || q.algorithm.empty()) continue;
    auto& [min, max] = extremes[q.bytes];
    if (min == nullptr || q.rate < min->rate) min = &q;
    if (max == nullptr || q.rate > max->rate) max = &q;
  }
  for (const auto& [bytes, pair] : extremes) {
    const auto& [min, max] = pair;
    if (min->label != max->label || max->rate < n["ratio"] * min->rate) continue;
    if (min->algorithm == max->algorithm && min->protocol == max->protocol) continue;
    const auto chosen = [](const Quoted& q) { return fmt::format("{} {}", q.algorithm, q.protocol); };
    return Facts{size_text(Bytes::from_value(bytes)), chosen(*min), shown(*min), chosen(*max), shown(*max)};
  }
  return std::nullopt;
}

/// Tree or in-switch reduction above a ring's result: their bus bandwidth is not the rate of a wire.
std::optional<Facts> beyond_the_ring(const Context& c, bool in_switch) {
  const Numbers& n = c.numbers("ring_beside_others");
  const Quoted *ring = nullptr, *other = nullptr;
  for (const Quoted& q : c.quoted) {
    if (q.rate <= 0) continue;
    if (q.algorithm == "ring" && (ring == nullptr || q.rate > ring->rate) && !q.by_default) ring = &q;
    const bool better =
        q.algorithm == "tree" || q.algorithm == "nvls" || q.algorithm == "nvlstree" || (q.algorithm.empty() && q.by_default);
    if (better && (other == nullptr || q.rate > other->rate)) other = &q;
  }
  if (ring == nullptr || other == nullptr || other->rate < n["least"] * ring->rate || other->rate > n["most"] * ring->rate)
    return std::nullopt;
  if (other->algorithm.starts_with("nvls") != in_switch) return std::nullopt;
  return Facts{shown(*ring), other->algorithm.empty() ? "the default" : other->algorithm, shown(*other)};
}
std::optional<Facts> switch_beyond_the_ring(const Context& c, const Numbers&) { return beyond_the_ring(c, true); }
std::optional<Facts> tree_beyond_the_ring(const Context& c, const Numbers&) { return beyond_the_ring(c, false); }

std::optional<Facts> another_driver(const Context& c, const Numbers& n) {
  for (const Quoted& a : c.quoted)
    for (const Quoted& b : c.quoted)
      if (!a.driver.empty() && !b.driver.empty() && a.driver != b.driver && alike(a, b) && b.rate > 0 && a.rate > n["ratio"] * b.rate)
        return Facts{a.driver, shown(a), b.driver, shown(b)};
  return std::nullopt;
}

/// A figure quoted without a table equals the machine's prediction.
std::optional<Facts> as_predicted(const Context& c, const Numbers& n) {
  if (!c.system || !c.curve.empty() || c.nodes() > 1) return std::nullopt;
  const Quoted* best = nullptr;
  for (const Quoted& q : c.quoted)
    if (q.rate > 0 && !q.perftest && q.nodes <= 1 && q.settings.empty() && q.pair.first.empty() && (best == nullptr || q.rate > best->rate))
      best = &q;
  if (best == nullptr) return std::nullopt;
  const Operation op = AllReduce{.bytes = Bytes::from_value(n["size"]), .ranks = c.system->gpus_per_node, .dtype = DataType::single};
  Prediction p;
  try {
    p = predict(*c.system, op);
  } catch (const RequestError&) {
    return std::nullopt;
  }
  const double factor = p.high / p.seconds, given = p.bus_bandwidth().value();
  if (best->rate < given / factor / n["near"] || best->rate > given * factor * n["near"]) return std::nullopt;
  return Facts{shown(*best), c.system->name, size_text(op.bytes), gigabytes(given),
               fmt::format("{} {}", p.algorithm.view(), p.protocol.view())};
}

// Figures that differ in where they were measured: the pair of nodes, their number, above or below a leaf,
// the wire without NCCL, one GPU or adapter against the others; and calls that differ among themselves.

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
  std::map<std::string, std::vector<const Quoted*>> kinds;  // by the words beside their numbers
  for (const Quoted& q : c.quoted) {
    std::string kind = q.label;
    std::erase_if(kind, is_digit);
    if (q.seconds > 0) kinds[kind].push_back(&q);
  }
  for (auto& [kind, sorted] : kinds) {
    if (sorted.size() < 4) continue;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Quoted* a, const Quoted* b) { return a->seconds < b->seconds; });
    const double usual = sorted[(sorted.size() - 1) / 2]->seconds, longest = sorted.back()->seconds;
    if (longest < n["ratio"] * usual || longest < n["time"]) continue;
    return Facts{fmt::format("{}", sorted.back()->line.number), time_text(Time::from_value(longest)), time_text(Time::from_value(usual))};
  }
  return std::nullopt;
}

}  // namespace

std::span<const Signal> quoted_signals() {
  static const std::vector<Signal> all{
      {"slower_version", slower_version, {"word", "fast", "more", "slow", "less", "ratio"}, {{"ratio"}}},
      {"another_topology", another_topology, {"fast", "more", "slow", "less"}, {{"ratio"}}},
      {"version_lost_a_path", version_lost_a_path, {"fast", "more", "slow", "less", "ratio"}, {{"ratio"}}},
      {"setting_that_helps", setting_that_helps, {"cause", "variable", "value", "with", "without"}, {{"ratio"}}},
      {"default_is_slower", default_is_slower, {"slow", "less", "fast", "more", "ratio"}, {{"ratio"}}},
      {"algorithms_differ", algorithms_differ, {"size", "slow", "less", "fast", "more"}, {{"ratio"}}},
      {"ring_beside_others", nullptr, {}, {{"least"}, {"most"}}},
      {"switch_beyond_the_ring", switch_beyond_the_ring, {"less", "other", "more"}},
      {"tree_beyond_the_ring", tree_beyond_the_ring, {"less", "other", "more"}},
      {"another_driver", another_driver, {"fast", "more", "slow", "less"}, {{"ratio"}}},
      {"as_predicted", as_predicted, {"shown", "system", "size", "given", "chosen"}, {{"size", QuantityKind::size}, {"near"}}},
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
