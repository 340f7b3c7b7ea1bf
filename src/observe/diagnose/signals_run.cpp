/// The start of the program, the times of its steps, and whether its times are possible: a clock in another unit, sizes cut or
/// scaled, a table edited by hand, a timer that was never read.

#include "diagnose/context.hpp"
#include "text/quantile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace fabricost::observe::diagnosis {

namespace {

/// Two ranks 0: every host ran a separate test.
std::optional<Facts> second_rank_zero(const Context& c, const Numbers&) {
  std::map<int, std::set<std::string>> hosts;
  for (const RankLine& one : c.info.rank_lines)
    if (hosts[one.rank].insert(one.host).second && hosts[one.rank].size() == 2 && one.rank == 0) return Facts{cited(one.line)};
  return std::nullopt;
}

/// A second list of ranks right behind the first, of another process on the same host: their output is one log, their tests are not.
std::optional<Facts> second_list_at_once(const Context& c, const Numbers& n) {
  for (std::size_t i = 1; i < c.info.rank_lines.size(); ++i) {
    const RankLine &before = c.info.rank_lines[i - 1], &one = c.info.rank_lines[i];
    if (one.rank == 0 && one.host == before.host && one.line.file == before.line.file && one.line.text != before.line.text &&
        one.line.number - before.line.number <= n["lines"])
      return Facts{cited(one.line)};
  }
  return std::nullopt;
}

/// A table of one rank: nothing was sent. Several ranks 0 on one host: each process ran a test of its own.
std::optional<Facts> ran_alone(const Context& c, const Numbers&) {
  if (c.curve.empty() || c.info.rank_lines.empty() || c.best_bus() > 0) return std::nullopt;
  std::size_t zeros = 0;
  for (const RankLine& one : c.info.rank_lines) {
    if (one.rank != 0) return std::nullopt;
    ++zeros;
  }
  const std::string line = cited(c.info.rank_lines.front().line);
  if (zeros > 1) return Facts{line, fmt::format("{} processes, each of them rank 0 of a test of its own; the bus bandwidth is 0", zeros)};
  return Facts{line, "the only rank, so nothing was sent and the bus bandwidth is 0"};
}

/// What was measured are copies and messages between two ends, without a library of collectives.
std::optional<Facts> copies_alone(const Context& c, const Numbers&) {
  const auto copied = [](const DiagnosedSize& one) { return one.path.has_value(); };
  return found(c.transfers || (!c.sizes.empty() && std::all_of(c.sizes.begin(), c.sizes.end(), copied)) || !c.pairs.matrices.empty() ||
               !c.pairs.wires.empty());
}

std::optional<Facts> rows_without_time(const Context& c, const Numbers&) {
  if (c.impossible.without == 0) return std::nullopt;
  return Facts{fmt::format("{}", c.impossible.without)};
}

std::optional<Facts> wrong_rows(const Context& c, const Numbers&) {
  return c.wrong_results.empty() ? std::nullopt : std::optional{Facts{c.wrong_results}};
}

std::optional<Facts> impossible_times(const Context& c, const Numbers&) {
  const Impossible& seen = c.impossible;
  if (seen.believed()) return std::nullopt;
  return Facts{fmt::format("{}", seen.times), fmt::format("{}", seen.of), seen.example};
}

std::optional<Facts> forcing_costs(const Context& c, const Numbers&) {
  const std::optional<Forcing> one = c.forcing();
  if (!one) return std::nullopt;
  return Facts{cited(one->line), one->settings, one->variables, fmt::format("{:.0f}", 100 * one->share), gigabytes(one->without)};
}

/// An engine repeats every minute that its workers do not answer: once is a long compilation or an idle engine, several times is a hang,
/// unless it goes on with its start or answers afterwards.
std::optional<Facts> engine_waits_on(const Context& c, const Numbers& n) {
  const Seen& seen = c.info.seen("engine_waits");
  if (seen.times < n["times"] || std::max(c.info.seen("starting").last, c.info.seen("served").last) > seen.last) return std::nullopt;
  return Facts{cited(seen)};
}

/// A step without the wait for its data, which is long at the begin of each epoch of a healthy run.
double own(const StepTime& one) { return one.seconds - one.waited; }

double usual(std::span<const StepTime> steps) {
  std::vector<double> times;
  for (const StepTime& one : steps) times.push_back(own(one));
  return lower_median(times);
}

/// How far most steps are from their usual time: the median of the distances.
double scatter(std::span<const StepTime> steps) {
  const double middle = usual(steps);
  std::vector<double> off;
  for (const StepTime& one : steps) off.push_back(std::fabs(own(one) - middle));
  return lower_median(off);
}

/// The first of the steps that stay on the slow side of the middle between before and after: where fewest lie on the wrong side.
std::size_t where_slower(std::span<const StepTime> steps, double before, double after) {
  std::ptrdiff_t wrong = 0, least = 0;
  std::size_t best = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    wrong += own(steps[i]) > 0.5 * (before + after) ? 1 : -1;
    if (wrong >= least) continue;
    least = wrong;
    best = i + 1;
  }
  return std::min(best, steps.size() - 1);
}

