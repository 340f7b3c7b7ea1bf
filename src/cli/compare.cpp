/// \file compare.cpp
/// fabricost compare: the best each machine makes of a job, side by side: time, money, power, what binds it, how sure that is.

#include "../io/text_table.hpp"
#include "names.hpp"
#include "plan_serve.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/io/load.hpp>
#include <fabricost/io/load_model.hpp>
#include <fabricost/io/reliability.hpp>
#include <fabricost/io/workload.hpp>
#include <fabricost/plan/cost.hpp>
#include <fabricost/plan/training.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <tuple>

namespace fabricost::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr auto right = TextTable::Align::right;

/// As typed; empty where nothing was.
struct CompareOptions {
  std::vector<std::string> systems;
  std::string model, gpus, global_batch, sequence, precision, stack, max_tp, isl, osl, ttft, tpot;
  bool train = false, serve = false, json = false;
};

/// One machine's best.
struct Compared {
  std::string system, layout, binds, trouble;  ///< trouble: why it has none
  double seconds = 0, low = 0, high = 0;       ///< of a step, or of a token
  double tokens_per_gpu = 0;                   ///< tokens per second and GPU
  double share = 0;                            ///< of the time, what binds it takes
  std::optional<double> dollars, joules;       ///< per million tokens; nothing where not known
  double megawatts = 0;
};

void add_money(Compared& c, const System& system, double gpus, const Prices& prices) {
  const Money money = money_per_million_tokens(system, gpus, c.tokens_per_gpu * gpus, prices);
  if (money.paid_known()) c.dollars = money.paid().value();
  if (!money.power_known) return;
  c.joules = money.energy.value();
  c.megawatts = power_of(system, gpus, prices.power).site.value() * 1e-6;
}

