/// fabricost compare: the answer as text.

#include "answers/job_verdict.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"
#include "text/amounts.hpp"
#include "text/term_words.hpp"

#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/pictures/compare.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>

namespace fabricost::cli {
namespace {

/// Bars of tokens per second and GPU, or of requests per second.
void add_bars(Page& page, const std::vector<Compared>& all) {
  constexpr double width = 50;
  double top = 0;
  std::size_t longest = 0;
  for (const Compared& c : all) top = std::max(top, c.worth()), longest = std::max(longest, c.system.size());
  for (const Compared& c : all)
    if (c.trouble.empty())
      page.line("{:<{}}  {} {}", c.system, longest,
                std::string(static_cast<std::size_t>(std::lround(width * c.worth() / top)), '#'), figure(c.worth()));
}

/// The share of each term, machines side by side; terms below 1 % on all machines are left out.
void add_shares(Page& page, const std::vector<Compared>& all) {
  Cells headings{""};
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  std::vector<const Compared*> able;
  for (const Compared& c : all)
    if (c.trouble.empty()) able.push_back(&c), headings.push_back(">" + c.system);
  for (std::size_t i = 0; i < able.size(); ++i)
    for (const StepTerm& t : able[i]->terms) {
      const std::string words{term_words(t.name)};
      auto at = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.first == words; });
      if (at == rows.end()) at = rows.insert(rows.end(), {words, std::vector<double>(able.size())});
      at->second[i] += share_of(t.time, able[i]->terms);
    }
  TextTable out{headings};
  for (const auto& [words, shares] : rows) {
    if (std::none_of(shares.begin(), shares.end(), [](double share) { return std::fabs(share) >= 0.01; })) continue;
    Cells cells{words};
    for (const double share : shares) cells.push_back(percent(share, 0));
    out.row(cells);
  }
  page.table(out);
}

/// Whether the machines that can do the job run in different precisions.
[[nodiscard]] bool formats_differ(const std::vector<Compared>& all) {
  const Compared* first = nullptr;
  for (const Compared& c : all) {
    if (!c.trouble.empty()) continue;
    if (first != nullptr && c.precision != first->precision) return true;
    first = &c;
  }
  return false;
}

/// The kinds of prices that the costs use, as sentences.
[[nodiscard]] std::string money_text(const CompareAnswer& of) {
  if (!of.price_kind) return fmt::format("Money is left out: {}; give one with --price NAME=USD.", *of.no_price);
  std::string out = *of.price_kind == "on_demand"  ? "Money is rent on demand, list prices of several sellers"
                    : *of.price_kind == "reserved" ? "Money is rent committed for a year or so"
                                                   : "Money is what owning costs: " + of.owning;
  if (of.price_instead) out += fmt::format(" ({})", *of.price_instead);
  std::string given;
  for (const Compared& c : of.all)
    if (c.price_kind == PriceKind::stated) given += (given.empty() ? "" : ", ") + c.system;
  if (!given.empty()) out += fmt::format("; for {} as given", given);
  if (of.no_price) out += fmt::format("; {}: give one with --price NAME=USD", *of.no_price);
  return out + ".";
}

/// The rent of a GPU-hour, or what owning it costs.
[[nodiscard]] std::string gpu_hour_text(const Compared& c, int gpus) {
  if (c.gpu_hour > 0 || !c.dollars) return c.gpu_hour > 0 ? figure(c.gpu_hour) : "?";
  return figure(*c.dollars * c.tokens_per_gpu * c.more * 3600 / 1e6 * gpus / (gpus + c.idle_gpus), 3);
}

/// Where prefill on GPUs of its own answers more.
void add_apart(Page& page, const CompareAnswer& of) {
  std::string all;
  for (const ComparedAnswer& row : of.rows)
    if (row.tokens_per_second_per_gpu_apart)
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", row.system, figure(*row.tokens_per_second_per_gpu_apart));
  if (!all.empty())
    page.say("Prompts of others take much of the time. With prefill on GPUs of its own (--disaggregated), tokens/s/GPU: {}.", all);
}

/// What stands in the money: kinds of price, and GPUs that are paid for and idle.
void add_bill(Page& page, const CompareAnswer& of) {
  page.say(money_text(of));
  for (std::size_t i = 0; i < of.all.size(); ++i) {
    const Compared& c = of.all[i];
    if (of.rows[i].used_gpus)
      page.say("{}: {} of {} GPUs work, {} stay idle: no layout of all costs less a token. Figures a GPU are of all.", c.system,
               *of.rows[i].used_gpus, of.gpus, of.gpus - *of.rows[i].used_gpus);
    if (c.part_of_domain)
      page.say(
          "{}: rented by the node, the job pays for its own nodes only; where the rack is bought it pays for all of it "
          "(--price-kind owned).",
          c.system);
    else if (c.idle_gpus > 0)
      page.say("{}: {} GPUs of the scale-up domains or racks that the job takes stay idle; they are in the money and, as if busy, in the energy.", c.system,
               c.idle_gpus);
  }
}

