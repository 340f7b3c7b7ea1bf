/// Finds the best plan of each machine for one job.

#include "answers/stack_note.hpp"
#include "answers/typed/own_machines.hpp"
#include "fields/refuse_given.hpp"
#include "text/amounts.hpp"
#include "text/joined.hpp"

#include <fabricost/explain/assumptions.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/economics/bill.hpp>
#include <fabricost/plan/explain/step.hpp>
#include <fabricost/plan/serving/arrivals/loaded.hpp>
#include <fabricost/plan/specs/prices.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fabricost::plan {

RequestTable<CompareRequest> CompareRequest::fields() {
  using R = CompareRequest;
  using enum Amount;
  constexpr Range wait{0, 1e9, true}, wait_of_token{0, 10, true};
  return {asks(&R::systems, "systems", "SYSTEMS", " ", "Two or more machines: names from fabricost machine, or YAML files", true),
          field::ask_model<R>,
          asks(&R::gpus, "gpus", "--gpus,-g", count, any_count, "N", "Number of GPUs of each", true),
          asks(&R::train, "train", "--train", "", "Compare training"),
          asks(&R::serve, "serve", "--serve", "", "Compare serving"),
          asks(&R::global_batch, "global_batch", "--global-batch,-b", count, any_count, "N", "Training: sequences a step"),
          asks(&R::sequence, "sequence", "--sequence,-l", length, any_count, "N",
               "Training: tokens a sequence, as in 128k (131072); default 4096"),
          asks(&R::max_tp, "max_tp", "--max-tp", count, any_count, "N", "Training: most tensor ranks"),
          asks(&R::isl, "isl", "--isl", length, any_count, "N", "Serving: tokens of a prompt, as in 128k (131072); default 4096"),
          asks(&R::osl, "osl", "--osl", length, any_count, "N", "Serving: tokens of an answer; default 512"),
          asks(&R::ttft, "ttft_seconds", "--ttft", seconds, wait, "TIME", "Serving: longest time to the first token, as in 1s"),
          asks(&R::tpot, "tpot_seconds", "--tpot", seconds, wait_of_token, "TIME", "Serving: longest time per token, as in 30ms"),
          asks(&R::concurrency, "concurrency", "--concurrency", count, {1, 1e9}, "N", "Serving: requests in flight, all engines together"),
          asks(&R::disaggregated, "disaggregated", "--disaggregated", "", "Serving: prefill and decode on GPUs of their own"),
          ArrivingRequests::fields(),
          asks(&R::precision, "precision", "--precision", "P", "Precision of matrix products: bf16, fp16, fp8, fp4"),
          asks(&R::stack, "stack", "--stack", "NAME", "Training or serving software"),
          asks(&R::prices, "prices", "--price", "NAME=USD", "Your own price of a GPU-hour of each machine: dgx-h100=2.50"),
          asks(&R::price_kind, "price_kind", "--price-kind", "KIND",
               "Kind of price: on_demand, reserved or owned; default the\nfirst known of all machines"),
          OwningRequest::fields(),
          asks(&R::prices_file, "prices_file", "--prices", "FILE", "File of prices; it may say extends: default")};
}

