/// When a table counts as slow: defined in data/diagnosis/comparison.yaml; `judgement` holds its numbers.
/// All-to-all at small sizes, a launch to every peer, is not judged.

#include "diagnose/context.hpp"

#include <fabricost/collective.hpp>
#include <fabricost/error.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace fabricost::observe::diagnosis {

namespace {

double beyond(const DiagnosedSize& one) { return one.measured / one.high; }
double below(const DiagnosedSize& one) { return one.measured / one.low; }

double times_predicted(const DiagnosedSize& one) { return one.measured / one.predicted; }

double median_of(std::vector<const DiagnosedSize*>& sizes, double (*what)(const DiagnosedSize&)) {
  std::stable_sort(sizes.begin(), sizes.end(),
                   [&](const DiagnosedSize* a, const DiagnosedSize* b) { return what(*a) < what(*b); });
  return what(*sizes[(sizes.size() - 1) / 2]);
}
double median_beyond(std::vector<const DiagnosedSize*>& sizes) { return median_of(sizes, beyond); }

/// NCCL's send and receive move 16 bytes at a time if both ends are aligned; unaligned parts take a path that
/// is many times slower, because of the size and not of the machine.
bool misaligned(const DiagnosedSize& one) {
  if (one.collective != Collective::all_to_all || one.ranks < 2) return false;
  const auto part = static_cast<long long>(one.bytes.value()) / one.ranks;
  return part % 16 != 0;
}

Judged judge_one(const std::vector<const DiagnosedSize*>& sizes, bool guessed, const Numbers& n) {
  const double allowed = n[guessed ? "margin_of_guess" : "margin"];
  Judged out;
  double top = 0;
  bool large = false;
  for (const DiagnosedSize* one : sizes) top = std::max(top, one->bytes.value());
  std::vector<const DiagnosedSize*> upper, small;
  for (const DiagnosedSize* one : sizes) {
    const double bytes = one->bytes.value();
    large = large || (one->streamed && bytes >= n["smallest_streamed"]);
    if (bytes >= top / 16) upper.push_back(one);
    if (bytes <= n["largest_small"] && one->collective != Collective::all_to_all && !one->streamed)
      small.push_back(one);
  }
  if (upper.empty()) return out;
  out.compared = true;
  out.at = *std::max_element(upper.begin(), upper.end(), [](const DiagnosedSize* a, const DiagnosedSize* b) { return a->bus_bandwidth < b->bus_bandwidth; });
  out.ratio = times_predicted(*out.at);
  large = large || top >= n["smallest_large"];
  out.large = large;
  if (large) out.slow = beyond(*out.at) > allowed && median_beyond(upper) > allowed;
  // adapters have their rates however little of a cluster was measured
  const double lost = n["half_lost"];
  if (large && !guessed && out.at->nodes > 1)
    out.slow = out.slow || (out.ratio > lost && median_of(upper, times_predicted) > lost);
  if (!out.slow && small.size() >= 3) {
    out.slow_small = median_beyond(small) > n["margin_of_small"];
    out.small_ratio = median_of(small, times_predicted);
  }
  out.above = large && !out.slow && beyond(*out.at) > 1 && median_beyond(upper) > 1;
  out.faster = below(*out.at) < 1 && median_of(upper, below) < 1;
  return out;
}

constexpr double least_public_bytes = 64 << 20;  ///< of the public runs' figures

/// The public runs of this test on machines like this one; nullptr: none are known.
const PublicRuns* public_runs_like(const Context& c, const DiagnosedSize& at) {
  const int nodes = std::max(1, at.nodes);
  for (const PublicRuns& one : c.rules->public_runs) {
    if (!c.system->gpu.name.starts_with(one.gpu) || one.operation != name(at.collective)) continue;
    if (one.nodes != nodes || one.gpus * nodes != at.ranks) continue;
    if (one.network > 0 && std::round(std::log2(nics_rate(*c.system) / one.network)) != 0) continue;
    return &one;
  }
  return nullptr;
}

}  // namespace

