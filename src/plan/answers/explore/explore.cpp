/// Asks the forward question at every point, on several threads, and finds the effect of small changes there.

#include "answers/explore/objectives.hpp"
#include "answers/explore/variants.hpp"
#include "answers/stack_note.hpp"
#include "text/amounts.hpp"
#include "text/joined.hpp"
#include "text/term_words.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/on_threads.hpp>
#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/plan/serving/arrivals/loaded.hpp>
#include <fabricost/progress.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <variant>

namespace fabricost::plan {

RequestTable<ExploreOptions> ExploreOptions::fields() {
  using R = ExploreOptions;
  return {
      asks(&R::vary, "vary", "--vary", "NAME=VALUES...",
           "Values to combine: \"nic.bandwidth=25:400:x2GB/s per direction\",\n"
           "domain=8,72, gpu=h200-sxm,b200-sxm, system=..., gpus=1024:65536:x2",
           true),
      asks(&R::objectives, "objectives", "--objective", "NAME,...",
           "Objectives: step, $/token, J/token, W, goodput, mfu, tokens/s,\ngpus; serving: ttft, tpot, tokens/s/user, and req/s "
           "within\nlimits where requests arrive; or a varied parameter, of\nwhich less is better"),
      asks(&R::limits, "limits", "--limit", "NAME=X...", "Keep points with at most X (for tokens, goodput, mfu: at least X)"),
      asks(&R::prices, "prices", "--price", "NAME=USD...", "Your own price of a GPU-hour, of a machine or a GPU"),
      asks(&R::price_kind, "price_kind", "--price-kind", "KIND",
           "Kind of price: on_demand, reserved or owned; default the\nfirst known of all machines, else of most"),
      asks(&R::first, "first", "", Amount::count, {0, 1e9}, "N", "First point, in the order of nested loops, the last of <vary> fastest"),
      asks(&R::count, "count", "", Amount::count, any_count, "N", "Number of points from there; default all"),
      asks(&R::threads, "threads", "--threads", Amount::count, {1, 1024}, "N", "Number of threads; default one per core")};
}

RequestTable<ExploreRequest> ExploreRequest::fields() { return {PlanRequest::fields_of_search(), ExploreOptions::fields()}; }

RequestTable<ExploreServeRequest> ExploreServeRequest::fields() {
  static constexpr std::string_view not_of_points[]{"--top,-k", "--pareto", "--measured-tpot"};
  return {ServeRequest::fields().without(not_of_points), ExploreOptions::fields()};
}

AnswerTable<ExploreAxis> ExploreAxis::fields() {
  using A = ExploreAxis;
  return {gives(&A::name, "name", "name", "What is varied."), gives(&A::unit, "unit", "unit", "Of its values; empty: a count or a name."),
          gives(&A::values, "values", "values", "Its values; empty: they are names.", 1, true),
          gives(&A::words, "words", "words", "Its names.", 1, true)};
}

AnswerTable<ExploreObjective> ExploreObjective::fields() {
  using A = ExploreObjective;
  return {gives(&A::name, "name", "name", "What counts."),
          gives(&A::unit, "unit", "unit", "Of its values."),
          gives(&A::more_is_better, "more_is_better", "more_is_better", "Whether more of it is better."),
          gives(&A::counts, "counts", "counts", "Whether it makes the front; otherwise it is only limited."),
          gives(&A::limit, "limit", "limit", "The most it may be, or the least; None: no limit.", 1, true),
          gives(&A::best, "best", "best", "Number of the point that is best in it; None: none has it.")};
}

AnswerTable<ExplorePoint> ExplorePoint::fields() {
  using A = ExplorePoint;
  return {gives(&A::number, "number", "number", "Its place in the nested loops, from 0."),
          gives(&A::at, "at", "at", "The value of each thing varied."),
          gives(&A::objectives, "objectives", "objectives", "What counts; None: not known."),
          gives(&A::interval, "interval_s", "interval_seconds", "(low, high), s: nine steps, or tokens, in ten should fall between."),
          gives(&A::layout, "layout", "layout", "Its best layout or deployment, in words."),
          gives(&A::binds, "binds", "binds", "What takes most besides computing, in words."),
          gives(&A::trouble, "trouble", "trouble", "Why nothing can run; empty: something can.", 1, true),
          gives(&A::meets, "meets", "meets", "Whether it is within the limits."),
          gives(&A::front, "front", "front", "Whether no other point beats it."),
          gives(&A::idle_gpus, "idle_gpus", "idle_gpus",
                "GPUs of the scale-up domains or racks of the job that it leaves idle; in dollars, joules and watts."),
          gives(&A::extra_dollars_per_gpu_hour, "extra_gpu_hour_usd", "extra_dollars_per_gpu_hour",
                "What a GPU and hour may cost more than of the machine with no part varied, at equal dollars per token, USD; None: no part is "
                "varied, or no price is known.",
                1, true),
          gives(&A::elasticities, "elasticities", "elasticities",
                "By objective and parameter: d log objective / d log parameter, of the layout found there.", 1, true)};
}

AnswerTable<ExploreWorth> ExploreWorth::fields() {
  using A = ExploreWorth;
  return {gives(&A::parameter, "parameter", "parameter", "The part."), gives(&A::change, "change", "change", "As in `+ 10 %`."),
          gives(&A::gain, "gain", "gain", "Tokens per second then over before, less 1; layouts are searched again."),
          gives(&A::dollars_per_gpu_hour, "dollars_per_gpu_hour", "dollars_per_gpu_hour",
                "What that may cost at equal dollars per token, USD per GPU and hour; None: no price is known.")};
}

AnswerTable<ExploreAnswer> ExploreAnswer::fields() {
  using A = ExploreAnswer;
  return {gives(&A::model, "model", "model", "Name of the model."),
          gives(&A::job, "for", "job", "train or serve."),
          gives(&A::axes, "vary", "axes", "What is varied, slowest first."),
          gives(&A::objectives, "objectives", "objectives", "What counts."),
          gives(&A::all_points, "all_points", "all_points", "Combinations there are."),
          gives(&A::front, "front", "front", "Numbers of the points of the front, best in the first objective first."),
          gives(&A::knee, "knee", "knee", "Number of the point where the front bends; None: it has less than three points."),
          gives(&A::chosen, "worth.at", "chosen",
                "Number of the point whose parameters were turned: the knee, else the best in the first objective."),
          gives(&A::tokens_per_second_per_gpu_apart, "worth.tokens_per_s_per_gpu_disaggregated", "tokens_per_second_per_gpu_disaggregated",
                "Serving: the same there with prefill on GPUs of its own, where prompts of others take much of the time and that gives more.", 1,
                true),
          gives(&A::worth, "worth.parameters", "worth", "What more of each part gives there, most first."),
          field::give_stack_note<A>,
          gives(&A::notes, "notes", "notes", "What has to be known to read the points, in words.", 1, true),
          gives(&A::price_kind, "price.kind", "price_kind",
                "By which all are priced: on_demand, reserved or owned; None: none is known of all."),
          gives(&A::no_price, "price.why", "no_price", "Of which machines that price is not known, or why none is; None: all have it."),
          gives(&A::points, "points", "points", "The points in the order of the loops.")};
}

namespace explore {
namespace {

constexpr long long most_points = 100'000;
/// Parts that can be turned by any factor.
constexpr std::array<DesignParameter, 4> rates{DesignParameter::nic_bandwidth, DesignParameter::scale_up_bandwidth,
                                               DesignParameter::hbm_bandwidth, DesignParameter::arithmetic};

/// The model, or those that are varied.
[[nodiscard]] std::string models_text(const std::vector<Axis>& axes, const std::string& first) {
  for (const Axis& axis : axes)
    if (axis.what.name == "model") return joined(axis.shown.words);
  return first;
}

/// Leaves out dollars if no price is known. \throws Refusal if they were requested
void drop_unknown_dollars(const ExploreOptions& o, const Priced& prices, Objectives& objectives) {
  if (prices.kind) return;
  for (std::size_t i = 0; i < objectives.all.size(); ++i) {
    if (objectives.all[i].name != "dollars_per_million_tokens") continue;
    if (!o.objectives.empty() || objectives.all[i].most) throw Refusal(prices.why + "; give <prices=NAME=USD>");
    objectives.all.erase(objectives.all.begin() + static_cast<std::ptrdiff_t>(i));
    --objectives.counted;
    return;
  }
}

/// What a point stands for.
struct Place {
  std::vector<std::size_t> on_axes;
  std::size_t machine;  ///< of its variant
  Job job;
  System system;
};

/// Everything that points share.
struct Space {
  /// \param all with the models read \throws Refusal where dollars were requested and no price is known
  template <class Request>
  Space(const Request& r, const std::vector<Axis>& along, const Objectives& wanted, Read<Request> all)
      : axes(along),
        machines(std::move(all.machines)),
        prices(prices_of(r, machines)),
        objectives(wanted),
        model(models_text(axes, all.requests.front().model.value->name)) {
    for (const Request& one : all.requests) mixture.push_back(one.model.value->mixture());
    drop_unknown_dollars(r, prices, objectives);
  }