AnswerTable<ComparedAnswer> ComparedAnswer::fields() {
  using A = ComparedAnswer;
  constexpr bool left_out = true;
  return {field::give_system<A>,
          gives(&A::job, "", "job", "train or serve."),
          gives_trouble(&A::trouble, "Why it cannot do the job; empty: it can. Nothing else is set then."),
          gives(&A::step, "step_s", "", "Of a step, s.", 1, left_out),
          gives(&A::tpot, "tpot_s", "", "Of a token, s: a further one, or of answers of one token the first.", 1, left_out),
          gives(&A::time, "", "seconds", "Of a step, or of a token, s."),
          gives(&A::interval, "interval_s", "interval_seconds", "(low, high), s: nine in ten should fall between."),
          gives(&A::tokens_per_second_per_gpu, "tokens_per_s_per_gpu", "tokens_per_second_per_gpu", "Trained or answered tokens."),
          gives(&A::precision, "precision", "precision", "Training: of matrix products; serving: of the weights."),
          gives(&A::kernels, "kernels", "kernels",
                "measured: on processors of this generation; assumed: NVIDIA's shares of the peak are taken."),
          field::give_stack_note<A>,
          gives(&A::dollars_per_million_tokens, "dollars_per_million_tokens", "dollars_per_million_tokens",
                "Of one kind for all machines, USD; under requests that arrive at the rate asked for. None: not known of this one."),
          gives(&A::dollars_per_million_tokens_within, "dollars_per_million_tokens_within", "dollars_per_million_tokens_within",
                "Under requests that arrive, the same at the rate up to which the limits are met, which the verdict compares; None: else.", 1,
                left_out),
          gives(&A::joules_per_million_tokens_within, "joules_per_million_tokens_within", "joules_per_million_tokens_within",
                "The joules at that rate, J; None: likewise.", 1, left_out),
          gives(&A::dollars_per_million_input_tokens, "dollars_per_million_input_tokens", "dollars_per_million_input_tokens",
                "Serving: of a prompt's tokens that no cache has, for the time that they take (TokenPrice), USD; None: not known.", 1, left_out),
          gives(&A::dollars_per_million_cached_tokens, "dollars_per_million_cached_tokens", "dollars_per_million_cached_tokens",
                "Serving: of those that a cache has; None: not known, or none are.", 1, left_out),
          gives(&A::dollars_per_million_output_tokens, "dollars_per_million_output_tokens", "dollars_per_million_output_tokens",
                "Serving: of an answer's tokens, for the rest of the time; both pay for all. None: not known.", 1, left_out),
          gives(&A::price_kind, "price_kind", "price_kind", "on_demand, reserved, owned or stated (given); None: not known."),
          gives(&A::dollars_per_gpu_hour, "gpu_hour_usd", "dollars_per_gpu_hour", "The rent, USD; None: owned, or not known."),
          gives(&A::joules_per_million_tokens, "joules_per_million_tokens", "joules_per_million_tokens",
                "Of the site with cooling, J; None: not known."),
          gives(&A::site_power, "megawatts", "", "Of the site with all GPUs busy, MW; 0: not known.", 1e6),
          gives(&A::power, "", "watts", "Of the site with all GPUs busy, W; None: not known."),
          gives(&A::arrivals, "arrivals", "arrivals", "Under requests that arrive, a ServedArrivals as plan_serve has it; None: else.", 1,
                left_out),
          gives(&A::tokens_per_second_per_gpu_apart, "tokens_per_s_per_gpu_disaggregated", "tokens_per_second_per_gpu_disaggregated",
                "Serving: answered tokens with prefill on GPUs of its own, where prompts of others take much of the time and that gives more.", 1,
                left_out),
          gives(&A::layout, "layout", "layout", "Its best layout or deployment, in words."),
          gives(&A::binds, "", "binds", "The largest of terms."),
          gives(&A::binds_words, "binds", "", "What takes most of the time, in words."),
          gives(&A::share, "", "share", "Of the time, what binds takes."),
          gives(&A::terms, "terms", "terms", "What the seconds are made of, a list of StepTerm."),
          gives(&A::idle_gpus, "idle_gpus", "idle_gpus",
                "GPUs of the scale-up domains or racks of the job that it leaves idle; in dollars, joules and watts."),
          gives(&A::used_gpus, "used_gpus", "used_gpus",
                "Training: GPUs that its layout works on, where it leaves some of those given idle; None: on all of them.", 1, left_out),
          gives(&A::against_usual, "against_usual", "against_usual",
                "Training: the layout by practitioners' rule beside it, and what sets them apart; None: of serving.", 1, left_out)};
}