[[nodiscard]] Compared train_on(const CompareOptions& o, const System& system, const Prices& prices) {
  TrainingQuestion q;
  q.model = load_model(o.model);
  q.stack = load_stack(o.stack.empty() ? default_stack : o.stack);
  q.gpus = count_of(o.gpus, "--gpus");
  q.global_batch = count_of(o.global_batch, "--global-batch");
  if (!o.sequence.empty()) q.sequence = count_of(o.sequence, "--sequence");
  q.max_tp = count_of(o.max_tp, "--max-tp");
  q.top = 1;
  if (!o.precision.empty()) {
    const auto p = detail::parse_enum<Precision>(o.precision, precision_names);
    if (!p) throw_unknown(o.precision, "a precision", listed(precision_names));
    q.precision = *p;
  }
  Compared c;
  const TrainingPlan plan = plan_training(q, system);
  if (plan.layouts.empty()) throw RequestError("does not fit in any layout");
  const PricedLayout& best = plan.layouts.front();
  const Layout& l = best.layout;
  const StepTime& t = best.time;
  c.seconds = t.seconds;
  std::tie(c.low, c.high) = interval_of(t.seconds, q.stack, system.gpu.generation, q.precision);
  c.tokens_per_gpu = static_cast<double>(q.global_batch) * q.sequence / (t.seconds * q.gpus);
  c.layout = fmt::format("tp {} pp {} cp {}{} dp {} zero {}", l.tp, l.pp, l.cp, q.model.mixture() ? fmt::format(" ep {}", l.ep) : "", l.dp,
                         l.zero);
  const std::array<std::pair<const char*, double>, 8> terms{{{"tensor exchange", t.tensor},
                                                             {"context exchange", t.context},
                                                             {"expert exchange", t.expert},
                                                             {"hand-over", t.pipeline},
                                                             {"bubble", t.bubble},
                                                             {"data exchange", t.data},
                                                             {"launches", t.floor},
                                                             {"optimizer", t.optimizer}}};
  const auto most = std::max_element(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  c.binds = fmt::format("arithmetic {:.0f} %, {} {:.0f} %", 100 * t.compute / t.seconds, most->first, 100 * most->second / t.seconds);
  c.share = most->second / t.seconds;
  add_money(c, system, q.gpus, prices);
  return c;
}

[[nodiscard]] Compared serve_on(const CompareOptions& o, const System& system, const std::string& named, const Prices& prices) {
  ServeOptions s;
  s.model = o.model, s.system = named, s.gpus = o.gpus, s.precision = o.precision, s.stack = o.stack;
  s.isl = o.isl, s.osl = o.osl, s.ttft = o.ttft, s.tpot = o.tpot;
  s.json = true;
  s.top = "1";
  const Json answer = Json::parse(plan_serve(s, Terminal{}));
  const Json& best = answer.at("layouts").at(0);
  Compared c;
  c.seconds = best.at("tpot_s").get<double>();
  c.low = best.at("interval_tpot_s").at(0).get<double>();
  c.high = best.at("interval_tpot_s").at(1).get<double>();
  c.tokens_per_gpu = best.at("tokens_per_s_per_gpu").get<double>();
  c.layout = fmt::format("{} x tp {} pp {} ep {}, batch {:.0f}", best.at("replicas").get<int>(), best.at("tp").get<int>(),
                         best.at("pp").get<int>(), best.at("ep").get<int>(), best.at("batch").get<double>());
  std::string name;
  double most = 0;
  for (const Json& term : best.at("terms"))
    if (const double t = term.at("time_s").get<double>(); t > most) most = t, name = term.at("name").get<std::string>();
  std::replace(name.begin(), name.end(), '_', ' ');
  c.share = most / c.seconds;
  c.binds = fmt::format("{} {:.0f} %", name, 100 * c.share);
  add_money(c, system, count_of(o.gpus, "--gpus"), prices);
  return c;
}

[[nodiscard]] std::vector<Compared> compare(const CompareOptions& o) {
  if (o.train == o.serve) throw RequestError("compare for what? Say --train or --serve");
  if (o.model.empty()) throw RequestError("which model? Name it with --model (fabricost models lists them)");
  if (o.systems.empty()) throw RequestError("which machines? Name two or more (fabricost systems lists them)");
  if (o.gpus.empty()) throw RequestError("on how many GPUs? Say it with --gpus");
  if (o.train && o.global_batch.empty()) throw RequestError("how many sequences a step? Say it with --global-batch");
  const Prices prices = load_prices();
  std::vector<Compared> out;
  bool any = false;
  for (const std::string& named : o.systems) {
    const System system = load_system(named);
    Compared c;
    try {
      c = o.train ? train_on(o, system, prices) : serve_on(o, system, named, prices);
      any = true;
    } catch (const RequestError& error) {
      c.trouble = error.what();
    }
    c.system = system.name;
    out.push_back(std::move(c));
  }
  if (!any) throw RequestError(out.front().system + ": " + out.front().trouble);
  return out;
}

[[nodiscard]] Json to_json(const CompareOptions& o, const std::vector<Compared>& all) {
  Json out{{"model", o.model}, {"for", o.train ? "train" : "serve"}, {"gpus", count_of(o.gpus, "--gpus")}};
  out["systems"] = Json::array();
  const auto known = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  for (const Compared& c : all) {
    if (!c.trouble.empty()) {
      out["systems"].push_back({{"system", c.system}, {"trouble", c.trouble}});
      continue;
    }
    out["systems"].push_back({{"system", c.system},
                              {o.train ? "step_s" : "tpot_s", c.seconds},
                              {"interval_s", {c.low, c.high}},
                              {"tokens_per_s_per_gpu", c.tokens_per_gpu},
                              {"dollars_per_million_tokens", known(c.dollars)},
                              {"joules_per_million_tokens", known(c.joules)},
                              {"megawatts", c.megawatts},
                              {"layout", c.layout},
                              {"binds", c.binds}});
  }
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

[[nodiscard]] std::string text_of(const CompareOptions& o, const std::vector<Compared>& all, const Terminal& terminal) {
  std::string out = terminal.strong(fmt::format("{} {} on {} GPUs", o.train ? "Training" : "Serving", o.model, o.gpus)) + "\n";
  TextTable rows{{{"system"},
                  {o.train ? "step s" : "ms a token", right},
                  {"nine in ten", right},
                  {"tokens/s/GPU", right},
                  {"$/M tokens", right},
                  {"J/token", right},
                  {"MW", right},
                  {"what takes it"},
                  {"layout"}}};
  const double unit = o.train ? 1 : 1e3;
  for (const Compared& c : all) {
    if (!c.trouble.empty()) continue;
    rows.row({c.system, fmt::format("{:.4g}", unit * c.seconds), fmt::format("{:.3g} to {:.3g}", unit * c.low, unit * c.high),
              fmt::format("{:.4g}", c.tokens_per_gpu), c.dollars ? fmt::format("{:.3g}", *c.dollars) : "?",
              c.joules ? fmt::format("{:.3g}", *c.joules * 1e-6) : "?", c.joules ? fmt::format("{:.3g}", c.megawatts) : "?", c.binds,
              c.layout});
  }
  out += rows.text(2);
  for (const Compared& c : all)
    if (!c.trouble.empty()) out += fmt::format("  {}: {}\n", c.system, c.trouble);
  out += "\n" + terminal.strong("Tokens per second and GPU") + "\n" + bars(all);
  out +=
      "\n  Money is rent where a price is known, else what owning costs; power is the site's, with cooling. The sooner two intervals part, "
      "the\n"
      "  surer the order of two machines.\n";
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
  sub.add_flag("--json", o->json, "Print JSON");
  sub.footer("Example: fabricost compare dgx-b200 gb200-nvl72 --train -m moe-1.8t -g 1152 -b 2304");
  runner.add(sub, [o](const Terminal& terminal) {
    const std::vector<Compared> all = compare(*o);
    return o->json ? printed(to_json(*o, all)) : text_of(*o, all, terminal);
  });
}

}  // namespace fabricost::cli