  std::vector<Axis> axes;
  std::vector<RequestedMachine> machines;
  Priced prices;
  Objectives objectives;
  std::string model;
  std::vector<bool> mixture{};  ///< of the model, by variant
  Goodputs goodputs{};
  std::mutex guard{};
  std::map<std::vector<std::size_t>, double> unturned{};  ///< dollars by what else is varied
  /// The forward question. \param held of this layout alone, if there is one
  std::function<Found(const Place&, const Compared* held)> ask{};

  [[nodiscard]] Place place_at(long long number) const {
    Place out{.on_axes = places_of(axes, number), .machine = 0, .job = {}, .system = {}};
    out.machine = variant_of(axes, out.on_axes);
    out.system = machine_at(axes, out.on_axes, *machines[out.machine].system, out.job);
    if (out.job.nodes) out.job.gpus = *out.job.nodes * out.system.gpus_per_node;
    return out;
  }
  /// Serving: rate_apart of what was found there.
  std::function<std::optional<double>(const Place&, const Compared& found)> apart{};
  /// The best there with a parameter of the machine changed, or that of a layout.
  [[nodiscard]] Found turned(Place at, DesignParameter parameter, double value, const Compared* held) const {
    at.system = with_parameter(std::move(at.system), parameter, value);
    return ask(at, held);
  }
  /// Whether a part of the machine is varied, which has no price of its own, and dollars count.
  [[nodiscard]] bool turns_parts() const {
    const bool priced = std::any_of(objectives.all.begin(), objectives.all.end(),
                                    [](const Objective& o) { return o.name == "dollars_per_million_tokens"; });
    return priced && std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.what.parameter.has_value(); });
  }
  /// Dollars per million tokens of the same job on the machine with no part turned; not a number where it cannot run it.
  [[nodiscard]] double dollars_unturned(Place at) {
    std::vector<std::size_t> key{static_cast<std::size_t>(at.job.gpus.value_or(0))};
    for (std::size_t i = 0; i < axes.size(); ++i) key.push_back(axes[i].what.parameter ? 0 : at.on_axes[i]);
    {
      const std::scoped_lock lock{guard};
      if (const auto known = unturned.find(key); known != unturned.end()) return known->second;
    }
    double dollars = std::numeric_limits<double>::quiet_NaN();
    try {
      at.system = *machines[at.machine].system;
      dollars = ask(at, nullptr).plan.dollars.value_or(dollars);
    } catch (const RequestError&) {  // remembered as not a number
    }
    const std::scoped_lock lock{guard};
    return unturned[key] = dollars;
  }
  [[nodiscard]] std::optional<double> value(const Objective& objective, const Found& found, const Place& place) {
    if (objective.axis) return axes[*objective.axis].shown.values[place.on_axes[*objective.axis]];
    if (objective.goodput) return goodputs.of(static_cast<int>(found.gpus), found.gpus_per_node);
    if (objective.value == nullptr) return std::nullopt;
    const std::optional<double> out = objective.value(found);
    return out && std::isfinite(*out) && *out > 0 ? out : std::nullopt;
  }
};

[[nodiscard]] std::string first_line(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

/// d log objective / d log parameter of the layout that was found.
void add_elasticities(Space& space, ExplorePoint& out, const Place& place, const Found& found) {
  constexpr double turn = 1e-3;
  for (const Objective& objective : space.objectives.all)
    if (!objective.axis && !objective.goodput) out.elasticities.emplace_back(std::string{objective.name}, ByName<double>{});
  for (const DesignParameter parameter : rates) {
    const double now = varied::standing(place.system, parameter).value_or(0);
    if (!(now > 0)) continue;
    try {
      const Found less = space.turned(place, parameter, now * (1 - turn), &found.plan),
                  more = space.turned(place, parameter, now * (1 + turn), &found.plan);
      auto row = out.elasticities.begin();
      for (const Objective& objective : space.objectives.all) {
        if (objective.axis || objective.goodput) continue;
        const auto low = space.value(objective, less, place), high = space.value(objective, more, place);
        if (low && high) row->second.emplace_back(std::string{name(parameter)}, std::log(*high / *low) / std::log((1 + turn) / (1 - turn)));
        ++row;
      }
    } catch (const RequestError&) {
      continue;  // the turned machine cannot run it
    }
  }
}

void cannot_run(ExplorePoint& out, const Space& space, const RequestError& why) {
  out.trouble = first_line(why.what());
  out.objectives.clear();
  for (const Objective& objective : space.objectives.all) out.objectives.emplace_back(std::string{objective.name}, std::nullopt);
  out.meets = false;
}

/// Why a larger domain may be slower, where one is.
void add_domain_note(const Space& space, ExploreAnswer& out) {
  const auto turns = [](const Axis& axis) { return axis.what.parameter == DesignParameter::domain && axis.shown.size() > 1; };
  const auto worse = [](const ExploreWorth& one) { return one.parameter == name(DesignParameter::domain) && one.gain < 0; };
  if (std::none_of(space.axes.begin(), space.axes.end(), turns) && std::none_of(out.worth.begin(), out.worth.end(), worse)) return;
  for (const RequestedMachine& machine : space.machines)
    if (const Tier* const up = machine.system->tier(TierRole::scale_up); up != nullptr && up->kind == TierKind::full_mesh) {
      out.notes.push_back(
          fmt::format("in the full mesh of {} a GPU's bandwidth is divided among all others of its domain, so that a group of "
                      "part of a larger one has less",
                      machine.system->name));
      return;
    }
}

/// What a million tokens cost a GPU and hour.
[[nodiscard]] double dollars_per_gpu_hour(const Found& found) {
  return *found.plan.dollars * found.plan.tokens_per_gpu * found.plan.more * 3600 / 1e6;
}

/// \param refused why, where the point was refused and not unmet
[[nodiscard]] ExplorePoint point_at(Space& space, long long number, std::exception_ptr& refused) {
  ExplorePoint out;
  out.number = static_cast<int>(number);
  const std::vector<std::size_t> places = places_of(space.axes, number);
  for (std::size_t i = 0; i < space.axes.size(); ++i) {
    const ExploreAxis& axis = space.axes[i].shown;
    out.at.emplace_back(axis.name, axis.words.empty() ? ExploreValue{axis.values[places[i]]} : ExploreValue{axis.words[places[i]]});
  }
  try {
    const Place place = space.place_at(number);
    const Found found = space.ask(place, nullptr);
    out.meets = true;
    for (const Objective& objective : space.objectives.all) {
      const auto value = space.value(objective, found, place);
      out.objectives.emplace_back(std::string{objective.name}, value);
      if (objective.most && !(value && objective.holds(*value))) out.meets = false;
    }
    out.interval = {units::s(found.plan.low), units::s(found.plan.high)};
    out.layout = layout_text(found.plan, space.mixture[place.machine]);
    out.idle_gpus = found.plan.idle_gpus;
    if (space.turns_parts() && found.plan.dollars)
      if (const double before = space.dollars_unturned(place); std::isfinite(before))
        out.extra_dollars_per_gpu_hour = (before / *found.plan.dollars - 1) * dollars_per_gpu_hour(found);
    const StepTerm most = largest_term(found.plan);
    out.binds = fmt::format("{}, {:.0f} %", term_words(most.name), 100 * share_of(most.time, found.plan.terms));
    if (!found.plan.requests) add_elasticities(space, out, place, found);
  } catch (const UnmetError& error) {
    cannot_run(out, space, error);
  } catch (const RequestError& error) {
    cannot_run(out, space, error);
    refused = std::current_exception();
  }
  return out;
}

/// Counts have no small turns: from the neighbours of a point on that axis.
void add_differences(const Space& space, ExploreAnswer& out) {
  long long stride = 1;
  for (std::size_t i = space.axes.size(); i-- > 0; stride *= static_cast<long long>(space.axes[i].shown.size())) {
    const Axis& axis = space.axes[i];
    const bool turned_already = axis.what.parameter && std::count(rates.begin(), rates.end(), *axis.what.parameter) > 0;
    if (axis.named() || turned_already || axis.shown.size() < 2) continue;
    const auto size = static_cast<long long>(axis.shown.size());
    for (ExplorePoint& point : out.points) {
      if (!point.trouble.empty()) continue;
      const long long place = point.number / stride % size;
      const auto near = [&](long long other) -> const ExplorePoint* {  // it, or the point itself
        const long long at = point.number + (other - place) * stride - out.points.front().number;
        const bool known = other >= 0 && other < size && at >= 0 && at < static_cast<long long>(out.points.size());
        const ExplorePoint* const there = known ? &out.points[static_cast<std::size_t>(at)] : nullptr;
        return there != nullptr && there->trouble.empty() ? there : nullptr;
      };
      const ExplorePoint *less = near(place - 1), *more = near(place + 1);
      const double here = axis.shown.values[static_cast<std::size_t>(place)];
      const double from = less != nullptr ? axis.shown.values[static_cast<std::size_t>(place - 1)] : here;
      const double to = more != nullptr ? axis.shown.values[static_cast<std::size_t>(place + 1)] : here;
      if (!(to > from)) continue;
      for (auto& [objective, by] : point.elasticities) {
        const auto value = [&, wanted = std::string_view{objective}](const ExplorePoint* there) {
          for (const auto& [name, each] : (there != nullptr ? there : &point)->objectives)
            if (name == wanted) return each;
          return std::optional<double>{};
        };
        const auto low = value(less), high = value(more);
        if (low && high) by.emplace_back(axis.shown.name, std::log(*high / *low) / std::log(to / from));
      }
    }
  }
}

/// Adds the gain from more of each part of a point's machine, with layouts searched again.
void add_worth(Space& space, ExploreAnswer& out) {
  if (out.front.empty()) return;
  out.chosen = out.knee.value_or(out.front.front());
  const Place place = space.place_at(*out.chosen);
  const Found now = space.ask(place, nullptr);
  if (space.apart) out.tokens_per_second_per_gpu_apart = space.apart(place, now.plan);
  const auto try_turn = [&](DesignParameter parameter, double by, std::string change) {
    const double value = varied::standing(place.system, parameter).value_or(0);
    if (!(value > 0)) return;
    try {
      const Found then = space.turned(place, parameter, value * by, nullptr);
      ExploreWorth one{std::string{name(parameter)}, std::move(change), then.plan.worth() / now.plan.worth() - 1};
      if (now.plan.dollars) one.dollars_per_gpu_hour = one.gain * dollars_per_gpu_hour(now);
      out.worth.push_back(std::move(one));
    } catch (const RequestError&) {
      return;  // nothing can run there
    }
  };
  for (const DesignParameter parameter : rates) try_turn(parameter, 1.1, "+ 10 %");
  try_turn(DesignParameter::hbm_size, 1.1, "+ 10 %");
  try_turn(DesignParameter::domain, 2, "x 2");
  std::stable_sort(out.worth.begin(), out.worth.end(), [](const ExploreWorth& a, const ExploreWorth& b) { return a.gain > b.gain; });
}

[[nodiscard]] ExploreAnswer explored(const ExploreOptions& o, Space& space) {
  ExploreAnswer out;
  out.model = space.model;
  for (const Axis& axis : space.axes) out.axes.push_back(axis.shown);
  for (std::size_t i = 0; i < space.objectives.all.size(); ++i) {
    const Objective& one = space.objectives.all[i];
    out.objectives.push_back({std::string{one.name}, std::string{one.unit}, one.more_is_better, i < space.objectives.counted, one.most});
  }
  if (space.prices.kind) out.price_kind = std::string{name(*space.prices.kind)};
  if (!space.prices.why.empty()) out.no_price = space.prices.why;
  out.all_points = points_of(space.axes);
  if (o.first >= out.all_points) throw Refusal(fmt::format("<first>: {} is behind the last of {} points", o.first, out.all_points));
  const long long count = std::min<long long>(o.count.value_or(out.all_points), out.all_points - o.first);
  if (count > most_points)
    throw Refusal(
        fmt::format("<vary>: {} points are more than {} at once; take larger steps, or ask for them in parts", count, most_points));
  out.points.resize(static_cast<std::size_t>(count));
  std::vector<std::exception_ptr> refused(out.points.size());
  const auto threads = static_cast<std::size_t>(o.threads.value_or(static_cast<int>(processors())));
  std::atomic<long long> done{0};
  tell_progress(0, count);
  on_threads(out.points.size(), threads, [&](std::size_t at) {
    ask_to_go_on();
    out.points[at] = point_at(space, o.first + static_cast<long long>(at), refused[at]);
    tell_progress(++done, count);
  });
  tell_progress(done, count);
  const bool alike = std::all_of(out.points.begin(), out.points.end(), [&](const ExplorePoint& point) {
    return refused[static_cast<std::size_t>(&point - out.points.data())] && point.trouble == out.points.front().trouble;
  });
  if (alike) std::rethrow_exception(refused.front());  // a wrong value of a field that is not varied
  add_differences(space, out);
  mark_front(out);
  add_worth(space, out);
  add_domain_note(space, out);
  return out;
}

[[nodiscard]] bool varies(const std::vector<Axis>& axes, std::initializer_list<std::string_view> names) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const Axis& axis) { return std::find(names.begin(), names.end(), axis.shown.name) != names.end(); });
}
/// A count is given, or varied. \throws Refusal
template <class T>
void need_one(std::optional<T>& given, bool varied, std::string_view what, std::string_view field) {
  if (given && varied) throw Refusal(fmt::format("<{}> is varied; leave it out", field));
  if (!given && !varied) throw Refusal(fmt::format("{}? Give <{}>", what, field), true);
  if (!given) given = 1;
}