AnswerTable<CompareAnswer> CompareAnswer::fields() {
  using A = CompareAnswer;
  return {gives(&A::model, "model", "model", "Name of the model."),
          gives(&A::job, "for", "job", "train or serve."),
          gives(&A::gpus, "gpus", "gpus", "GPUs of each."),
          gives(&A::rows, "systems", "", "The machines in the order asked."),
          gives(&A::price_kind, "price.kind", "price_kind",
                "By which machines are priced: on_demand, reserved or owned; None: none is known of any."),
          gives(&A::no_price, "price.why", "", "Of which machines that price is not known; None: of none."),
          gives(&A::price_instead, "price.instead", "", "Of which machines an earlier kind is not known; None: it is the first, or was asked for."),
          gives(&A::verdict, "", "verdict",
                "Which is faster, by how much, and whether that is sure; begins with `No verdict` and says why where there is none."),
          gives(&A::best, "verdict.best", "", "The faster machine; None: no verdict."),
          gives(&A::cheapest, "verdict.cheapest", "cheapest", "The machine whose tokens cost least; None: no verdict, or no prices."),
          gives(&A::next, "verdict.next", "", "The one it is compared with; None: no other can do the job."),
          gives(&A::faster, "verdict.faster", "",
                "Tokens of the best over those of the next, or requests per second within the limits; None: no verdict."),
          gives(&A::sure, "verdict.sure", "", "Whether the intervals do not overlap and the kernels of both were measured."),
          gives(&A::probability, "verdict.probability", "probability",
                "That it is faster than the next, 0 to 1: what both share of their errors cancels; None: no verdict, or no "
                "other."),
          gives(&A::no_verdict, "verdict.why", "", "Why there is no verdict; None: there is one."),
          gives(&A::unranked, "verdict.unranked", "unranked",
                "Machines that the verdict leaves out: what kernels reach was measured on the others alone.")};
}

