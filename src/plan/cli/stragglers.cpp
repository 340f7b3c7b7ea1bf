/// fabricost stragglers: the answer as text.

#include "answers/job_verdict.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/plan/answers/stragglers.hpp>

#include <algorithm>

namespace fabricost::cli {
namespace {

void add_measured(Page& page, const StragglersAnswer& a) {
  page.line("{} measured times: median {}, P99 {}, standard deviation {}", *a.times, duration_text(*a.p50),
            duration_text(*a.p99), duration_text(a.deviation));
  if (a.ranks > *a.times) page.line("More ranks than times: the tail beyond the largest ones is taken as exponential.");
  if (a.slowest)
    page.line("Measured over {} ranks: the slowest of an iteration takes {} on average; if ranks were alike and independent, {}.",
              a.measured_ranks, duration_text(*a.slowest), duration_text(a.alike));
  for (std::size_t i = 0; i < std::min<std::size_t>(a.slow_ranks.size(), 5); ++i)
    page.line("Rank {} is slow all the time: {} on average.", a.slow_ranks[i].rank, duration_text(a.slow_ranks[i].mean));
}

void stragglers_text(Page& page, const StragglersAnswer& a) {
  page.title(verdict_of(a));
  if (a.times)
    add_measured(page, a);
  else
    page.line("{}, standard deviation {}{}", *a.shape, duration_text(a.deviation),
              *a.barriers > 1 ? fmt::format(", {} barriers a step", *a.barriers) : "");
  if (a.slow_factor)
    page.line("Slow ones: somebody is late in {:.4g} % of steps, factor {:.4g}: {}", 100 * *a.somebody_late, *a.slow_factor,
              duration_text(*a.slow_step));
  if (a.rails)
    page.line("{} of {} rails lost: the network takes {:.4g} times as long, the step {} ({:.1f} % more)", *a.rails_lost, *a.rails,
              *a.network_factor, duration_text(*a.rails_step), 100 * (a.rails_step_factor - 1));
  page.section("By ranks");
  page.table({">ranks", ">step", ">efficiency", a.slow_factor ? ">slow factor" : ""}, a.by_ranks, [&](const StragglersAtRanks& at) {
    return cells(fmt::format("{:.0f}", at.ranks), duration_text(at.step), percent(at.efficiency, 1),
                 a.slow_factor ? figure(at.slow_factor) : "");
  });
}

}  // namespace

void add_stragglers(CLI::App& app, Runner& runner) {
  add_question<StragglersRequest>(app, runner, "stragglers", "Time lost to the slowest rank",
                              "Example: fabricost stragglers --mean 100ms --deviation 2ms --ranks 1024 --slow 1%:1.1", stragglers_text);
}

}  // namespace fabricost::cli