[[nodiscard]] TrainingQuestion with_layout(TrainingQuestion q, const Layout& l) {
  q.gpus = l.gpus();  // of which it left none idle
  q.global_batch = l.global_batch;
  q.tp = l.tp;
  q.pp = l.pp;
  q.vp = l.vp;
  q.cp = l.cp;
  if (l.cp > 1) q.context = l.context;
  q.ep = l.ep;
  q.dp = l.dp;
  q.expert_tp = l.expert_tp;
  q.zero = l.zero;
  q.microbatch = l.microbatch;
  q.schedule = l.schedule;
  q.recompute = l.recompute;
  q.recompute_modules = l.recompute_modules;
  q.sequence_parallel = l.sequence_parallel;
  q.placing = l.placing;
  if (l.recompute_layers > 0) q.recompute_layers = l.recompute_layers;
  q.recompute_by_stage = l.recompute_by_stage;
  q.split = l.split;
  if (l.offload_layers > 0) q.offload_layers = l.offload_layers;
  if (l.offload_optimizer > 0) q.offload_optimizer = l.offload_optimizer;
  return q;
}

[[nodiscard]] ServingQuestion with_layout(ServingQuestion q, const PricedServing& p) {
  q.ttft = q.tpot = q.usual_ttft = 0;
  if (p.apart) q.prefill = {p.prefill.tp, p.prefill.pp, p.prefill.ep, p.prefill.attention_dp};
  q.tp = p.engine.tp;
  q.pp = p.engine.pp;
  q.ep = p.engine.ep;
  q.attention_dp = p.engine.attention_dp;
  if (q.concurrency <= 0) q.batch = static_cast<int>(p.batch);
  return q;
}