namespace {

/// A precision of either job. \throws Refusal
template <class E>
[[nodiscard]] std::optional<E> precision_of(const CompareRequest& r) {
  if (!r.precision) return std::nullopt;
  const auto found = worded<E>(*r.precision);
  if (!found) throw Refusal("<precision>: " + unknown_value<E>(*r.precision));
  return found;
}

void check(const CompareRequest& r) {
  if (r.train && r.serve) throw Refusal("<train=True> and <serve=True> are two questions; give one of them");
  if (!r.train && !r.serve) throw Refusal("compare for what? Give <train=True> or <serve=True>");
  if (!r.model) throw Refusal("which model? Name it with <model> (fabricost model lists them)", true);
  if (r.systems.empty()) throw Refusal("which machines? Name two or more (fabricost machine lists them)", true);
  if (!r.gpus) throw Refusal("on how many GPUs? Give <gpus>", true);
  if (r.train) {
    constexpr std::string_view why = "<{}> is not of a job to train; leave it out";
    refuse_given(r, {"isl", "osl", "ttft_seconds", "tpot_seconds", "concurrency", "disaggregated"}, why);
    for (const Field& field : fields_of<ArrivingRequests>()) refuse_given<ArrivingRequests>(r, {field.name}, why);
    if (!r.global_batch) throw Refusal("how many sequences a step? Give <global_batch>", true);
  } else {
    refuse_given(r, {"global_batch", "sequence", "max_tp"}, "<{}> is not of a job to serve; leave it out");
    if (r.stack.value) throw Refusal("<stack>: serving frameworks go by their names");
  }
  check_ranges(r);
}

[[nodiscard]] PlanRequest training_of(const CompareRequest& r) {
  PlanRequest out;
  out.model = r.model;
  out.stack = r.stack;
  out.gpus = r.gpus;
  out.global_batch = r.global_batch;
  out.sequence = r.sequence.value_or(out.sequence);
  out.precision = precision_of<Precision>(r).value_or(out.precision);
  out.max_tp = r.max_tp;
  out.top = 1;
  return out;
}

[[nodiscard]] ServeRequest serving_of(const CompareRequest& r) {
  ServeRequest out;
  static_cast<ArrivingRequests&>(out) = r;
  out.gpus = r.gpus;
  out.isl = r.isl.value_or(out.isl);
  out.osl = r.osl.value_or(out.osl);
  out.ttft = r.ttft;
  out.tpot = r.tpot;
  out.concurrency = r.concurrency;
  out.disaggregated = r.disaggregated;
  out.precision = precision_of<WeightFormat>(r);
  if (r.stack) out.stack = r.stack.name;
  out.top = 1;
  return out;
}

/// "arithmetic 69 %, bubble 9 %".
[[nodiscard]] std::string binds_text(const Compared& c) {
  const StepTerm max = largest_term(c);
  if (c.serving) {
    std::string name = max.name;
    std::replace(name.begin(), name.end(), '_', ' ');
    return fmt::format("{} {:.0f} %", name, 100 * max.seconds() / c.seconds);
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> said{{{"layer_floor", "launches"},
                                                                               {"tensor", "tensor exchange"},
                                                                               {"context", "context exchange"},
                                                                               {"expert", "expert exchange"},
                                                                               {"hand_over", "hand-over"},
                                                                               {"data", "data exchange"},
                                                                               {"accumulation", "adding up gradients"}}};
  std::string_view name = max.name;
  for (const auto& [term, words] : said)
    if (term == max.name) name = words;
  return fmt::format("arithmetic {:.0f} %, {} {:.0f} %", 100 * share_of(units::s(c.training->time.compute), c.terms), name,
                     100 * share_of(max.time, c.terms));
}

/// \param gpus given
[[nodiscard]] ComparedAnswer row_of(const Compared& c, bool mixture, int gpus, std::string job) {
  ComparedAnswer out{.system = c.system, .job = std::move(job), .trouble = c.trouble};
  if (!c.trouble.empty()) return out;
  out.time = units::s(c.seconds);
  (c.training ? out.step : out.tpot) = out.time;
  out.interval = {units::s(c.low), units::s(c.high)};
  out.tokens_per_second_per_gpu = c.tokens_per_gpu;
  out.precision = c.precision;
  out.kernels = c.kernels;
  const auto as_asked = [&](const std::optional<double>& within) { return within ? std::optional{*within * c.more} : within; };
  out.dollars_per_million_tokens = as_asked(c.dollars);
  out.joules_per_million_tokens = as_asked(c.joules);
  if (c.requests) out.dollars_per_million_tokens_within = c.dollars, out.joules_per_million_tokens_within = c.joules;
  for (const TokenPrice& one : token_prices(c.tokens, out.dollars_per_million_tokens, 1, {}))
    (one.tokens == "input" ? out.dollars_per_million_input_tokens
     : one.tokens == "cached" ? out.dollars_per_million_cached_tokens
                             : out.dollars_per_million_output_tokens) = one.dollars;
  if (c.price_kind) out.price_kind = std::string{name(*c.price_kind)};
  if (c.gpu_hour > 0) out.dollars_per_gpu_hour = c.gpu_hour;
  if (c.joules) out.power = units::MW(c.megawatts);
  out.layout = layout_text(c, mixture);
  out.terms = c.terms;
  const StepTerm max = largest(out.terms);
  out.binds = max.name;
  out.binds_words = binds_text(c);
  out.share = share_of(max.time, c.terms);
  out.idle_gpus = c.idle_gpus;
  if (c.training && c.training->layout.gpus() < gpus) out.used_gpus = c.training->layout.gpus();
  return out;
}

/// "25 % less energy"; empty where either value is unknown.
[[nodiscard]] std::string against(const std::optional<double>& one, const std::optional<double>& other, std::string_view what) {
  if (!one || !other || !(*other > 0)) return "";
  const double less = 100 * (1 - *one / *other);
  if (std::fabs(less) < 0.5) return fmt::format("the same {}", what);
  return fmt::format("{:.0f} % {} {}", std::fabs(less), less > 0 ? "less" : "more", what);
}

/// " A token costs least on dgx-b200.": the faster machine is not the one whose tokens cost least.
[[nodiscard]] std::string cheapest_text(const CompareAnswer& of) {
  if (!of.cheapest || of.cheapest == of.best) return "";
  const auto count = [&](auto holds) {
    return std::count_if(of.all.begin(), of.all.end(), [&](const Compared& c) {
      return c.trouble.empty() && std::find(of.unranked.begin(), of.unranked.end(), c.system) == of.unranked.end() && holds(c);
    });
  };
  const auto able = count([](const Compared&) { return true; }), known = count([](const Compared& c) { return c.dollars.has_value(); });
  const auto dollars = [&](const std::string& system) {
    return *std::find_if(of.all.begin(), of.all.end(), [&](const Compared& c) { return c.system == system; })->dollars;
  };
  std::string out = fmt::format(" A token costs least on {}{}", *of.cheapest,
                                known == able  ? ""
                                : known == 1   ? ", the only one of those ranked whose price is known"
                                               : fmt::format(", of the {} of those ranked whose price is known", known));
  for (const Compared& c : of.all)
    if (c.dollars && std::find(of.unranked.begin(), of.unranked.end(), c.system) != of.unranked.end() && *c.dollars < dollars(*of.cheapest))
      out += fmt::format("; {}, not ranked, would cost {} $/Mtoken", c.system, figure(*c.dollars, 3));
  return out + ".";
}

/// " gb200-nvl72 pays for 1296 GPUs, 144 of them idle."
[[nodiscard]] std::string paid_text(const CompareAnswer& of, std::initializer_list<const Compared*> machines) {
  std::string out;
  for (const Compared* c : machines)
    if (c->idle_gpus > 0) out += fmt::format(" {} pays for {} GPUs, {} of them idle.", c->system, of.gpus + c->idle_gpus, c->idle_gpus);
  return out;
}

/// "tpu-v5p-cube has no fp8 units: its products run at the bf16 rate." of machines that take fp8 all the same.
[[nodiscard]] std::string no_units_text(const std::vector<Compared>& all, const std::vector<System>& systems) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].trouble.empty() && all[i].precision == "fp8" && !Processor::of(systems[i]).has_fp8_units()) names.push_back(systems[i].name);
  return names.empty() ? "" : joined(names) + ": no fp8 units, products run at the bf16 rate";
}