void compared_text(Page& page, const CompareAnswer& of) {
  const std::vector<Compared>& all = of.all;
  const bool train = of.job == "train";
  const bool arrive = std::any_of(of.rows.begin(), of.rows.end(), [](const ComparedAnswer& row) { return row.arrivals.has_value(); });
  page.title(verdict_of(of));
  page.say(of.title);
  if (!of.grounds.empty()) page.say(of.grounds);
  page.add("\n");
  const bool paid = std::any_of(all.begin(), all.end(), [](const Compared& c) { return c.idle_gpus > 0; });
  const bool small = std::all_of(all.begin(), all.end(), [](const Compared& c) { return c.megawatts < 0.1; });  // of some servers
  TextTable rows{"machine",
                 train ? "" : "weights",  // the title of a training job names its one precision
                 train ? ">s/step" : ">TPOT ms",
                 ">nine in ten",
                 ">tokens/s/GPU",
                 arrive ? ">within" : "",
                 arrive ? fmt::format(">p{:g} TTFT", of.percentile) : "",
                 arrive ? fmt::format(">p{:g} TPOT", of.percentile) : "",
                 paid ? ">GPUs paid" : "",
                 ">$/GPU-h",
                 fmt::format(">$/Mtoken {}", paid_words(of.price_kind)),
                 ">J/token",
                 small ? ">kW" : ">MW",
                 arrive ? ">up to req/s" : "",
                 arrive ? ">$/Mtoken there" : "",
                 arrive ? ">J/token there" : "",
                 train ? "takes most besides computing" : "takes most"};
  const double unit = train ? 1 : 1e3;
  const auto number = [](const std::optional<double>& value, double worth) { return value ? figure(*value * worth, 3) : std::string{"?"}; };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Compared& c = all[i];
    if (!c.trouble.empty()) continue;
    const StepTerm max = largest_term(c);
    const std::optional<ServedArrivals>& a = of.rows[i].arrivals;
    rows.row(c.system, train ? "" : std::string{c.precision}, figure(unit * c.seconds),
             fmt::format("{} to {}", figure(unit * c.low, 3), figure(unit * c.high, 3)), figure(c.tokens_per_gpu),
             a ? percent(a->within, 1) : "", a ? short_time_text(a->ttft.at_percentile.value()) : "",
             a ? short_time_text(a->tpot.at_percentile.value()) : "",
             paid ? std::to_string(of.gpus + c.idle_gpus) : "", gpu_hour_text(c, of.gpus), number(of.rows[i].dollars_per_million_tokens, 1),
             number(of.rows[i].joules_per_million_tokens, 1e-6), c.joules ? figure((small ? 1e3 : 1) * c.megawatts, 3) : "?",
             a ? a->rate_within ? figure(*a->rate_within) : "any" : "", a ? number(c.dollars, 1) : "", a ? number(c.joules, 1e-6) : "",
             fmt::format("{}, {:.0f} %", term_words(max.name), 100 * share_of(max.time, c.terms)));
  }
  page.table(rows);
  if (formats_differ(all)) page.say("Weights are fp8 where the GPU multiplies in it, else bf16; --precision gives all machines one.");
  if (!of.no_units.empty()) page.say(of.no_units + ".");
  page.width = 120;
  for (const ComparedAnswer& row : of.rows)
    if (!row.trouble.empty()) page.say("{}: {}", row.system, row.trouble);
  for (const ComparedAnswer& row : of.rows)
    if (!row.stack_note.empty()) page.say("{}: {}.", row.system, row.stack_note);
  add_bill(page, of);
  add_apart(page, of);
  page.width = 100;
  page.section(arrive ? "Requests per second within the limits" : "Tokens per second and GPU");
  add_bars(page, all);
  page.section(train ? "Where a step goes" : "Where the time of a token goes");
  add_shares(page, all);
  page.section("Layouts");
  TextTable layouts{"", ""};
  for (const ComparedAnswer& row : of.rows)
    if (row.trouble.empty()) layouts.row(row.system, row.layout);
  page.table(layouts);
  for (const ComparedAnswer& row : of.rows)
    if (row.against_usual) page.say("{}: {}", row.system, *row.against_usual);
  page.say("GPUs that share a layer's matrices: tp; stages of layers: pp; {}",
           train
               ? "parts of a sequence: cp; experts: ep; copies of the model: dp, which share optimizer (zero 1), gradients (2) and weights "
                 "(3)."
               : "experts: ep; so many engines, each with a batch of requests.");
  page.say("Nine in ten measured runs should fall into the range given. {}Joules and {}watts are the site's, with cooling.",
           train ? "" : "Tokens are those of answers, not of prompts. ", small ? "kilo" : "mega");
  if (arrive)
    page.say("up to req/s: the most within the limits in any layout, which is the one shown. there: at that rate, which the verdict compares; "
             "what else is in a row is of the rate asked for.");
}

}  // namespace

void add_compare(CLI::App& app, Runner& runner) {
  add_question<CompareRequest>(
      app, runner, "compare", "Compare machines on one training or serving job",
      "Example: fabricost compare dgx-b200 gb200-nvl72 --train -m moe-1.8t -g 1152 -b 2304\n"
      "         fabricost compare dgx-h100 dgx-b200 --train -m llama3-405b -g 8192 -b 2048 --tokens 15T", compared_text,
      Writes{"--plot", "Write a picture (SVG)", [](const CompareAnswer& a) { return comparison_svg(a.all, a.title); }});
  app.get_subcommand("compare")->get_option("SYSTEMS")->delimiter(',');
}

}  // namespace fabricost::cli