[[nodiscard]] TrainingQuestion asked_at(TrainingQuestion q, const Place& place) {
  q.gpus = place.job.gpus.value_or(q.gpus);
  q.global_batch = place.job.batch.value_or(q.global_batch);
  q.sequence = place.job.sequence.value_or(q.sequence);
  return q;
}
[[nodiscard]] ServingQuestion asked_at(ServingQuestion q, const Place& place) {
  const Job& job = place.job;
  q.gpus = job.gpus.value_or(q.gpus);
  q.isl = job.isl.value_or(static_cast<int>(q.isl));
  q.osl = job.osl.value_or(static_cast<int>(q.osl));
  if (job.batch) q.batch = job.batch;
  if (q.host.rate > 0) q.host.rate = host_rate(place.system);
  return q;
}

[[nodiscard]] bool limited(const ExploreServeRequest& r) { return r.ttft || r.tpot; }
/// What a service is run for: under random arrivals requests, else tokens from each GPU; without limits a user's speed is what they cost.
[[nodiscard]] std::string_view usual_goals(const ExploreServeRequest& r) {
  if (r.request_rate) return "req/s,$/token";
  return limited(r) ? "tokens/s/gpu,$/token" : "tokens/s/gpu,tokens/s/user,$/token";
}
/// " within TTFT 1 s, TPOT 40 ms"
[[nodiscard]] std::string limits_text(const ExploreServeRequest& r) {
  std::vector<std::string> out;
  if (r.ttft) out.push_back("TTFT " + short_time_text(r.ttft->value()));
  if (r.tpot) out.push_back("TPOT " + short_time_text(r.tpot->value()));
  return out.empty() ? "" : fmt::format(" within {}", joined(out));
}

