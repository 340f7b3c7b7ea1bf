/// fabricost explore: the answer as text, and all points as CSV.

#include "answers/explore/point_text.hpp"
#include "answers/job_verdict.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"
#include "text/amounts.hpp"
#include "text/csv.hpp"

#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/design/explore.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>

namespace fabricost::cli {
namespace {

using plan::explore::axis_value_text;
using plan::explore::heading_of;
using plan::explore::measured_text;
using plan::explore::number_text;
using plan::explore::place_text;
using plan::explore::point_of;

struct ExploreTyped : GivenOptions {
  OutputPath csv;
  bool train = false, serve = false;
};

/// The points to print: those of the front; if all points are few, then also the others, by the first objective.
[[nodiscard]] std::vector<int> shown_points(const ExploreAnswer& a) {
  constexpr std::size_t few = 24, most = 40;
  std::vector<int> out(a.front.begin(), a.front.begin() + static_cast<std::ptrdiff_t>(std::min(a.front.size(), most)));
  if (a.points.size() > few) return out;
  std::vector<int> others;
  for (const ExplorePoint& point : a.points)
    if (!point.front) others.push_back(point.number);
  const auto rank = [&](int number) {
    const ExplorePoint& point = *point_of(a, number);
    const std::optional<double> first = point.objectives.front().second;
    return std::tuple{!point.trouble.empty(), !point.meets, !first, first ? *first * (a.objectives.front().more_is_better ? -1 : 1) : 0.0};
  };
  std::stable_sort(others.begin(), others.end(), [&](int one, int other) { return rank(one) < rank(other); });
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

void add_points(Page& page, const ExploreAnswer& a) {
  Cells headings;
  for (const ExploreAxis& axis : a.axes)
    headings.push_back((axis.words.empty() ? ">" : "") + axis.name + (axis.unit.empty() ? "" : ", " + axis.unit));
  const auto varied = [&](const ExploreObjective& objective) {
    return std::any_of(a.axes.begin(), a.axes.end(), [&](const ExploreAxis& axis) { return axis.name == objective.name; });
  };
  for (const ExploreObjective& objective : a.objectives)
    if (!varied(objective)) headings.push_back(">" + heading_of(objective).text);
  const bool idle = std::any_of(a.points.begin(), a.points.end(), [](const ExplorePoint& p) { return p.idle_gpus > 0; });
  const bool extra = std::any_of(a.points.begin(), a.points.end(), [](const ExplorePoint& p) { return p.extra_dollars_per_gpu_hour.has_value(); });
  if (idle) headings.emplace_back(">idle GPUs");
  if (extra) headings.emplace_back(">may cost more, $/GPU-hour");
  headings.insert(headings.end(), {"=layout", "takes most besides computing", "standing"});
  TextTable rows{headings};
  rows.go_on_below(a.axes.size());
  const std::vector<int> shown = shown_points(a);
  const bool all = a.front.size() < a.points.size() && shown.size() == a.points.size();
  for (const int number : shown) {
    const ExplorePoint& point = *point_of(a, number);
    Cells cells;
    for (const auto& [axis, value] : point.at) cells.push_back(axis_value_text(value));
    for (std::size_t j = 0; j < a.objectives.size(); ++j)
      if (!varied(a.objectives[j])) cells.push_back(number_text(point.objectives[j].second, heading_of(a.objectives[j]).worth));
    const bool runs = point.trouble.empty();
    if (idle) cells.push_back(runs ? std::to_string(point.idle_gpus) : "");
    if (extra) cells.push_back(point.extra_dollars_per_gpu_hour ? fmt::format("{:+.3f}", *point.extra_dollars_per_gpu_hour) : "");
    cells.insert(cells.end(), {runs ? point.layout : "", runs ? point.binds : shortened(point.trouble, 70),
                               a.knee == number       ? "knee"
                               : all && point.front   ? "Pareto"
                               : !point.meets && runs ? "over a limit"
                                                      : ""});
    rows.row(cells);
  }
  page.table(rows);
  if (a.front.size() > shown.size()) page.line("... {} more: --json or --csv FILE has all.", a.front.size() - shown.size());
}

/// Elasticities and the worth of more, part by part, at the chosen point.
void add_parts(Page& page, const ExploreAnswer& a) {
  const ExplorePoint* const point = point_of(a, a.chosen);
  if (point == nullptr || a.worth.empty()) return;
  page.section("What more of a part gives at {}{}", place_text(a, *point), a.knee ? ", the knee" : "");
  const bool priced = a.worth.front().dollars_per_gpu_hour.has_value();
  Cells headings{"part", "more", ">tokens/s"};
  if (priced) headings.emplace_back(">worth, $/GPU-hour");
  for (const auto& [objective, by] : point->elasticities)
    for (const ExploreObjective& one : a.objectives)
      if (one.name == objective) {
        const std::string heading = heading_of(one).text;
        headings.push_back(">d " + heading.substr(0, heading.find(", ")));
      }
  TextTable rows{headings};
  rows.go_on_below();
  for (const ExploreWorth& one : a.worth) {
    Cells cells{one.parameter, one.change, fmt::format("{:+.2f} %", 100 * one.gain)};
    if (priced) cells.push_back(fmt::format("{:.3f}", *one.dollars_per_gpu_hour));
    for (const auto& [objective, by] : point->elasticities) {
      const auto at = std::find_if(by.begin(), by.end(), [&](const auto& each) { return each.first == one.parameter; });
      cells.push_back(at != by.end() ? fmt::format("{:+.3f}", at->second) : "");
    }
    rows.row(cells);
  }
  page.table(rows);
  page.say(
      "Layouts are searched again for tokens/s{}. d: % change of an objective per 1 % more of this part (same layout).",
      priced ? ". worth: extra $/GPU-hour you could pay for the upgrade at the same $/token" : "");
}

/// The next best point with another name in its place, of a machine or a stack; none: numbers alone are varied, whose points share their error.
[[nodiscard]] const ExplorePoint* next_by_name(const ExploreAnswer& a, const ExplorePoint& best) {
  const ExplorePoint* out = nullptr;
  const auto first = [](const ExplorePoint& p) { return p.objectives.front().second; };
  for (const ExplorePoint& point : a.points) {
    bool renamed = false, alike = point.meets && first(point).has_value();
    for (std::size_t i = 0; i < a.axes.size(); ++i)
      (a.axes[i].words.empty() ? alike : renamed) = a.axes[i].words.empty() ? alike && point.at[i].second == best.at[i].second
                                                                           : renamed || point.at[i].second != best.at[i].second;
    if (!alike || !renamed) continue;
    const bool better = out == nullptr || (a.objectives.front().more_is_better ? first(point) > first(*out) : first(point) < first(*out));
    if (better) out = &point;
  }
  return out;
}

/// Whether the best is better than the next beyond both ranges, as compare says it. A range is log-symmetric about what is predicted, so
/// two of one objective meet where the log of their ratio is below half the sum of the logs of their widths.
void add_how_sure(Page& page, const ExploreAnswer& a) {
  const ExplorePoint* const best = point_of(a, a.chosen);
  const ExplorePoint* const next = best == nullptr ? nullptr : next_by_name(a, *best);
  if (next == nullptr || !best->objectives.front().second) return;
  const auto width = [](const ExplorePoint& p) { return std::log(p.interval.second / p.interval.first); };
  const double apart = std::fabs(std::log(*best->objectives.front().second / *next->objectives.front().second));
  const bool overlap = 2 * apart <= width(*best) + width(*next);
  const auto range = [](const ExplorePoint& p) {
    return fmt::format("{} to {}", figure(p.interval.first.value(), 3), figure(p.interval.second.value(), 3));
  };
  const std::string ranges =  // an interval is of a step or a token
      a.objectives.front().name == "step_seconds" ? fmt::format(" ({} and {} s)", range(*best), range(*next)) : "";
  page.say("Next: {} ({}). {}.", place_text(a, *next), measured_text(a.objectives.front(), next->objectives.front().second),
           overlap ? fmt::format("Which is better is not sure: their ranges{} overlap", ranges)
                   : fmt::format("That is sure: their ranges{} do not meet", ranges));
}

/// The points within the limits that are better than the chosen one by another objective, one for each.
void add_better_otherwise(Page& page, const ExploreAnswer& a) {
  const ExplorePoint* const chosen = point_of(a, a.chosen);
  if (chosen == nullptr) return;
  for (std::size_t i = 1; i < a.objectives.size(); ++i) {
    const ExploreObjective& by = a.objectives[i];
    if (!by.counts) continue;
    const ExplorePoint* best = chosen;
    const auto better = [&](const ExplorePoint& p) {
      const std::optional<double> value = p.objectives[i].second, so_far = best->objectives[i].second;
      return p.meets && value && so_far && (by.more_is_better ? *value > *so_far : *value < *so_far);
    };
    for (const ExplorePoint& p : a.points)
      if (better(p)) best = &p;
    if (best != chosen)
      page.say("By {}: {} ({}, {} here).", heading_of(by).text, place_text(a, *best), figure(*best->objectives[i].second),
               figure(*chosen->objectives[i].second));
  }
}

void explored_text(Page& page, const ExploreAnswer& a) {
  const auto run = std::count_if(a.points.begin(), a.points.end(), [](const ExplorePoint& p) { return p.trouble.empty(); });
  const auto meet = std::count_if(a.points.begin(), a.points.end(), [](const ExplorePoint& p) { return p.meets; });
  page.title(verdict_of(a));
  add_how_sure(page, a);
  add_better_otherwise(page, a);
  if (a.chosen) page.say(a.title);
  const bool limited = std::any_of(a.objectives.begin(), a.objectives.end(), [](const ExploreObjective& o) { return o.limit.has_value(); });
  page.say("{} of {} can run{}{}.", run, a.points.size(), limited ? fmt::format(", {} are within the limits", meet) : "",
           a.front.empty() ? "" : fmt::format("; {} Pareto-optimal", a.front.size()));
  std::string others;
  for (std::size_t i = 1; i < a.objectives.size(); ++i)
    if (a.objectives[i].counts) others += (others.empty() ? "" : ", ") + heading_of(a.objectives[i]).text;
  page.say("Ranked by {}{}.", heading_of(a.objectives.front()).text, others.empty() ? "" : ", against " + others);
  if (a.tokens_per_second_per_gpu_apart)
    page.say("Prompts of others take much of the time there; with prefill on GPUs of its own (--disaggregated) {} tokens/s/GPU, and points may rank otherwise.",
             figure(*a.tokens_per_second_per_gpu_apart));
  if (run == 0) return page.say(a.points.back().trouble);
  if (a.front.empty() && shown_points(a).empty()) return;
  page.add("\n");
  add_points(page, a);
  add_parts(page, a);
  if (std::any_of(a.points.begin(), a.points.end(), [](const ExplorePoint& p) { return p.idle_gpus > 0; }))
    page.say("Idle GPUs are of the scale-up domains or racks that a job takes; dollars, joules and MW have them.");
  if (std::any_of(a.points.begin(), a.points.end(), [](const ExplorePoint& p) { return p.extra_dollars_per_gpu_hour.has_value(); }))
    page.say("may cost more: than the machine with no part varied, at the same $/token.");
  if (!a.stack_note.empty()) page.say("Assumed: {}.", a.stack_note);
  for (const std::string& note : a.notes) page.say("Note: {}.", note);
  if (a.price_kind == "owned")
    page.say("Dollars are what owning costs: servers at their listed price, ports and cables by the NICs' rate.");
  else if (a.price_kind)
    page.say("Prices are rent, {}; changing a parameter does not change them.",
             *a.price_kind == "reserved" ? "committed for a year or so" : "on-demand list prices");
  if (a.no_price)
    page.say("{}: {}; give one with --price NAME=USD.", a.price_kind ? "Rows without dollars" : "Money is left out", *a.no_price);
}

[[nodiscard]] std::string csv_of(const ExploreAnswer& a) {
  const auto number = [](double x) { return fmt::format("{:.10g}", x); };
  std::string out = "number";
  for (const ExploreAxis& axis : a.axes) out += "," + csv_quoted(axis.name);
  for (const ExploreObjective& objective : a.objectives) out += "," + csv_quoted(objective.name);
  out += ",low_seconds,high_seconds,meets,front,layout,binds,trouble\n";
  for (const ExplorePoint& point : a.points) {
    Cells cells{std::to_string(point.number)};
    for (const auto& [axis, value] : point.at) {
      const double* const plain = std::get_if<double>(&value);
      cells.push_back(plain != nullptr ? number(*plain) : csv_quoted(std::get<std::string>(value)));
    }
    for (const auto& [objective, value] : point.objectives) cells.push_back(value ? number(*value) : "");
    const auto [low, high] = numbers_in(point.interval);
    const bool runs = point.trouble.empty();
    cells.insert(cells.end(), {runs ? number(low) : "", runs ? number(high) : "", point.meets ? "1" : "0", point.front ? "1" : "0",
                               csv_quoted(point.layout), csv_quoted(point.binds), csv_quoted(point.trouble)});
    out += joined(cells, ",") + "\n";
  }
  return out;
}

template <class Request>
[[nodiscard]] std::string answered(const ExploreTyped& o, const Terminal& terminal) {
  const auto found = spelled_answer(request_of<Request>(o.typed));
  if (!o.csv.empty()) write_output(o.csv, csv_of(found), "--csv");
  return shown(found, o.json, terminal, explored_text);
}

[[nodiscard]] std::string run(const ExploreTyped& o, const Terminal& terminal) {
  if (o.serve == o.train) throw RequestError("explore for what? Say --train or --serve");
  o.train ? refuse_beyond<ExploreRequest, ExploreServeRequest>(o.typed, "--serve")
          : refuse_beyond<ExploreServeRequest, ExploreRequest>(o.typed, "--train");
  return o.train ? answered<ExploreRequest>(o, terminal) : answered<ExploreServeRequest>(o, terminal);
}

}  // namespace

void add_explore(CLI::App& app, Runner& runner) {
  const auto o = std::make_shared<ExploreTyped>();
  CLI::App& sub = *app.add_subcommand("explore", "Vary a machine: the best points, what more is worth");
  sub.add_flag("--train", o->train, "Training");
  sub.add_flag("--serve", o->serve, "Serving");
  add_options(sub, o->typed, fields_of<ExploreRequest>());
  Runner::output(*sub.add_option("--csv", o->csv.path, "Write all points as CSV")->option_text("FILE"));
  sub.add_flag("--json", o->json, "Print JSON");
  add_options(sub, o->typed, fields_of<ExploreServeRequest>(), "Serving");
  sub.footer(
      "Example: fabricost explore --train -m llama3-70b -s dgx-h100 -g 512 -b 512 --vary domain=8,16,32\n"
      "         fabricost explore --serve -m llama3-70b -g 64 -s dgx-h100 --vary batch=1:256:x2");
  runner.add(sub, [o](const Terminal& terminal) { return run(*o, terminal); });
}

}  // namespace fabricost::cli