/// " Not ranked, as what kernels reach was not measured on processors like theirs: mi300x-8."
[[nodiscard]] std::string unranked_text(const CompareAnswer& of) {
  if (of.unranked.empty()) return {};
  return fmt::format(" Not ranked, as what kernels reach was not measured on processors like theirs: {}.", joined(of.unranked));
}

/// "servers and network over 5 years, always busy, without interest, without storage, electricity and site".
[[nodiscard]] std::string owning_text(const Prices& prices, const std::vector<System>& systems) {
  std::vector<std::string> kinds;
  for (const System& system : systems)
    if (const std::string kind = server_price_kind_of(system, prices); !kind.empty() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      kinds.push_back(kind);
  const double interest = prices.interest.value;
  const bool storage = prices.storage.value > 0;
  return fmt::format("servers{} and network over {:.4g} years, always busy, {}{}electricity and site{}", storage ? ", storage" : "",
                     static_cast<double>(prices.lifetime.value / units::h(hours_of_a_year)),
                     interest > 0 ? fmt::format("{:.3g} % interest, ", 100 * interest) : "without interest, ",
                     storage ? "" : "without storage, ",
                     kinds.size() > 1 ? fmt::format(" (servers' prices differ in kind: {})", joined(kinds)) : "");
}

/// "dgx-h100 cannot, for the reason beside its name".
[[nodiscard]] std::string unable_text(const std::vector<Compared>& all) {
  std::vector<std::string> names;
  for (const Compared& c : all)
    if (!c.trouble.empty()) names.push_back(c.system);
  return names.empty() ? "name another one beside it" : joined(names) + " cannot, for the reason beside its name";
}

/// Writes the verdict: the faster machine, by how much, how certain; better where its tokens cost no more. And its grounds.
void write_verdict(CompareAnswer& of, const Verdict& v) {
  if (v.best == nullptr) {
    of.verdict = fmt::format("No verdict: {}.", v.why);
    return;
  }
  if (v.next == nullptr) {
    of.verdict = of.all.size() == 1
                     ? fmt::format("{} alone was asked for; give two machines to compare.", v.best->system)
                     : fmt::format("{} is the only machine asked for that can do it; {}.", v.best->system, unable_text(of.all));
    return;
  }
  const std::string beyond = paid_text(of, {v.best, v.next}) + cheapest_text(of) + unranked_text(of);
  std::string extras;
  for (const std::string& one : {against(v.best->dollars, v.next->dollars, "money"), against(v.best->joules, v.next->joules, "energy")})
    if (!one.empty()) extras += (extras.empty() ? "for " : " and ") + one;
  if (!extras.empty()) extras += " a token";
  const std::string_view does = of.job == "train"      ? "trains"
                                : v.best->requests ? "meets the limits at"
                                                   : "answers with",
                         what = v.best->requests ? "requests" : "tokens", unit = v.best->requests ? "requests/s" : "tokens/s/GPU";
  const std::string more = fmt::format("{} {:.3g} times as many {} as {}", does, v.faster, what, v.next->system),
                    beside = extras.empty() ? "" : ", " + extras;
  if (v.probability < even_odds) {
    of.verdict = fmt::format("No difference to tell: {} {}{}, as likely as not ({:.0f} %).{}", v.best->system, more, beside,
                             100 * v.probability, beyond);
    return;
  }
  const std::string ranges = fmt::format("{} to {} and {} to {} {}", figure(v.best->rate.first), figure(v.best->rate.second),
                                         figure(v.next->rate.first), figure(v.next->rate.second), unit),
                    certain = v.sure ? fmt::format("that is sure, their ranges ({}) do not meet", ranges)
                            : v.apart ? fmt::format("likely, not sure: their ranges ({}) do not meet, but what kernels reach is assumed", ranges)
                                      : fmt::format("likely, {:.0f} %, not sure: their ranges ({}) overlap", 100 * v.probability, ranges);
  const bool better = of.cheapest == of.best && v.next->dollars;
  of.verdict = fmt::format("{} is the {} one: it {} on as many GPUs{}; {}.{}", v.best->system, better ? "better" : "faster", more, beside,
                           certain, beyond);
  of.grounds = fmt::format("{}Their ranges {}: {}.{}",
                           extras.empty()     ? ""
                           : v.best->requests ? fmt::format("At the rates up to which the limits hold it does so {}. ", extras)
                                              : fmt::format("It does so {}. ", extras),
                           v.apart ? "do not meet" : "overlap", ranges, beyond);
}

void add_verdict(CompareAnswer& out) {
  const Verdict v = verdict_of(out.all);
  out.sure = v.sure;
  if (v.best == nullptr) {
    out.no_verdict = v.why;
  } else {
    out.best = v.best->system;
    out.faster = v.faster;
    for (const Compared* c : v.unranked) out.unranked.push_back(c->system);
    const auto left_out = [&](const Compared& c) { return std::find(v.unranked.begin(), v.unranked.end(), &c) != v.unranked.end(); };
    const Compared* cheapest = nullptr;
    for (const Compared& c : out.all)
      if (c.trouble.empty() && c.dollars && !left_out(c) && (cheapest == nullptr || *c.dollars < *cheapest->dollars)) cheapest = &c;
    if (cheapest != nullptr) out.cheapest = cheapest->system;
    if (v.next != nullptr) {
      out.next = v.next->system;
      out.probability = v.probability;
    }
  }
  write_verdict(out, v);
}

[[nodiscard]] std::string serving_title(const CompareRequest& r, const ServeRequest& s, const std::string& model) {
  std::string out = fmt::format("Serving {} on {} GPUs: prompts of {} and answers of {}", model, *r.gpus, s.isl, counted(s.osl, "token"));
  if (s.concurrency) out += fmt::format(", {:.4g} of them in flight", *s.concurrency);
  if (s.ttft) out += ", first token within " + short_time_text(s.ttft->value());
  if (s.tpot) out += ", each further one within " + short_time_text(s.tpot->value());
  return out;
}

}  // namespace