[[nodiscard]] std::string counted(long long points) { return fmt::format("{} point{}", points, points == 1 ? "" : "s"); }

}  // namespace
}  // namespace explore

ExploreAnswer answer(const ExploreRequest& request) {
  using namespace explore;
  ExploreRequest r = request;
  const std::vector<Axis> axes = axes_of(r.vary, r.system, false, varied::options_of(fields_of<PlanRequest>()));
  need_one(r.gpus, varies(axes, {"gpus", "nodes"}), "on how many GPUs", "gpus");
  need_one(r.global_batch, varies(axes, {"batch"}), "how many sequences a step", "global_batch");
  const Objectives objectives = objectives_of(r, axes, false, "step,$/token");
  Read<ExploreRequest> all =
      read<PlanRequest>(variants_of(axes, r.system), r, [](const Machine& machine, const auto& overrides, const auto& one) {
        return with_library(machine.get(overrides, {.compute = true, .custom = one.symmetric, .moe = false}, one.calibration), one.library);
      });
  load_models(all.requests);
  const auto questions = questions_of<TrainingQuestion>(
      all.requests, [&](const ExploreRequest& one, std::size_t i) { return training_question(one, *all.machines[i].system); });
  Space space(r, axes, objectives, std::move(all));
  const LayoutBy by = space.objectives.pay() ? LayoutBy::paid : LayoutBy::fastest;
  space.ask = [&](const Place& at, const Compared* held) {
    TrainingQuestion q = asked_at(question_in(questions[at.machine]), at);
    q.plain_within = 1e-9;  // a plainer layout that is slower would answer less with more of a part
    if (held != nullptr) q = with_layout(std::move(q), held->training->layout);
    Found out{
        .plan = compared(q, at.system, space.prices.of[at.machine], held != nullptr ? LayoutBy::fastest : by), .gpus = double(q.gpus), .gpus_per_node = at.system.gpus_per_node};
    drop_other_kinds(out.plan, space.prices);
    out.mfu = rates_of(at.system, q, *out.plan.training).mfu;
    return out;
  };
  ExploreAnswer out = explored(r, space);
  out.job = "train";
  out.title = fmt::format("Training {}: {}", out.model, counted(out.all_points));
  if (std::any_of(space.objectives.all.begin(), space.objectives.all.end(), [](const Objective& one) { return one.goodput; }))
    out.notes.emplace_back("goodput takes a spare node as always at hand, and not paid for");
  out.notes.push_back(fmt::format("a point takes the {} layout; plan and compare take a plainer one within {:g} % of it",
                                  by == LayoutBy::paid ? "cheapest" : "fastest", 100 * plainer_within));
  for (std::size_t i = 0; i < questions.size() && out.stack_note.empty(); ++i)
    if (const auto* const q = std::get_if<TrainingQuestion>(&questions[i]))
      out.stack_note = stack_note(q->stack, *space.machines[i].system);
  return out;
}

