/// \file stragglers.cpp
/// fabricost stragglers: the answer as text.

#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "faces/requests.hpp"
#include "text/text_table.hpp"

#include <fabricost/answers/stragglers.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string measured_text(const StragglersAnswer& a) {
  std::string out = fmt::format("  {} measured times: median {}, P99 {}, standard deviation {}\n", *a.times, duration_text(*a.p50_seconds),
                                duration_text(*a.p99_seconds), duration_text(a.deviation_seconds));
  if (a.ranks > *a.times) out += "  More ranks than times: the tail beyond the largest ones is taken as exponential.\n";
  if (a.slowest_seconds)
    out +=
        fmt::format("  Measured over {} ranks: the slowest of an iteration takes {} on average; if ranks were alike and independent, {}.\n",
                    a.measured_ranks, duration_text(*a.slowest_seconds), duration_text(a.alike_seconds));
  for (std::size_t i = 0; i < std::min<std::size_t>(a.slow_ranks.size(), 5); ++i)
    out +=
        fmt::format("  Rank {} is slow all the time: {} on average.\n", a.slow_ranks[i].rank, duration_text(a.slow_ranks[i].mean_seconds));
  return out;
}

[[nodiscard]] std::string stragglers_text(const StragglersAnswer& a, const Terminal& terminal) {
  std::string out = terminal.strong(fmt::format("The slowest of {:.0f} ranks takes {}, {:.1f} % more than the mean of {}", a.ranks,
                                                duration_text(a.step_seconds), 100 * (a.step_seconds / a.mean_seconds - 1),
                                                duration_text(a.mean_seconds))) +
                    "\n";
  out += a.times ? measured_text(a)
                 : fmt::format("  {}, standard deviation {}{}\n", *a.shape, duration_text(a.deviation_seconds),
                               *a.barriers > 1 ? fmt::format(", {} barriers a step", *a.barriers) : "");
  if (a.slow_factor)
    out += fmt::format("  Slow ones: somebody is late in {:.4g} % of steps, factor {:.4g}: {}\n", 100 * *a.somebody_late, *a.slow_factor,
                       duration_text(*a.slow_step_seconds));
  if (a.rails)
    out += fmt::format("  {} of {} rails lost: the network takes {:.4g} times as long, the step {} ({:.1f} % more)\n", *a.rails_lost,
                       *a.rails, *a.network_factor, duration_text(*a.rails_step_seconds), 100 * (a.rails_step_factor - 1));
  TextTable table{{{"ranks", right}, {"step", right}, {"efficiency", right}, {a.slow_factor ? "slow factor" : "", right}}};
  for (const StragglersAtRanks& at : a.by_ranks) {
    std::vector<std::string> cells{fmt::format("{:.0f}", at.ranks), duration_text(at.step_seconds),
                                   fmt::format("{:.1f} %", 100 * at.efficiency)};
    if (a.slow_factor) cells.push_back(fmt::format("{:.4g}", at.slow_factor));
    table.row(cells);
  }
  return out + "\n" + terminal.strong("By ranks") + "\n" + table.text(2);
}

}  // namespace

void add_stragglers(CLI::App& app, Runner& runner) {
  add_face<StragglersRequest>(app, runner, "stragglers", "What a step waits for the slowest of its ranks",
                              "Example: fabricost stragglers --mean 100ms --deviation 2ms --ranks 1024 --slow 1%:1.1", stragglers_text);
}

}  // namespace fabricost::cli
