/// Rates between pairs of GPUs, of the host and GPUs, and of adapters, each beside its siblings.

#include "diagnose/context.hpp"
#include "text/quantile.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::observe::diagnosis {

namespace {

/// Whether most values are near the median: then a lower one is a fault, not another kind of path.
bool agree(const std::vector<double>& values, double middle, const Numbers& n) {
  const auto near =
      std::count_if(values.begin(), values.end(), [&](double v) { return v >= n["near"] * middle && n["near"] * v <= middle; });
  return static_cast<double>(near) >= n["most"] * static_cast<double>(values.size());
}

/// The GPU or pair in a matrix that is far below the others. A GPU counts by its best rate with any other: a GPU whose best rate is far
/// below the others' has a slow link of its own, wherever it is attached.
struct Odd {
  std::pair<int, int> ends{-1, -1};
  double rate = 0, others = 0;
  const PairMatrix* matrix = nullptr;
};

std::optional<Odd> odd_in(const PairMatrix& one, bool pairs, const Numbers& n) {
  std::map<std::pair<int, int>, double> rates;
  for (const auto& [pair, rate] : one.cells)
    if (pairs)
      rates[pair] = rate;
    else
      for (const int gpu : {pair.first, pair.second})
        if (gpu >= 0) rates[{gpu, gpu}] = std::max(rates[{gpu, gpu}], rate);
  std::vector<double> values;
  for (const auto& [ends, rate] : rates) values.push_back(rate);
  if (values.empty() || static_cast<double>(values.size()) < n["siblings"]) return std::nullopt;
  const double middle = lower_median(values);
  const auto least = std::min_element(rates.begin(), rates.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (least->second >= n["share"] * middle || !agree(values, middle, n)) return std::nullopt;
  return Odd{least->first, least->second, middle, &one};
}

/// The same GPU, or pair, is odd in at least half of the matrices of its kind: a dip in one test is none of the link's.
/// \param pcie the rate above which its siblings have other links; 0: whatever they have
std::optional<Facts> odd_one(const Context& c, bool pairs, const Numbers& n, double pcie = 0) {
  for (const bool of_host : {false, true}) {
    std::vector<Odd> found;
    std::size_t of = 0;
    for (const PairMatrix& one : c.pairs.matrices) {
      if (one.latency || one.disabled || one.of_host() != of_host || (pairs && of_host)) continue;
      ++of;
      if (const auto odd = odd_in(one, pairs, n)) found.push_back(*odd);
    }
    if (found.empty()) continue;
    const Odd& first = found.front();
    if (pcie > 0 && (of_host || first.others <= (first.matrix->both ? 2 : 1) * pcie)) continue;
    const auto alike =
        static_cast<std::size_t>(std::count_if(found.begin(), found.end(), [&](const Odd& one) { return one.ends == first.ends; }));
    if (2 * alike < of) continue;
    const auto line = first.matrix->lines.find(of_host ? 0 : first.ends.first);
    const auto [from, to] = first.ends;
    return Facts{line == first.matrix->lines.end() ? first.matrix->title : cited(line->second),
                 pairs ? fmt::format("{} and {}", from, to) : fmt::format("{}", from), fmt::format("{:.4g}", first.rate),
                 fmt::format("{:.4g}", first.others)};
  }
  return std::nullopt;
}
std::optional<Facts> gpu_slower_than_its_siblings(const Context& c, const Numbers& n) { return odd_one(c, false, n); }
std::optional<Facts> gpu_slower_than_nvlink(const Context& c, const Numbers& n) { return odd_one(c, false, n, n["pcie"]); }
std::optional<Facts> pair_slower_than_its_siblings(const Context& c, const Numbers& n) { return odd_one(c, true, n); }

/// The same test with P2P and without, pair by pair: how often the direct way is clearly the worse one, and by how much.
std::optional<Facts> direct_is_worse(const Context& c, bool latency, double factor) {
  for (const PairMatrix& with : c.pairs.matrices)
    for (const PairMatrix& without : c.pairs.matrices) {
      if (with.latency != latency || without.latency != latency || with.disabled || !without.disabled || with.both != without.both)
        continue;
      int pairs = 0, worse = 0;
      const std::pair<const std::pair<int, int>, double>* example = nullptr;
      double there = 0, most = 1;
      for (const auto& cell : with.cells) {
        const auto other = without.cells.find(cell.first);
        if (other == without.cells.end()) continue;
        ++pairs;
        const double ratio = latency ? cell.second / other->second : other->second / cell.second;
        if (ratio < factor) continue;
        ++worse;
        if (ratio > most) {
          most = ratio;
          example = &cell;
          there = other->second;
        }
      }
      if (example == nullptr || 2 * worse < pairs) continue;
      const auto line = with.lines.find(example->first.first);
      return Facts{line == with.lines.end() ? with.title : cited(line->second),
                   fmt::format("{} and {}", example->first.first, example->first.second), fmt::format("{:.4g}", example->second),
                   fmt::format("{:.4g}", there)};
    }
  return std::nullopt;
}
std::optional<Facts> p2p_below_staged(const Context& c, const Numbers& n) { return direct_is_worse(c, false, n["factor"]); }
std::optional<Facts> p2p_late(const Context& c, const Numbers& n) { return direct_is_worse(c, true, n["factor"]); }

/// GPUs exchange less, each way and with P2P on, than a PCIe slot of few lanes carries: the median over the pairs of a matrix.
std::optional<Facts> pairs_below_a_slot(const Context& c, const Numbers& n) {
  for (const PairMatrix& one : c.pairs.matrices) {
    if (one.latency || one.disabled || one.of_host() || one.cells.empty()) continue;
    std::vector<double> each_way;
    for (const auto& [pair, rate] : one.cells)
      if (pair.first != pair.second) each_way.push_back(one.both ? rate / 2 : rate);
    if (each_way.empty()) continue;
    const double middle = lower_median(each_way);
    if (middle >= n["rate"]) continue;
    const auto line = one.lines.begin();
    return Facts{line == one.lines.end() ? one.title : cited(line->second), fmt::format("{:.3g}", middle)};
  }
  return std::nullopt;
}

/// No GPU may reach another, and the boards are of a kind whose driver allows it.
std::optional<Facts> no_peer_access(const Context& c, const Numbers&) {
  const PairRates& all = c.pairs;
  const bool by_design = std::any_of(all.gpus.begin(), all.gpus.end(), [](const std::string& name) {
    return name.find("GeForce") != std::string::npos || name.find("TITAN") != std::string::npos;
  });
  if (all.refused == 0 || all.granted > 0 || by_design || all.gpus.empty()) return std::nullopt;
  return Facts{cited(all.refused_line), fmt::format("{}", all.refused)};
}

/// Tables of perftest of one job: an adapter, or a file, far below the others.
std::optional<Facts> wire_slower_than_its_siblings(const Context& c, const Numbers& n) {
  std::vector<double> values;
  const WireRate* odd = nullptr;
  for (const WireRate& one : c.pairs.wires) {
    if (one.gigabits <= 0) continue;
    values.push_back(one.gigabits);
    if (odd == nullptr || one.gigabits < odd->gigabits) odd = &one;
  }
  if (odd == nullptr || static_cast<double>(values.size()) < n["siblings"]) return std::nullopt;
  const double middle = lower_median(values);
  if (odd->gigabits >= n["share"] * middle || !agree(values, middle, n)) return std::nullopt;
  return Facts{cited(odd->line), odd->adapter.empty() ? "one" : odd->adapter, fmt::format("{:.4g}", odd->gigabits),
               fmt::format("{:.4g}", middle)};
}

/// perftest below the rate at which its port says that it runs.
std::optional<Facts> wire_below_its_port(const Context& c, const Numbers& n) {
  const WireRate* best = nullptr;
  for (const WireRate& one : c.pairs.wires)
    if (best == nullptr || one.gigabits > best->gigabits) best = &one;
  const double port = c.info.fastest_port;
  if (best == nullptr || best->gigabits <= 0 || port <= 0 || c.info.slowest_port < port || best->gigabits >= n["share"] * port)
    return std::nullopt;
  return Facts{cited(best->line), best->adapter.empty() ? "perftest" : best->adapter, fmt::format("{:.4g}", best->gigabits),
               fmt::format("{:.4g}", port)};
}

/// One stream of messages of ucx_perftest, whose seconds differ: between the quartiles, as one stall proves nothing.
std::optional<Facts> stream_unsteady(const Context& c, const Numbers& n) {
  for (const WindowRates& one : c.pairs.streams) {
    if (static_cast<double>(one.windows.size()) < n["windows"]) continue;
    std::vector<double> sorted = one.windows;
    std::sort(sorted.begin(), sorted.end());
    const double low = sorted[sorted.size() / 4], high = sorted[sorted.size() - 1 - sorted.size() / 4];
    if (low < n["share"] * high) return Facts{cited(one.line), fmt::format("{:.0f}", low), fmt::format("{:.0f}", high)};
  }
  return std::nullopt;
}

}  // namespace

std::span<const Signal> pair_signals() {
  const std::vector<Threshold> siblings{{"siblings"}, {"share"}, {"near"}, {"most"}};
  static const std::vector<Signal> all{
      {"gpu_slower_than_nvlink",
       gpu_slower_than_nvlink,
       {"line", "gpu", "rate", "others"},
       {{"siblings"}, {"share"}, {"near"}, {"most"}, {"pcie"}}},
      {"gpu_slower_than_its_siblings", gpu_slower_than_its_siblings, {"line", "gpu", "rate", "others"}, siblings},
      {"pair_slower_than_its_siblings", pair_slower_than_its_siblings, {"line", "pair", "rate", "others"}, siblings},
      {"pairs_below_a_slot", pairs_below_a_slot, {"line", "rate"}, {{"rate"}}},
      {"p2p_below_staged", p2p_below_staged, {"line", "pair", "rate", "staged"}, {{"factor"}}},
      {"p2p_late", p2p_late, {"line", "pair", "time", "staged"}, {{"factor"}}},
      {"no_peer_access", no_peer_access, {"line", "pairs"}},
      {"wire_slower_than_its_siblings", wire_slower_than_its_siblings, {"line", "adapter", "rate", "others"}, siblings},
      {"wire_below_its_port", wire_below_its_port, {"line", "adapter", "rate", "port"}, {{"share"}}},
      {"stream_unsteady", stream_unsteady, {"line", "low", "high"}, {{"windows"}, {"share"}}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