ExploreAnswer answer(const ExploreServeRequest& request) {
  using namespace explore;
  ExploreServeRequest r = request;
  const std::vector<Axis> axes = axes_of(r.vary, r.system, true, varied::options_of(fields_of<ServeRequest>()));
  if (!r.model && !varies(axes, {"model"})) throw Refusal("which model? Name it with <model> (fabricost model lists them)", true);
  need_one(r.gpus, varies(axes, {"gpus", "nodes"}), "on how many GPUs", "gpus");
  if (r.batch && varies(axes, {"batch"})) throw Refusal("<batch> is varied; leave it out");
  check_ranges(static_cast<const ServeRequest&>(r));
  const Objectives objectives = objectives_of(r, axes, true, usual_goals(r));
  Read<ExploreServeRequest> all =
      read<ServeRequest>(variants_of(axes, r.system), r, [](const Machine& machine, const auto& overrides, const auto& one) {
        return with_library(machine.get(overrides, {}, one.calibration), {});
      });
  load_models(all.requests);
  std::vector<std::optional<LoadQuestion>> loads(all.requests.size());
  const auto questions = questions_of<ServingQuestion>(all.requests, [&](ExploreServeRequest one, std::size_t i) {
    loads[i] = load_question(one);
    if (loads[i] && (loads[i]->trace || loads[i]->drawn.turns > 1) && varies(axes, {"isl", "osl"}))
      throw Refusal(loads[i]->trace ? "<vary>: lengths are in the trace of <requests>" : "<vary>: isl and osl are of turns here; vary turns");
    return serving_question(one, *one.model.value, *all.machines[i].system);
  });
  Space space(r, axes, objectives, std::move(all));
  space.ask = [&](const Place& at, const Compared* held) {
    ServingQuestion q = asked_at(question_in(questions[at.machine]), at);
    if (held != nullptr) q = with_layout(std::move(q), *held->serving);
    const Prices& prices = space.prices.of[at.machine];
    const std::optional<LoadQuestion>& load = loads[at.machine];
    Found out{.plan = load ? compared(q, *load, at.system, prices).first : compared(q, at.system, prices),
              .gpus = double(q.gpus),
              .gpus_per_node = at.system.gpus_per_node};
    drop_other_kinds(out.plan, space.prices);
    return out;
  };
  space.apart = [&](const Place& at, const Compared& best) { return rate_apart(asked_at(question_in(questions[at.machine]), at), best, at.system); };
  ExploreAnswer out = explored(r, space);
  out.job = "serve";
  out.title = fmt::format("Serving {}{}: {}{}", out.model, limits_text(r), counted(out.all_points),
                          r.request_rate ? fmt::format("; money and energy are of the most requests that each holds, not of {:.4g}/s", r.request_rate->per_second) : "");
  return out;
}

}  // namespace fabricost::plan