/// The last third of the steps against the first, without those that warm up or compile: by `ratio`, or of many steps by `lasting` and by
/// several times their scatter.
std::optional<Facts> steps_slow_down(const Context& c, const Numbers& n) {
  const auto warm = static_cast<std::size_t>(n["warm"]), least = static_cast<std::size_t>(n["steps"]);
  if (c.steps.size() < warm + least) return std::nullopt;
  const std::span<const StepTime> steps = std::span{c.steps}.subspan(warm);
  const std::size_t third = steps.size() / 3;
  const auto first = steps.first(third), last = steps.last(third);
  const double before = usual(first), after = usual(last), off = std::max(scatter(first), scatter(last));
  const bool lasting = static_cast<double>(steps.size()) >= n["many"] && after >= n["lasting"] * before && after - before > n["scatter"] * off;
  if (!(before > 0) || (after < n["ratio"] * before && !lasting)) return std::nullopt;
  const std::size_t at = where_slower(steps, before, after), beside = std::min({third / 2 + 1, at, steps.size() - at});
  const bool at_once = beside > 0 && usual(steps.subspan(at, beside)) - usual(steps.subspan(at - beside, beside)) > n["at_once"] * (after - before);
  return Facts{cited(steps[at].line), fmt::format("{:.3g}", after / before), at_once ? "from this step on" : "half-way, little by little, to"};
}

/// Some steps take several times as long as most; a single one may be a checkpoint.
std::optional<Facts> steps_stall(const Context& c, const Numbers& n) {
  const auto warm = static_cast<std::size_t>(n["warm"]), least = static_cast<std::size_t>(n["steps"]);
  if (c.steps.size() < warm + least) return std::nullopt;
  const std::span<const StepTime> steps = std::span{c.steps}.subspan(warm);
  const double most_take = usual(steps);
  const auto stalls = [&](const StepTime& one) { return own(one) > n["ratio"] * most_take; };
  const auto times = std::count_if(steps.begin(), steps.end(), stalls);
  if (!(most_take > 0) || times < 2) return std::nullopt;
  const auto first = std::find_if(steps.begin(), steps.end(), stalls);
  return Facts{cited(first->line), fmt::format("{}", times), fmt::format("{:.2g}", own(*first) / most_take)};
}

/// Much of the time of the steps goes by until data has come, and not only where an epoch begins.
std::optional<Facts> steps_wait(const Context& c, const Numbers& n) {
  const auto warm = static_cast<std::size_t>(n["warm"]), least = static_cast<std::size_t>(n["steps"]);
  if (c.steps.size() < warm + least) return std::nullopt;
  double waited = 0, all = 0, often = 0;
  const StepTime* longest = nullptr;
  for (const StepTime& one : std::span{c.steps}.subspan(warm)) {
    waited += one.waited, all += one.seconds, often += one.waited >= n["share"] * one.seconds ? 1 : 0;
    if (longest == nullptr || one.waited > longest->waited) longest = &one;
  }
  if (!(waited >= n["share"] * all) || often < n["often"] * static_cast<double>(c.steps.size() - warm)) return std::nullopt;
  return Facts{cited(longest->line), fmt::format("{:.0f}", 100 * waited / all)};
}

}  // namespace

std::span<const Signal> run_signals() {
  using QuantityKind::count;
  static const std::vector<Signal> all{
      {"second_rank_zero", second_rank_zero, {"line"}},
      {"second_list_at_once", second_list_at_once, {"line"}, {{"lines", count}}},
      {"ran_alone", ran_alone, {"line", "why"}},
      {"nccl_messages", [](const Context& c, const Numbers&) { return found(c.info.messages > 0); }},
      {"copies_alone", copies_alone},
      {"rows_without_time", rows_without_time, {"rows"}},
      {"engine_waits_on", engine_waits_on, {"line"}, {{"times", count}}},
      {"steps_slow_down",
       steps_slow_down,
       {"line", "ratio", "how"},
       {{"warm", count}, {"steps", count}, {"ratio"}, {"many", count}, {"lasting"}, {"scatter"}, {"at_once"}}},
      {"steps_stall", steps_stall, {"line", "times", "ratio"}, {{"warm", count}, {"steps", count}, {"ratio"}}},
      {"steps_wait", steps_wait, {"line", "percent"}, {{"warm", count}, {"steps", count}, {"share"}, {"often"}}},
      {"forcing_costs", forcing_costs, {"line", "settings", "variables", "percent", "without"}},
      {"wrong_rows", wrong_rows, {"line"}},
      {"impossible_times", impossible_times, {"times", "of", "example"}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