Judged judge(const std::vector<DiagnosedSize>& sizes, bool guessed, const Numbers& judgement) {
  std::map<std::tuple<Collective, DataType, int, int, std::string>, std::vector<const DiagnosedSize*>> runs;
  for (const DiagnosedSize& one : sizes)
    if (one.predicted > Time{} && !misaligned(one))
      runs[{one.collective, one.dtype, one.nodes, one.ranks, one.test}].push_back(&one);
  Judged worst;
  for (const auto& [key, run] : runs) {
    const Judged one = judge_one(run, guessed, judgement);
    const auto rank = [](const Judged& j) { return std::tuple{j.compared, j.slow, j.slow_small, j.above, j.ratio}; };
    if (rank(one) > rank(worst)) worst = one;
  }
  return worst;
}

std::string compared_in_words(const Context& c) {
  if (c.unplaced)
    return fmt::format("the log names no machine to compare its times with: say which with --system{}",
                       c.nodes_assumed ? ", and on how many nodes with --nodes" : "");
  if (!c.judged.compared)
    return c.curve.empty() ? "the log has no table to compare" : "no prediction was possible, so only what the log shows counts";
  const DiagnosedSize& at = *c.judged.at;
  const std::string where = fmt::format("at {}{}", size_text(at.bytes), at.test.empty() ? std::string{} : fmt::format(" ({})", at.test));
  if (c.judged.slow) return fmt::format("slower than it should be by x{:.2g} {}", c.judged.ratio, where);
  if (c.judged.slow_small)
    return fmt::format("large messages {}, small ones {:.2g} times too slow", c.judged.above ? "slower than predicted, too" : "as predicted",
                       c.judged.small_ratio);
  return fmt::format("{} {} measured, {} predicted", where, gigabytes(at.bus_bandwidth), gigabytes(at.bus_bandwidth * c.judged.ratio));
}

std::string against(const Context& c) {
  const DiagnosedSize& at = *c.judged.at;
  return fmt::format("{} at {} where {} gives {} ({} {})", gigabytes(at.bus_bandwidth), size_text(at.bytes),
                     c.system->name, gigabytes(at.bus_bandwidth * c.judged.ratio),
                     at.measured > at.high ? "at least" : "its interval reaches down to",
                     gigabytes(at.bus_bandwidth * at.measured / at.high));
}

std::string slow_ports_in_words(const Context& c) {
  const auto ports = c.system && !c.one_node() && !c.inside_a_domain() ? slow_ports(c.info, *c.system) : std::nullopt;
  if (!ports) return {};
  std::string out = fmt::format("{}, where {}: ports trained down, or another machine", ports->there, ports->described);
  if (!c.judged.compared || c.judged.at->streamed) return out;
  try {
    const Bandwidth full = predict(*c.system, c.judged.at->operation()).bus_bandwidth();
    if (full > c.judged.at->bus_bandwidth)
      out += fmt::format("; {} would be predicted at full rate, {} more", gigabytes(full), gigabytes(full - c.judged.at->bus_bandwidth));
  } catch (const RequestError&) {  // the machine as it is described cannot run it
  }
  return out;
}

/// The commonest question about a run of nccl-tests: is this number normal?
std::string normal_in_words(const Context& c) {
  if (!c.judged.compared || !c.system || c.judged.at->streamed) return {};
  const DiagnosedSize& at = *c.judged.at;
  const Bandwidth least = at.bus_bandwidth * at.measured / at.high, most = at.bus_bandwidth * at.measured / at.low;
  std::string out = fmt::format("{} at {}: {}, expected {} to {}", gigabytes(at.bus_bandwidth), size_text(at.bytes),
                                at.bus_bandwidth < least ? "low" : at.bus_bandwidth > most ? "high" : "normal", gigabytes(least), gigabytes(most));
  const PublicRuns* runs = at.bytes.value() >= least_public_bytes ? public_runs_like(c, at) : nullptr;
  // where larger messages would be faster, the best rates of runs that have them say nothing of this one
  if (runs == nullptr || runs->bus.front() > most.value()) return out;
  const auto slower = std::lower_bound(runs->bus.begin(), runs->bus.end(), at.bus_bandwidth.value()) - runs->bus.begin();
  return out + fmt::format("; {} of {} public runs on such machines are slower ({} to {})", slower, runs->bus.size(),
                           gigabytes(runs->bus.front()), gigabytes(runs->bus.back()));
}

}  // namespace fabricost::observe::diagnosis