std::string layout_text(const Compared& c, bool mixture) {
  if (c.serving) {
    const EngineLayout& e = c.serving->engine;
    return fmt::format("{} x tp {} pp {} ep {}, batch {:.0f}", c.serving->replicas, e.tp, e.pp, e.ep, c.serving->batch);
  }
  const Layout& l = c.training->layout;
  return fmt::format("tp {} pp {} cp {}{} dp {} zero {}", l.tp, l.pp, l.cp, mixture ? fmt::format(" ep {}", l.ep) : "", l.dp, l.zero);
}

StepTerm largest_term(const Compared& c) {
  StepTerm max;
  for (const StepTerm& t : c.terms)
    if (t.time > max.time && !(c.training && t.name == "compute")) max = t;
  return max;
}

std::pair<Compared, ServedArrivals> compared(ServingQuestion question, const LoadQuestion& load, const System& system,
                                             const Prices& prices) {
  question.top = 1;
  const LoadedServing best = found_deployments(system, question, load).deployments.front();
  const double requests = best.answered_within.value_or(best.rate_within.value_or(best.figures.rate));
  Compared out = compared(question, best.deployment, system, prices, requests / best.figures.rate);
  out.requests = requests;
  const auto [low, high] = out.rate;
  out.rate = {low / out.tokens_per_gpu * *out.requests, high / out.tokens_per_gpu * *out.requests};
  return {std::move(out), served_arrivals(question, best, load)};
}

