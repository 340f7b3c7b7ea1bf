/// \file compare.cpp
/// fabricost compare: the best each machine makes of a job, side by side: time, money, power, what binds it, how sure that is.

#include "text/term_words.hpp"
#include "text/text_table.hpp"
#include "amounts.hpp"
#include "names.hpp"
#include "plan_serve.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"
#include "write_file.hpp"

#include <fabricost/economics/compare.hpp>
#include <fabricost/pictures/compare.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/specs/load_model.hpp>
#include <fabricost/specs/prices.hpp>
#include <fabricost/specs/stacks.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

namespace fabricost::cli {
namespace {

using Json = nlohmann::ordered_json;
/// As typed; empty where nothing was.
struct CompareOptions {
  std::vector<std::string> systems;
  std::string model, gpus, global_batch, sequence, precision, stack, max_tp, isl, osl, ttft, tpot, plot, price_kind;
  std::vector<std::string> own_prices;
  bool train = false, serve = false, json = false;
};

/// The machines' best, and what was compared in one line.
struct Comparison {
  std::vector<Compared> all;
  std::string title;
  bool mixture = false;  ///< the model has experts
  PricedBy priced{};
};

/// "NAME=USD" of a GPU-hour, for machines as they were typed or by their names.
[[nodiscard]] OwnMachinePrices own_prices_of(const CompareOptions& o, const std::vector<System>& systems) {
  OwnMachinePrices out;
  out.kind = one_of<PriceKind>(o.price_kind, asked_price_kinds, "a kind of price", "--price-kind");
  if (o.own_prices.empty()) return out;
  out.gpu_hours.assign(systems.size(), 0);
  std::vector<std::string> names;
  for (const System& s : systems) names.push_back(s.name);
  for (const std::string& given : o.own_prices) {
    const auto equals = given.rfind('=');
    if (equals == std::string::npos)
      throw RequestError(fmt::format("--price {}: write a machine and USD for a GPU-hour, as in {}=2.50", given, names.front()));
    const std::string name = given.substr(0, equals);
    bool found = false;
    for (std::size_t i = 0; i < systems.size(); ++i) {
      if (name != names[i] && name != o.systems[i]) continue;
      out.gpu_hours[i] = number_from(given.substr(equals + 1), "--price", 1e-6, 1e6);
      found = true;
    }
    if (!found) throw_unknown(name, "one of the machines", names, "--price");
  }
  return out;
}

[[nodiscard]] TrainingQuestion training_question(const CompareOptions& o) {
  TrainingQuestion q;
  q.model = load_model(o.model);
  q.stack = load_stack(o.stack.empty() ? default_stack : o.stack);
  q.gpus = count_of(o.gpus, "--gpus");
  q.global_batch = count_of(o.global_batch, "--global-batch");
  if (!o.sequence.empty()) q.sequence = count_of(o.sequence, "--sequence");
  q.max_tp = count_of(o.max_tp, "--max-tp");
  if (const auto p = one_of<Precision>(o.precision, precision_names, "a precision", "--precision")) q.precision = *p;
  return q;
}

[[nodiscard]] ServeOptions serve_options(const CompareOptions& o) {
  ServeOptions s;
  s.model = o.model, s.gpus = o.gpus, s.precision = o.precision, s.stack = o.stack;
  s.isl = o.isl, s.osl = o.osl, s.ttft = o.ttft, s.tpot = o.tpot;
  s.top = "1";
  return s;
}

[[nodiscard]] Comparison compare(const CompareOptions& o) {
  if (o.train == o.serve) throw RequestError("compare for what? Say --train or --serve");
  if (o.model.empty()) throw RequestError("which model? Name it with --model (fabricost models lists them)");
  if (o.systems.empty()) throw RequestError("which machines? Name two or more (fabricost systems lists them)");
  if (o.gpus.empty()) throw RequestError("on how many GPUs? Say it with --gpus");
  if (o.train && o.global_batch.empty()) throw RequestError("how many sequences a step? Say it with --global-batch");
  const Prices prices = load_prices();
  std::vector<System> systems;
  // training asks for no kernels of inference
  for (const std::string& named : o.systems)
    systems.push_back(load_system(named, {}, {}, {.compute = true, .custom = o.serve, .moe = o.serve}));
  const OwnMachinePrices own = own_prices_of(o, systems);
  const auto alike = [&](std::vector<Compared> all, std::string title, bool mixture) {
    PricedBy by = price_alike(all, systems, count_of(o.gpus, "--gpus"), prices, own);
    return Comparison{std::move(all), std::move(title), mixture, std::move(by)};
  };
  if (o.train) {
    const TrainingQuestion q = training_question(o);
    return alike(compare(systems, [&](const System& system) { return compared(q, system, prices); }),
                 fmt::format("Training {} on {} GPUs: {} sequences of {} tokens a step, {}", q.model.name, q.gpus, q.global_batch,
                             q.sequence, precision_names[static_cast<std::size_t>(q.precision)]),
                 q.model.mixture());
  }
  const ServeOptions s = serve_options(o);
  return alike(
      compare(systems,
              [&](const System& system) {
                const ServeAnswer answer = serve_answer(s, system);
                return compared(answer.question, answer.plan.layouts.front(), system, prices);
              }),
      fmt::format("Serving {} on {} GPUs: prompts of {} and answers of {} tokens{}{}", o.model, o.gpus, o.isl.empty() ? "4096" : o.isl,
                  o.osl.empty() ? "512" : o.osl, o.ttft.empty() ? "" : ", first token within " + o.ttft,
                  o.tpot.empty() ? "" : ", each further one within " + o.tpot),
      false);
}

[[nodiscard]] std::string layout_text(const Compared& c, bool mixture) {
  if (c.serving) {
    const EngineLayout& e = c.serving->engine;
    return fmt::format("{} x tp {} pp {} ep {}, batch {:.0f}", c.serving->replicas, e.tp, e.pp, e.ep, c.serving->batch);
  }
  const Layout& l = c.training->layout;
  return fmt::format("tp {} pp {} cp {}{} dp {} zero {}", l.tp, l.pp, l.cp, mixture ? fmt::format(" ep {}", l.ep) : "", l.dp, l.zero);
}

/// The largest term; of training the largest besides computing and the stack's own factor.
[[nodiscard]] TimeTerm largest_term(const Compared& c) {
  TimeTerm most;
  for (const TimeTerm& t : c.terms)
    if (t.seconds > most.seconds && !(c.training && (t.name == "compute" || t.name == "stack"))) most = t;
  return most;
}

/// "arithmetic 69 %, bubble 9 %", as the field `binds` says it.
[[nodiscard]] std::string binds(const Compared& c) {
  const TimeTerm most = largest_term(c);
  if (c.serving) {
    std::string name{most.name};
    std::replace(name.begin(), name.end(), '_', ' ');
    return fmt::format("{} {:.0f} %", name, 100 * most.seconds / c.seconds);
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> said{{{"layer_floor", "launches"},
                                                                               {"tensor", "tensor exchange"},
                                                                               {"context", "context exchange"},
                                                                               {"expert", "expert exchange"},
                                                                               {"hand_over", "hand-over"},
                                                                               {"data", "data exchange"},
                                                                               {"accumulation", "adding up gradients"}}};
  std::string_view name = most.name;
  for (const auto& [term, words] : said)
    if (term == most.name) name = words;
  return fmt::format("arithmetic {:.0f} %, {} {:.0f} %", 100 * share_of({"", c.training->time.compute}, c.terms), name,
                     100 * share_of(most, c.terms));
}

[[nodiscard]] Json to_json(const CompareOptions& o, const Comparison& of) {
  const std::vector<Compared>& all = of.all;
  Json out{{"model", o.model}, {"for", o.train ? "train" : "serve"}, {"gpus", count_of(o.gpus, "--gpus")}};
  out["systems"] = Json::array();
  const auto known = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  for (const Compared& c : all) {
    if (!c.trouble.empty()) {
      out["systems"].push_back({{"system", c.system}, {"trouble", c.trouble}});
      continue;
    }
    Json one{{"system", c.system},
             {o.train ? "step_s" : "tpot_s", c.seconds},
             {"interval_s", {c.low, c.high}},
             {"tokens_per_s_per_gpu", c.tokens_per_gpu},
             {"kernels", c.assumed_kernels ? "assumed" : "measured"},
             {"dollars_per_million_tokens", known(c.dollars)},
             {"price_kind", c.price_kind ? Json(name(*c.price_kind)) : Json(nullptr)},
             {"gpu_hour_usd", c.gpu_hour > 0 ? Json(c.gpu_hour) : Json(nullptr)},
             {"joules_per_million_tokens", known(c.joules)},
             {"megawatts", c.megawatts},
             {"layout", layout_text(c, of.mixture)},
             {"binds", binds(c)},
             {"terms", Json::array()}};
    if (c.training) one["idle_gpus"] = c.idle_gpus;
    for (const TimeTerm& t : c.terms) one["terms"].push_back({{"name", t.name}, {"time_s", t.seconds}});
    out["systems"].push_back(std::move(one));
  }
  out["price"] = {{"kind", of.priced.kind ? Json(name(*of.priced.kind)) : Json(nullptr)},
                  {"why", of.priced.why.empty() ? Json(nullptr) : Json(of.priced.why)}};
  const Verdict v = verdict_of(all);
  const auto system = [](const Compared* c) { return c != nullptr ? Json(c->system) : Json(nullptr); };
  out["verdict"] = {{"best", system(v.best)},
                    {"next", system(v.next)},
                    {"faster", v.best != nullptr ? Json(v.faster) : Json(nullptr)},
                    {"sure", v.sure},
                    {"why", v.why.empty() ? Json(nullptr) : Json(v.why)}};
  return out;
}

/// Bars of tokens per second and GPU.
[[nodiscard]] std::string bars(const std::vector<Compared>& all) {
  constexpr double width = 50;
  double top = 0;
  std::size_t longest = 0;
  for (const Compared& c : all) top = std::max(top, c.tokens_per_gpu), longest = std::max(longest, c.system.size());
  std::string out;
  for (const Compared& c : all)
    if (c.trouble.empty())
      out += fmt::format("  {:<{}}  {} {:.4g}\n", c.system, longest,
                         std::string(static_cast<std::size_t>(std::lround(width * c.tokens_per_gpu / top)), '#'), c.tokens_per_gpu);
  return out;
}

/// Which terms take how much of the time, machines side by side; those of a per cent and more somewhere.
[[nodiscard]] std::string shares_text(const std::vector<Compared>& all) {
  std::vector<TextTable::Column> columns{{""}};
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  std::vector<const Compared*> able;
  for (const Compared& c : all)
    if (c.trouble.empty()) able.push_back(&c), columns.push_back({c.system, right});
  for (std::size_t i = 0; i < able.size(); ++i)
    for (const TimeTerm& t : able[i]->terms) {
      const std::string words{io::term_words(t.name)};
      auto at = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.first == words; });
      if (at == rows.end()) at = rows.insert(rows.end(), {words, std::vector<double>(able.size())});
      at->second[i] += share_of(t, able[i]->terms);
    }
  TextTable out{columns};
  for (const auto& [words, shares] : rows) {
    if (std::none_of(shares.begin(), shares.end(), [](double share) { return std::fabs(share) >= 0.01; })) continue;
    std::vector<std::string> cells{words};
    for (const double share : shares) cells.push_back(fmt::format("{:.0f} %", 100 * share));
    out.row(cells);
  }
  return out.text(2);
}

/// "25 % less energy"; nothing where it is not known of both.
[[nodiscard]] std::string against(const std::optional<double>& one, const std::optional<double>& other, std::string_view what) {
  if (!one || !other || !(*other > 0)) return "";
  const double less = 100 * (1 - *one / *other);
  if (std::fabs(less) < 0.5) return fmt::format("the same {}", what);
  return fmt::format("{:.0f} % {} {}", std::fabs(less), less > 0 ? "less" : "more", what);
}

/// One sentence: which, by how much, how sure.
[[nodiscard]] std::string verdict_text(const CompareOptions& o, const std::vector<Compared>& all) {
  const Verdict v = verdict_of(all);
  if (v.best == nullptr) return fmt::format("No verdict: {}.", v.why);
  if (v.next == nullptr) return fmt::format("{} is the only one of these machines that can do it.", v.best->system);
  std::string extras;
  for (const std::string& one : {against(v.best->dollars, v.next->dollars, "money"), against(v.best->joules, v.next->joules, "energy")})
    if (!one.empty()) extras += (extras.empty() ? ", for " : " and ") + one;
  return fmt::format("{} is the better one: it {} {:.3g} times as many tokens as {} on as many GPUs{}{}; {}.", v.best->system,
                     o.train ? "trains" : "answers with", v.faster, v.next->system, extras, extras.empty() ? "" : " a token",
                     v.sure ? fmt::format("that is sure, their ranges ({:.4g} to {:.4g} and {:.4g} to {:.4g} tokens/s/GPU) do not meet",
                                          v.best->slowest_rate(), v.best->fastest_rate(), v.next->slowest_rate(), v.next->fastest_rate())
                            : fmt::format("likely, not sure: their ranges ({:.4g} to {:.4g} and {:.4g} to {:.4g} tokens/s/GPU) overlap",
                                          v.best->slowest_rate(), v.best->fastest_rate(), v.next->slowest_rate(), v.next->fastest_rate()));
}

/// Which kind of price the money rests on, as sentences.
[[nodiscard]] std::string money_text(const Comparison& of) {
  if (!of.priced.kind) return fmt::format("Money is left out: {}; give one with --price NAME=USD.", of.priced.why);
  std::string out = *of.priced.kind == PriceKind::on_demand  ? "Money is rent on demand, list prices of several sellers"
                    : *of.priced.kind == PriceKind::reserved ? "Money is rent committed for a year or so"
                                                             : "Money is what owning costs";
  std::string given;
  for (const Compared& c : of.all)
    if (c.price_kind == PriceKind::stated) given += (given.empty() ? "" : ", ") + c.system;
  if (!given.empty()) out += fmt::format("; of {} as given", given);
  return out + ".";
}

[[nodiscard]] std::string text_of(const CompareOptions& o, const Comparison& of, const Terminal& terminal) {
  const std::vector<Compared>& all = of.all;
  std::string out = terminal.strong(of.title) + "\n";
  TextTable rows{{{"machine"},
                  {o.train ? "s a step" : "ms a token", right},
                  {"nine in ten", right},
                  {"tokens/s/GPU", right},
                  {"$/GPU-hour", right},
                  {"$/M tokens", right},
                  {"J/token", right},
                  {"MW", right},
                  {o.train ? "takes most besides computing" : "takes most"}}};
  const double unit = o.train ? 1 : 1e3;
  for (const Compared& c : all) {
    if (!c.trouble.empty()) continue;
    const TimeTerm most = largest_term(c);
    rows.row({c.system, fmt::format("{:.4g}", unit * c.seconds), fmt::format("{:.3g} to {:.3g}", unit * c.low, unit * c.high),
              fmt::format("{:.4g}", c.tokens_per_gpu), c.gpu_hour > 0 ? fmt::format("{:.4g}", c.gpu_hour) : "",
              c.dollars ? fmt::format("{:.3g}", *c.dollars) : "?", c.joules ? fmt::format("{:.3g}", *c.joules * 1e-6) : "?",
              c.joules ? fmt::format("{:.3g}", c.megawatts) : "?",
              fmt::format("{}, {:.0f} %", io::term_words(most.name), 100 * share_of(most, c.terms))});
  }
  out += rows.text(2);
  for (const Compared& c : all)
    if (!c.trouble.empty()) out += wrapped("  ", fmt::format("{}: {}", c.system, c.trouble), 120);
  out += "\n" + terminal.strong("Tokens per second and GPU") + "\n" + bars(all);
  out += "\n" + terminal.strong(o.train ? "Where a step goes" : "Where the time of a token goes") + "\n" + shares_text(all);
  out += "\n" + terminal.strong("Laid out as") + "\n";
  TextTable layouts{{{""}, {""}}};
  for (const Compared& c : all)
    if (c.trouble.empty()) layouts.row({c.system, layout_text(c, of.mixture)});
  out += layouts.text(2);
  for (const Compared& c : all)
    if (c.idle_gpus > 0)
      out += wrapped("  ",
                     fmt::format("{}: {} GPUs of the scale-up domains that the job takes stay idle, in no figure and no price.", c.system,
                                 c.idle_gpus),
                     100);
  out += wrapped("  ",
                 "GPUs that share a layer's matrices: tp; stages of layers: pp; " +
                     std::string{o.train ? "parts of a sequence: cp; experts: ep; copies of the model: dp, which share optimizer (zero 1), "
                                           "gradients (2) and weights (3)."
                                         : "experts: ep; so many engines, each with a batch of requests."},
                 100);
  out += wrapped(
      "  ",
      fmt::format("Nine in ten measured runs should fall into the range given. {} Joules and megawatts are the site's, with cooling.",
                  money_text(of)),
      100);
  out += "\n" + wrapped("  ", verdict_text(o, all), 100);
  return out;
}

}  // namespace

