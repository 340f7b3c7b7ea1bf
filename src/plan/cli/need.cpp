/// fabricost need: the answers as text.

#include "answers/job_verdict.hpp"
#include "answers/need/usual.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"
#include "text/joined.hpp"

#include <fabricost/plan/answers/design/need.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <vector>

namespace fabricost::cli {
namespace {

struct NeedOptions : GivenOptions {
  bool train = false, serve = false;
};

/// What the layout does to fit beside sharding: "; full recomputation of 12 layers, 60 % of the optimizer's states in host memory".
[[nodiscard]] std::string means_text(const PlannedLayout& l) {
  std::vector<std::string> means;
  if (l.recompute == recompute_names[static_cast<std::size_t>(Recompute::selective)])
    means.push_back("selective recomputation" + (l.recompute_modules.empty() ? "" : " of " + l.recompute_modules));
  if (l.recompute == recompute_names[static_cast<std::size_t>(Recompute::full)])
    means.push_back("full recomputation" + (l.recompute_num_layers ? fmt::format(" of {} layers", *l.recompute_num_layers) : ""));
  if (l.optimizer_offload_fraction)
    means.push_back(fmt::format("{:.0f} % of the optimizer's states in host memory", 100 * *l.optimizer_offload_fraction));
  else if (l.host)
    means.push_back("activations in host memory");
  return means.empty() ? "" : fmt::format("; {}", joined(means));
}

[[nodiscard]] std::string layout_text(const NeedAnswer& a) {
  if (a.layout) {
    const PlannedLayout& l = *a.layout;
    return fmt::format("{}{} GPUs, batch {}: step {} ({} to {} s), MFU {:.1f} %; tp {} pp {} cp {} ep {} dp {} zero {}{}",
                       l.used_gpus < l.gpus ? fmt::format("{} of ", l.used_gpus) : "", l.gpus, l.global_batch,
                       duration_text(l.step), figure(l.interval.first.value(), 3), figure(l.interval.second.value(), 3), 100 * l.mfu, l.tp, l.pp, l.cp,
                       l.ep, l.dp, l.zero, means_text(l));
  }
  const PlannedDeployment& d = *a.deployment;
  return fmt::format("{} GPUs: {} tokens/s, first token {}, then {} each; {} of tp {} pp {} ep {} dp {}, batch {:.0f}{}{}", d.gpus,
                     figure(d.tokens_per_second), duration_text(d.ttft), duration_text(d.tpot),
                     counted(d.replicas, d.disaggregated ? "decode worker" : "engine"), d.tp, d.pp, d.ep, d.dp, d.batch,
                     d.disaggregated ? fmt::format(" behind {} of tp {} pp {} ep {} dp {}", counted(d.prefill_workers, "prefill worker"), d.prefill_tp,
                                                   d.prefill_pp, d.prefill_ep, d.prefill_dp)
                                     : "",
                     d.idle_gpus > 0 ? fmt::format("; {} GPUs idle", d.idle_gpus) : "");
}

void add_range(Page& page, const NeedAnswer& a) {
  const auto text = [](const std::optional<double>& value) { return value ? min_text(*value) : "none"; };
  if (a.fast_value == a.slow_value && a.value == a.slow_value) return page.line("The same if it is as fast, or as slow, as its interval allows.");
  page.line("{} if it is as fast as its interval allows, {} if as slow{}.", text(a.fast_value), text(a.slow_value),
            a.slow_value ? "" : ": there nothing tried is enough");
}

/// Whether two values are refused for one reason, by its beginning: refusals of neighbouring values differ in numbers.
[[nodiscard]] bool refused_alike(const NeedTried& a, const NeedTried& b) {
  constexpr std::size_t beginning = 60;
  return plan::need::without_numbers(a.trouble).substr(0, beginning) == plan::need::without_numbers(b.trouble).substr(0, beginning);
}

/// The values around the answer, or the first and last ones.
void add_tried(Page& page, const NeedAnswer& a) {
  constexpr std::ptrdiff_t around = 4;
  const auto middle = std::find_if(a.tried.begin(), a.tried.end(), [&](const NeedTried& one) { return a.value && one.value == *a.value; });
  const auto from = middle - a.tried.begin() > around ? middle - around : a.tried.begin();
  const auto until = a.tried.end() - middle > around ? middle + around + 1 : a.tried.end();
  TextTable rows{">" + a.unknown + (a.unit.empty() ? "" : ", " + a.unit), ">" + a.measured, "enough", "most besides computing"};
  const auto end = a.value ? until : a.tried.end();
  const std::ptrdiff_t skipped = a.value ? 0 : std::ssize(a.tried) - 2 * around;
  for (auto one = a.value ? from : a.tried.begin(); one != end;) {
    if (skipped > 2 && one - a.tried.begin() >= around && end - one > around) {
      rows.row("...", "", "", fmt::format("{} more", end - one - around));
      one = end - around;
    }
    auto last = one;  // values that are refused for the same reason are one row
    while (!one->trouble.empty() && last + 1 != end && refused_alike(*(last + 1), *one)) ++last;
    rows.row(last == one ? min_text(one->value) : fmt::format("{} to {}", min_text(one->value), min_text(last->value)),
             one->measure ? figure(*one->measure) : "", one->holds ? "yes" : "no",
             one->binds.empty() ? shortened(one->trouble, 70) : one->binds);
    one = last + 1;
  }
  page.table(rows);
}

void text_of(Page& page, const NeedAnswer& a) {
  page.title(verdict_of(a));
  if (!a.satisfied) {
    page.say(a.reason);
    page.add("\n");
    add_tried(page, a);
    return;
  }
  if (!a.beyond.empty()) page.say(a.beyond + ".");
  add_range(page, a);
  page.say("There: " + layout_text(a) + ".");
  if (a.layout && a.layout->needed_gpus > a.layout->used_gpus)
    page.say("{} GPUs work; {} that its groups leave idle between them in their scale-up domains are counted.", a.layout->used_gpus,
             a.layout->needed_gpus - a.layout->used_gpus);
  if (a.layout && a.layout->idle_gpus > 0)
    page.say("{} more complete its last scale-up domain or rack, not counted: project and compare pay for them where they come with it.",
             a.layout->idle_gpus);
  if (!a.stack_note.empty()) page.say("Assumed: {}.", a.stack_note);
  if (a.rate_apart)
    page.say("With prompts on GPUs of their own (--disaggregated) as many hold up to {:.4g} requests/s: fewer may be enough.", *a.rate_apart);
  if (a.days_with_failures)
    page.line("With failures it takes {:.4g} days{}: --goodput counts them.", *a.days_with_failures,
              *a.days_with_failures > *a.limit ? ", too long" : "");
  if (const auto& beyond = a.most ? a.next_larger : a.next_smaller; beyond)
    page.say("{} is {}; there: {}.", with_unit(*beyond, a.unit), a.most ? "too much" : "not enough", a.binding);
  else
    page.line("{} is the {} that was tried: {} may be enough.", with_unit(*a.value, a.unit), a.most ? "most" : "least",
              a.most ? "more" : "less");
  if (a.one_batch && a.binding.find(" idle; ") != std::string::npos)
    page.say("GPUs are idle that the batch does not divide: another one may need fewer, as with --batch-within 15%.");
  page.section("Around it");
  add_tried(page, a);
}

/// "1.234e+07" dollars, watts or seconds as a person writes them.
[[nodiscard]] std::string measure_text(const std::string& measured, double value) {
  if (measured.ends_with("USD")) return dollars_text(value);
  if (measured.ends_with(", W")) return large_text(value, "W");
  return measured.ends_with(", s") ? duration_text(value) : min_text(value);
}

/// The changes of the choice at the ends of the runs' intervals.
[[nodiscard]] std::string certainty_text(const NeedMachineAnswer& a) {
  const auto at = [&a](const std::optional<std::string>& value, std::string_view when) {
    return value == a.value ? std::string{}
                            : fmt::format("; at the {} end of the ranges {} is best", when, value.value_or("none"));
  };
  return "Not certain" + at(a.fast_value, "fast") + at(a.slow_value, "slow") +
         (a.slow_value ? "." : ": too late, too dear or too large there.");
}

/// "22.61 M USD owned in that time (567.6 M USD to buy)", of what is rented "2 M USD rented".
[[nodiscard]] std::string money_text(const ProjectedRun& r) {
  const std::string price = fmt::format("{} {}", dollars_text(*r.price), paid_words(r.price_kind));
  return r.price_kind == "owned" && r.capital ? fmt::format("{} in that time ({} to buy)", price, dollars_text(*r.capital)) : price;
}

/// Why machines cannot do the job, those with one reason together.
void add_troubles(Page& page, const NeedMachineAnswer& a) {
  std::vector<std::pair<std::string, std::vector<const NeedMachineTried*>>> alike;
  for (const NeedMachineTried& one : a.tried) {
    if (one.trouble.empty()) continue;
    const std::string key = plan::need::without_numbers(one.trouble);
    auto at = std::find_if(alike.begin(), alike.end(), [&](const auto& group) { return group.first == key; });
    if (at == alike.end()) at = alike.insert(alike.end(), {key, {}});
    at->second.push_back(&one);
  }
  for (const auto& [key, group] : alike) {
    std::vector<std::string> names;
    for (const NeedMachineTried* one : group) names.push_back(one->value);
    page.say("{}: {}{}{}", joined(names), group.size() > 1 ? "of the first, " : "", group.front()->trouble,
             group.front()->unpriced ? "; give one with --price NAME=USD" : "");
  }
}

void text_of(Page& page, const NeedMachineAnswer& a) {
  page.title(verdict_of(a));
  if (a.satisfied) {
    const ProjectedRun& r = *a.run;
    if (a.fast_value != a.value || a.slow_value != a.value) page.say(certainty_text(a));
    page.say("There: {}{}, {:.4g} days ({:.3g} to {:.3g}){}; step {}, {:.1f} % left by failures{}.", counted(r.gpus, "GPU"),
             r.spares > 0 ? fmt::format(" and {}", counted(r.spares, r.spares_per_rack ? "spare rack" : "spare node")) : "",
             r.time.value() / day_seconds, r.interval.first.value() / day_seconds, r.interval.second.value() / day_seconds,
             r.price ? ", " + money_text(r) : "", duration_text(r.step), 100 * r.goodput,
             r.kernels == "assumed" ? "; what its kernels reach is assumed" : "");
    if (!r.cost->network_note.empty()) page.say(r.cost->network_note);
    if (a.next_smaller) page.say("{} would be better, but: {}.", *a.next_smaller, a.binding);
  } else {
    page.say(a.reason);
  }
  const bool bought = a.price_kind == "owned", paid = a.measured.ends_with("USD"), counts = a.measured == "GPUs";
  const std::string what = a.measured.substr(0, a.measured.find(','));
  TextTable rows{"machine", ">GPUs", counts ? "" : fmt::format(">{}{}{}", what, paid ? ", " : "", paid ? paid_words(a.price_kind) : ""),
                 bought ? ">to buy" : "", "enough", ""};
  for (const NeedMachineTried& one : a.tried)
    if (one.trouble.empty())
      rows.row(one.value, *one.gpus, counts ? "" : measure_text(a.measured, *one.measure),
               bought ? one.capital ? dollars_text(*one.capital) : "?" : "",
               fmt::format("{}{}", one.holds ? "yes" : "no", one.sure ? "" : ", not sure"),
               one.ranked || a.no_verdict ? one.binds : fmt::format("{}{}not ranked: kernels assumed", one.binds, one.binds.empty() ? "" : "; "));
  page.add("\n");
  if (std::any_of(a.tried.begin(), a.tried.end(), [](const NeedMachineTried& one) { return one.trouble.empty(); })) page.table(rows);
  if (a.price_instead && a.price_kind) page.say("Money is {}: {}.", paid_words(a.price_kind), *a.price_instead);
  add_troubles(page, a);
  if (!a.unpriced.empty())
    page.say("Not asked, as no price to {} is known: {}; {}.", bought ? "buy" : "rent", joined(a.unpriced),
             bought ? "give theirs in a file with --prices" : "name them with -s and --price NAME=USD");
}

template <class Request>
[[nodiscard]] std::string answered(const NeedOptions& o, const Terminal& terminal) {
  return shown(spelled_answer(request_of<Request>(o.typed)), o.json, terminal, [](Page& page, const auto& a) { text_of(page, a); });
}

[[nodiscard]] std::string run(const NeedOptions& o, const Terminal& terminal) {
  if (o.serve == o.train) throw RequestError("need for what? Say --train or --serve");
  const auto typed = [&](std::string_view option) {
    const auto text = o.typed.texts.find(option);
    return text == o.typed.texts.end() ? std::string{} : text->second;
  };
  if (typed("UNKNOWN") == "machine") {
    if (o.serve) throw RequestError("need machine: of training; compare puts machines that serve side by side");
    refuse_beyond<NeedMachineRequest, NeedServeRequest>(o.typed, "--serve");
    refuse_beyond<NeedMachineRequest, NeedRequest>(o.typed, "other unknowns than machine");
    return answered<NeedMachineRequest>(o, terminal);
  }
  if (typed("--system,-s").find(',') != std::string::npos)
    throw RequestError("--system: one machine at a time; need machine chooses among several");
  if (o.train) {
    refuse_beyond<NeedRequest, NeedServeRequest>(o.typed, "--serve");
    refuse_beyond<NeedRequest, NeedMachineRequest>(o.typed, "need machine");
    return answered<NeedRequest>(o, terminal);
  }
  refuse_beyond<NeedServeRequest, NeedRequest>(o.typed, "--train");
  refuse_beyond<NeedServeRequest, NeedMachineRequest>(o.typed, "need machine");
  return answered<NeedServeRequest>(o, terminal);
}

}  // namespace

void add_need(CLI::App& app, Runner& runner) {
  const auto o = std::make_shared<NeedOptions>();
  CLI::App& sub = *app.add_subcommand("need", "How much is enough to train or serve a model");
  sub.add_flag("--train", o->train, "Training");
  sub.add_flag("--serve", o->serve, "Serving");
  add_options(sub, o->typed, fields_of<NeedRequest>());
  sub.add_flag("--json", o->json, "Print JSON");
  add_options(sub, o->typed, fields_of<NeedServeRequest>(), "Serving");
  add_options(sub, o->typed, fields_of<NeedMachineRequest>(), "need machine");
  sub.get_option("--system")->join(',');
  sub.footer(
      "Example: fabricost need nic.bandwidth --train -m llama3-70b -s dgx-h100 -g 512 -b 512 --within 10%\n"
      "         fabricost need nodes --serve -m llama3-70b -s dgx-h100 --tokens-per-second 1e5\n"
      "         fabricost need machine --train -m llama3-70b -s dgx-h100 -b 1024 --tokens 1T --in 30d --megawatts 2");
  runner.add(sub, [o](const Terminal& terminal) { return run(*o, terminal); });
}

}  // namespace fabricost::cli
