/// \file stragglers.cpp
/// fabricost stragglers: what a step waits for the slowest of its ranks, from a distribution or from measured times; slow hosts, lost
/// rails.

#include "text/text_table.hpp"
#include "amounts.hpp"
#include "names.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/answers/waiting_ranks.hpp>
#include <fabricost/readings/iteration_times.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

namespace fabricost::cli {
namespace {

using Json = nlohmann::ordered_json;
/// As typed; empty where nothing was.
struct StragglersOptions {
  std::string file, ranks, mean, deviation, p50, p99, shape, barriers, rails, rails_lost, reroute, network;
  std::vector<std::string> slow;
  bool json = false;
};

[[nodiscard]] SlowKind slow_kind(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) throw RequestError(fmt::format("--slow: \"{}\" is not SHARE:FACTOR, as in 1%:1.1", text.substr(0, 60)));
  return {share_of(text.substr(0, colon), "--slow"), number_from(text.substr(colon + 1), "--slow", 1, 1e6)};
}

[[nodiscard]] WaitingRanks meant(const StragglersOptions& o) {
  WaitingRanks out;
  const bool by_mean = !o.mean.empty() || !o.deviation.empty(), by_percentile = !o.p50.empty() || !o.p99.empty();
  if (static_cast<int>(!o.file.empty()) + static_cast<int>(by_mean) + static_cast<int>(by_percentile) != 1)
    throw RequestError("which times? Give a file of measured ones, or --mean and --deviation, or --p50 and --p99");
  if (o.ranks.empty()) throw RequestError("over how many ranks? Add --ranks, as in --ranks 1024");
  out.ranks = count_of(o.ranks, "--ranks");
  const JitterShape shape = one_of<JitterShape>(o.shape, jitter_shape_names, "a distribution", "--shape")
                                .value_or(by_mean ? JitterShape::normal : JitterShape::lognormal);
  if (!o.file.empty() && !o.shape.empty()) throw RequestError("--shape is for --mean or --p50; measured times have their own");
  if (by_mean) {
    if (o.mean.empty() || o.deviation.empty()) throw RequestError("--mean and --deviation go together");
    out.jitter = {shape, duration_of(o.mean, "--mean"), duration_of(o.deviation, "--deviation")};
    if (!(out.jitter.mean > 0)) throw RequestError("--mean: give a time above 0");
  } else if (by_percentile) {
    if (o.p50.empty() || o.p99.empty()) throw RequestError("--p50 and --p99 go together");
    out.jitter = jitter_of_percentiles(duration_of(o.p50, "--p50"), duration_of(o.p99, "--p99"), shape);
  } else {
    out.times = read_iteration_times(o.file);
    out.measured.emplace(out.times.seconds);
  }
  if (!o.barriers.empty()) {
    if (out.measured) throw RequestError("--barriers cuts a distribution in parts; measured times are cut as they were measured");
    out.barriers = count_of(o.barriers, "--barriers");
  }
  for (const std::string& one : o.slow) out.slow.push_back(slow_kind(one));
  (void)slow_factor(out.slow, out.ranks);  // refuses shares that cannot be
  if (!o.rails.empty()) out.rails = count_of(o.rails, "--rails");
  if (!o.rails_lost.empty()) out.lost = count_of(o.rails_lost, "--rails-lost");
  if (const auto how = one_of<LostRail>(o.reroute, lost_rail_names, "a way of a lost rail's traffic", "--reroute")) out.reroute = *how;
  if (out.rails == 0 && (!o.rails_lost.empty() || !o.reroute.empty() || !o.network.empty()))
    throw RequestError("how many rails are there? Add --rails, as in --rails 8");
  if (out.rails > 0) {
    if (o.network.empty()) throw RequestError("which share of a step waits for the network? Add --network-share, as in 20%");
    out.network = share_of(o.network, "--network-share");
  }
  return out;
}

[[nodiscard]] double mean_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}

[[nodiscard]] Json to_json(const WaitingRanks& a) {
  const double step = a.step(a.ranks), slow = slow_factor(a.slow, a.ranks);
  Json out{{"ranks", a.ranks}, {"mean_s", a.mean()}, {"deviation_s", a.deviation()}};
  if (a.measured) {
    out["measured"] = {{"times", a.measured->count()},
                       {"p50_s", a.measured->quantile(0.5)},
                       {"p99_s", a.measured->quantile(0.99)},
                       {"ranks", a.times.ranks}};
    if (!a.times.slowest.empty()) out["measured"]["slowest_s"] = mean_of(a.times.slowest);
    out["measured"]["slow_ranks"] = Json::array();
    for (const std::size_t i : slow_ranks(a.times))
      out["measured"]["slow_ranks"].push_back({{"rank", a.times.rank_names[i]}, {"mean_s", a.times.rank_means[i]}});
  } else {
    out["shape"] = jitter_shape_names[static_cast<std::size_t>(a.jitter.shape)];
    out["barriers"] = a.barriers;
  }
  out["step_s"] = step;
  out["efficiency"] = a.mean() / step;
  if (!a.slow.empty()) {
    double share = 0;
    for (const SlowKind& k : a.slow) share += k.share;
    out["slow"] = {{"somebody_late", somebody_late(std::min(1.0, share), a.ranks)}, {"factor", slow}, {"step_s", step * slow}};
  }
  if (a.rails > 0) {
    const double factor = lost_rail_factor(a.rails, a.lost, a.reroute);
    out["rails"] = {{"rails", a.rails}, {"lost", a.lost}, {"network_factor", factor}, {"step_s", network_slowed(step, a.network, factor)}};
  }
  out["by_ranks"] = Json::array();
  for (const double n : shown_ranks(a.ranks))
    out["by_ranks"].push_back(
        {{"ranks", n}, {"step_s", a.step(n)}, {"efficiency", a.mean() / a.step(n)}, {"slow_factor", slow_factor(a.slow, n)}});
  return out;
}