void add_compare(CLI::App& app, Runner& runner) {
  const auto o = std::make_shared<CompareOptions>();
  CLI::App& sub = *app.add_subcommand("compare", "The best machines make of a job, side by side");
  sub.add_option("SYSTEMS", o->systems, "Two or more machines: names of fabricost systems, or YAML files")->option_text(" ");
  sub.add_flag("--train", o->train, "Compare training");
  sub.add_flag("--serve", o->serve, "Compare serving");
  const auto option = [&](const char* names, std::string& into, const char* help, const char* kind) {
    sub.add_option(names, into, help)->option_text(kind);
  };
  option("--model,-m", o->model, "The model: a name of fabricost models, or a YAML file", "NAME");
  option("--gpus,-g", o->gpus, "How many GPUs of each", "N");
  option("--global-batch,-b", o->global_batch, "Training: sequences a step", "N");
  option("--sequence,-l", o->sequence, "Training: tokens a sequence; default 4096", "N");
  option("--max-tp", o->max_tp, "Training: most tensor ranks", "N");
  option("--isl", o->isl, "Serving: tokens of a prompt", "N");
  option("--osl", o->osl, "Serving: tokens of an answer", "N");
  option("--ttft", o->ttft, "Serving: longest time to the first token, as in 1s", "TIME");
  option("--tpot", o->tpot, "Serving: longest time per token, as in 30ms", "TIME");
  option("--precision", o->precision, "Of matrix products", "P");
  option("--stack", o->stack, "The software", "NAME");
  sub.add_option("--price", o->own_prices, "Your own price of a GPU-hour of one machine, repeatable:\n--price dgx-h100=2.50")
      ->option_text("NAME=USD")
      ->allow_extra_args(false);
  option("--price-kind", o->price_kind, "on_demand, reserved or owned; default the first known of all", "KIND");
  option("--plot", o->plot, "Write a picture (SVG)", "FILE");
  sub.add_flag("--json", o->json, "Print JSON");
  sub.footer("Example: fabricost compare dgx-b200 gb200-nvl72 --train -m moe-1.8t -g 1152 -b 2304");
  runner.add(sub, [o](const Terminal& terminal) {
    const Comparison of = compare(*o);
    if (!o->plot.empty()) write_file(o->plot, comparison_svg(of.all, of.title), "--plot");
    return o->json ? printed(to_json(*o, of)) : text_of(*o, of, terminal);
  });
}

}  // namespace fabricost::cli