std::optional<double> rate_apart(ServingQuestion question, const Compared& together, const System& system) {
  constexpr double much = 0.15, more = 1.05;
  if (!together.serving || together.serving->apart || together.requests || together.serving->time.prompts < much) return std::nullopt;
  question.disaggregated = true;
  try {
    const double out = compared(std::move(question), system, Prices{}).tokens_per_gpu;
    return out > more * together.tokens_per_gpu ? std::optional{out} : std::nullopt;
  } catch (const RequestError&) {
    return std::nullopt;  // no two kinds of workers fit beside each other
  }
}

CompareAnswer answer(const CompareRequest& request) {
  check(request);
  CompareAnswer out;
  out.job = request.train ? "train" : "serve";
  out.gpus = *request.gpus;
  const Model model = request.model.load();
  out.model = model.name;
  Prices prices = load_prices(request.prices_file);
  prices.power.network = request.network;
  std::vector<System> systems;
  // the training model needs no inference kernels
  for (const Machine& one : request.systems)
    systems.push_back(one.load({}, {.compute = true, .custom = request.serve, .moe = request.serve}));
  refuse_twice(request.systems, systems);
  const OwnPrices owning{.electricity = request.dollars_per_kwh,
                         .site = request.dollars_per_kw_month,
                         .pue = request.pue,
                         .years = request.lifetime_years,
                         .interest = request.interest,
                         .storage = request.storage_share};
  override_prices(prices, owning, systems.front());
  const OwnMachinePrices own = own_prices_of(request.prices, request.price_kind, request.systems, systems, "prices");
  std::vector<TrainingQuestion> questions;
  std::vector<std::optional<ServedArrivals>> served;
  std::vector<std::optional<double>> apart(systems.size());
  if (request.train) {
    const PlanRequest asked = training_of(request);
    for (const System& system : systems) questions.push_back(training_question(asked, system));
    const TrainingQuestion& q = questions.front();
    out.all = compare(systems, [&](const System& system) {
      return compared(questions[static_cast<std::size_t>(&system - systems.data())], system, prices);
    });
    out.title = fmt::format("Training {} on {} GPUs: {} sequences of {} tokens a step, {}", q.model.name, q.gpus, q.global_batch,
                            q.sequence, precision_names[static_cast<std::size_t>(q.precision)]);
  } else {
    ServeRequest serving = serving_of(request);
    const std::optional<LoadQuestion> load = load_question(serving);
    served.resize(systems.size());
    out.all = compare(systems, [&](const System& system) {
      const ServingQuestion q = serving_question(serving, model, system);
      if (!load) {
        Compared best = compared(q, found_deployments(system, q).layouts.front(), system, prices);
        apart[static_cast<std::size_t>(&system - systems.data())] = rate_apart(q, best, system);
        return best;
      }
      auto [best, arrivals] = compared(q, *load, system, prices);
      served[static_cast<std::size_t>(&system - systems.data())] = arrivals;
      return best;
    });
    out.title = serving_title(request, serving, model.name);
    if (load) {
      out.title += ", " + arriving_text(*load);
      out.percentile = load->percentile;
    }
  }
  const PricedBy by = price_alike(out.all, systems, *request.gpus, prices, own);
  if (by.kind) out.price_kind = std::string{name(*by.kind)};
  if (!by.why.empty()) out.no_price = by.why;
  if (!by.instead.empty()) out.price_instead = by.instead;
  if (by.kind == PriceKind::owned) out.owning = owning_text(prices, systems);
  for (const Compared& c : out.all) out.rows.push_back(row_of(c, model.mixture(), out.gpus, out.job));
  for (std::size_t i = 0; i < served.size(); ++i) out.rows[i].arrivals = served[i];
  for (std::size_t i = 0; i < apart.size(); ++i) out.rows[i].tokens_per_second_per_gpu_apart = apart[i];
  for (std::size_t i = 0; i < questions.size(); ++i)
    if (out.all[i].training) out.rows[i].stack_note = stack_note(questions[i].stack, systems[i]);
  for (std::size_t i = 0; i < questions.size(); ++i)
    if (std::optional<PricedLayout> usual; out.all[i].training)
      out.rows[i].against_usual =
          against_usual(systems[i].pod > 0 ? slice_for(systems[i], *request.gpus) : systems[i], questions[i], *out.all[i].training, usual);
  out.no_units = no_units_text(out.all, systems);
  add_verdict(out);
  return out;
}

}  // namespace fabricost::plan