[[nodiscard]] std::string text_of(const WaitingRanks& a, const Terminal& terminal) {
  const double step = a.step(a.ranks);
  std::string out = terminal.strong(fmt::format("The slowest of {:.0f} ranks takes {}, {:.1f} % more than the mean of {}", a.ranks,
                                                duration_text(step), 100 * (step / a.mean() - 1), duration_text(a.mean()))) +
                    "\n";
  if (a.measured) {
    out += fmt::format("  {} measured times: median {}, P99 {}, standard deviation {}\n", a.measured->count(),
                       duration_text(a.measured->quantile(0.5)), duration_text(a.measured->quantile(0.99)),
                       duration_text(a.measured->deviation()));
    if (a.ranks > static_cast<double>(a.measured->count()))
      out += "  More ranks than times: the tail beyond the largest ones is taken as exponential.\n";
    if (!a.times.slowest.empty())
      out += fmt::format(
          "  Measured over {} ranks: the slowest of an iteration takes {} on average; if ranks were alike and independent, {}.\n",
          a.times.ranks, duration_text(mean_of(a.times.slowest)), duration_text(a.measured->expected_maximum(a.times.ranks)));
    const auto slow = slow_ranks(a.times);
    for (std::size_t i = 0; i < std::min<std::size_t>(slow.size(), 5); ++i)
      out += fmt::format("  Rank {} is slow all the time: {} on average.\n", a.times.rank_names[slow[i]],
                         duration_text(a.times.rank_means[slow[i]]));
  } else {
    out += fmt::format("  {}, standard deviation {}{}\n", jitter_shape_names[static_cast<std::size_t>(a.jitter.shape)],
                       duration_text(a.jitter.deviation), a.barriers > 1 ? fmt::format(", {} barriers a step", a.barriers) : "");
  }
  const double slow = slow_factor(a.slow, a.ranks);
  if (!a.slow.empty()) {
    double share = 0;
    for (const SlowKind& k : a.slow) share += k.share;
    out += fmt::format("  Slow ones: somebody is late in {:.4g} % of steps, factor {:.4g}: {}\n",
                       100 * somebody_late(std::min(1.0, share), a.ranks), slow, duration_text(step * slow));
  }
  if (a.rails > 0) {
    const double factor = lost_rail_factor(a.rails, a.lost, a.reroute);
    out += fmt::format("  {} of {} rails lost: the network takes {:.4g} times as long, the step {} ({:.1f} % more)\n", a.lost, a.rails,
                       factor, duration_text(network_slowed(step, a.network, factor)), 100 * (network_slowed(1, a.network, factor) - 1));
  }
  TextTable table{{{"ranks", right}, {"step", right}, {"efficiency", right}, {a.slow.empty() ? "" : "slow factor", right}}};
  for (const double n : shown_ranks(a.ranks)) {
    std::vector<std::string> cells{fmt::format("{:.0f}", n), duration_text(a.step(n)), fmt::format("{:.1f} %", 100 * a.mean() / a.step(n))};
    if (!a.slow.empty()) cells.push_back(fmt::format("{:.4g}", slow_factor(a.slow, n)));
    table.row(cells);
  }
  return out + "\n" + terminal.strong("By ranks") + "\n" + table.text(2);
}

}  // namespace

void add_stragglers(CLI::App& app, Runner& runner) {
  const auto o = std::make_shared<StragglersOptions>();
  CLI::App& sub = *app.add_subcommand("stragglers", "What a step waits for the slowest of its ranks");
  sub.add_option("FILE", o->file,
                 "Measured seconds, one a line; or a CSV with a column time_s,\ntime_ms or time_us, with iteration and rank if you like")
      ->option_text(" ");
  const auto option = [&](const char* names, std::string& into, const char* help, const char* kind) {
    sub.add_option(names, into, help)->option_text(kind);
  };
  option("--ranks,-r", o->ranks, "Ranks that wait for each other", "N");
  option("--mean", o->mean, "Of one rank's time, as in 10ms", "TIME");
  option("--deviation", o->deviation, "Its standard deviation", "TIME");
  option("--p50", o->p50, "Median of a collective or a step, as benchmarks print it", "TIME");
  option("--p99", o->p99, "Its 99th percentile", "TIME");
  option("--shape", o->shape, "normal (default with --mean), lognormal (with --p50) or exponential", "NAME");
  option("--barriers", o->barriers, "Times a step waits for all ranks; default 1", "K");
  sub.add_option("--slow", o->slow, "A share of ranks that are slow by chance, and how much, as in 1%:1.1")->option_text("SHARE:FACTOR...");
  option("--rails", o->rails, "NICs of a node", "N");
  option("--rails-lost", o->rails_lost, "Of those, how many are down; default 1", "N");
  option("--reroute", o->reroute, "Where their traffic goes: spread (default) or neighbour", "HOW");
  option("--network-share", o->network, "Share of a step that waits for the network", "X");
  sub.add_flag("--json", o->json, "Print JSON");
  sub.footer("Example: fabricost stragglers --mean 100ms --deviation 2ms --ranks 1024 --slow 1%:1.1");
  runner.add(sub, [o](const Terminal& terminal) {
    const WaitingRanks asked = meant(*o);
    return o->json ? printed(to_json(asked)) : text_of(asked, terminal);
  });
}

}  // namespace fabricost::cli
