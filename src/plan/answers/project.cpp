/// Asks plan, goodput, cost and need about one run, each with the results of the others.

#include "answers/need/runs.hpp"
#include "answers/searched.hpp"
#include "answers/stack_note.hpp"
#include "answers/typed/own_machines.hpp"
#include "text/amounts.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/hardware/design_parameters.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/on_threads.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/model/flops.hpp>
#include <fabricost/plan/specs/prices.hpp>
#include <fabricost/plan/training/idle_gpus.hpp>
#include <fabricost/plan/training/sites.hpp>
#include <fabricost/progress.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>

namespace fabricost::plan {

RequestTable<ProjectRequest> ProjectRequest::fields() {
  static constexpr std::string_view not_of_a_project[]{"--system,-s", "--gpus,-g"};
  using R = ProjectRequest;
  using enum Amount;
  return {
      asks(&R::systems, "systems", "--system,-s", "NAMES", "The machines: names from fabricost machine, or YAML files", true),
      asks(&R::tokens, "tokens", "--tokens", large_count, {1, 1e18}, "N", "Tokens to train on, as in 15T", true),
      asks(&R::gpus, "gpus", "--gpus,-g", count, any_count, "N", "Number of GPUs; default the least that end in time"),
      asks(&R::in, "in_seconds", "--in", seconds, some_time, "TIME",
           "Longest run, as in 60d; without <gpus>, the fewest GPUs that\nend in time are found"),
      asks(&R::done_by, "done_by", "--done-by", "DAY",
           "Latest end: 2027-03-31, 2027-03 or 2027-Q1; the run starts\nwhen the machine is delivered"),
      asks(&R::start, "start", "--start", "DAY", "Earliest start; default the day of the prices"),
      asks(&R::deliveries, "deliveries", "--delivery", "NAME=DAY",
           "Delivery date of each machine: dgx-b300=2027-02;\ndefault what its maker announced"),
      PlanRequest::fields_of_search().without(not_of_a_project),
      asks(&R::fleet, "fleet", "--fleet", "NAME", "Failure rate, as published of: llama3 (default), rsc-1, rsc-2, rsc-observed, opt-175b"),
      asks(&R::mttf_node, "mttf_node_seconds", "--mttf-node", seconds, any_time, "TIME", "Mean time to failure of a node, as in 6000h"),
      asks(&R::checkpoint, "checkpoint_seconds", "--checkpoint", seconds, any_time, "TIME",
           "Time the job stops for a checkpoint; default 40s, <background> 0.6s"),
      asks(&R::background, "background", "--async", "", "Write checkpoints in the background"),
      asks(&R::restart, "restart_seconds", "--restart", seconds, any_time, "TIME", "Time to detect, replace and restart; default 10min"),
      asks(&R::storage_bandwidth, "storage_bytes_per_second", "--storage", bytes_per_second, {1, 1e18}, "RATE",
           "Bandwidth of the storage, as in 2TB/s"),
      asks(&R::spares, "spares", "--spares", count, {0, 1e6}, "N", "Spare nodes; default: enough to wait 0.1 % at most, 0 where\nthey cost more than they save"),
      field::ask_spares_per_rack<R>,
      asks(&R::repair, "repair_seconds", "--repair", seconds, any_time, "TIME", "Time until a node is back; default 24h"),
      asks(&R::use, "use", "--use", Amount::share, some_share, "X",
           "Share of each day that the run has the machine, as in 50%;\nanother job has the rest; default 1"),
      asks(&R::own_prices, "own_prices", "--price", "NAME=USD", "Your own price of a GPU-hour of each machine: dgx-h100=2.50"),
      asks(&R::price_kind, "price_kind", "--price-kind", "KIND",
           "Kind of price: on_demand, reserved or owned; default the\nfirst known of all machines"),
      OwningRequest::fields(),
      asks(&R::prices, "prices", "--prices", "FILE", "File of prices; it may say extends: default")};
}

AnswerTable<ProjectedRun> ProjectedRun::fields() {
  using A = ProjectedRun;
  constexpr bool left_out = true;
  constexpr JsonUnit days{day_seconds};
  return {
      field::give_system<A>,
      gives_trouble(&A::trouble, "Why it cannot do the job; empty: it can. Nothing else is set then."),
      gives(&A::gpus, "gpus", "gpus", "GPUs of the job."),
      gives(&A::gpus_found, "gpus_found", "gpus_found", "Whether they were found, as the least that ends in time."),
      gives(&A::gpus_interval, "gpus_interval", "gpus_interval",
            "Where they were found: the least at the fast and at the slow end of a step's interval; None: given, or no number is enough.",
            1, left_out),
      gives(&A::used_gpus, "used_gpus", "used_gpus", "GPUs of its layout: some may stay idle where fewer are faster."),
      gives(&A::idle_gpus, "idle_gpus", "idle_gpus", "GPUs of its domains that its groups leave idle, beyond gpus."),
      gives(&A::spares, "spares", "spares", "Nodes that stand by; idle GPUs of the job are of them first."),
      gives(&A::spares_per_rack, "spares_per_rack", "spares_per_rack",
            "Spare nodes of each of its racks, which are paid for; spares are racks then. None: not given.", 1, left_out),
      gives(&A::usual_spares, "usual_spares", "usual_spares",
            "Spares that would be taken had none been given; None: they were not given, or none would be.", 1, left_out),
      gives(&A::usual_goodput, "usual_goodput", "usual_goodput", "The goodput with those; None: as usual_spares.", 1, left_out),
      gives(&A::interval_spares, "spares_interval", "interval_spares",
            "(best, worst): spares with failures as of the published fleets, where the number was not given; each is paid for.", 1,
            left_out),
      gives(&A::gpus_per_node, "gpus_per_node", "gpus_per_node", "GPUs of one of its nodes."),
      gives(&A::paid_gpus, "paid_gpus", "paid_gpus",
            "GPUs of the job, idle ones and spares, in whole racks: what racks, power and money are of."),
      gives(&A::step, "step_s", "step_seconds", "Of one step, s."),
      gives(&A::interval_step, "step_interval_s", "interval_step_seconds", "(low, high), s: nine steps in ten."),
      gives(&A::mfu, "mfu", "mfu", "As of plan."),
      gives(&A::better_batch, "better_batch", "better_batch",
            "A batch up to a quarter larger with a tenth more tokens a second, as the GPUs divide it better; None: there is none.", 1,
            left_out),
      gives(&A::better_batch_gain, "better_batch_gain", "better_batch_gain", "So many more, as a share; 0: there is none.", 1, left_out),
      gives(&A::steps, "steps", "steps", "tokens / tokens of a step."),
      gives(&A::goodput, "goodput", "goodput", "Share of the time that is work that counts."),
      gives(&A::interval_goodput, "goodput_interval", "interval_goodput",
            "(low, high): with failures as of the published fleets; the same twice where a rate is given."),
      gives(&A::time, "days", "seconds", "How long the run takes, s.", days),
      gives(&A::interval, "days_interval", "interval_seconds", "(low, high), s.", days),
      gives(&A::gpu_hours, "gpu_hours", "gpu_hours", "GPUs of the job x the time the run has them / 3600."),
      gives(&A::interval_gpu_hours, "gpu_hours_interval", "interval_gpu_hours", "(low, high)."),
      gives(&A::delivery, "delivery", "delivery", "The earliest day on which the machine can be had; None: not known."),
      gives(&A::delivery_source, "delivery_source", "delivery_source", "Who says so.", 1, left_out),
      gives(&A::wait, "wait_days", "wait_seconds", "From the earliest start until then, s.", days, left_out),
      gives(&A::ends, "ends", "ends", "The day on which the run ends that starts then, or on the start asked for; None: not known."),
      gives(&A::interval_ends, "ends_interval", "interval_ends", "(early, late), at both ends of the time.", 1, left_out),
      gives(&A::in_time, "in_time", "in_time", "Whether it ends in time; None: no time was given."),
      gives(&A::sure_in_time, "sure_in_time", "sure_in_time", "Whether it does, or does not, at both ends of the interval."),
      gives(&A::racks, "racks", "racks", "Of servers; None: not known."),
      gives(&A::site_power, "site_MW", "site_watts", "(racks + switches) x PUE, W; None: no power is known.", 1e6),
      gives(&A::gpus_energy, "gpus_MWh", "gpus_joules", "GPUs of the job at their own rating, J; None: not known.", 3.6e9),
      gives(&A::racks_energy, "racks_MWh", "racks_joules", "Servers paid for, without switches and cooling, J.", 3.6e9),
      gives(&A::energy, "site_MWh", "joules", "Of the site with cooling, J.", 3.6e9),
      gives(&A::interval_energy, "site_MWh_interval", "interval_joules", "(low, high), J.", 3.6e9),
      gives(&A::price, "usd", "dollars", "By the one kind of price, USD; None: it is not known of this machine."),
      gives(&A::interval_price, "usd_interval", "interval_dollars", "(low, high), USD: of the time; prices are taken as exact."),
      gives(&A::capital, "capital_usd", "capital_dollars", "To buy servers, network and storage, USD; None: not known."),
      gives(&A::break_even, "break_even_days", "break_even_seconds",
            "Busy time after which buying has cost less than renting, s; None: never in the lifetime, or not known.", days),
      gives(&A::price_kind, "price_kind", "price_kind", "on_demand, reserved, owned or stated (given); None: not known."),
      gives(&A::network_share, "network_share", "network_share", "Of servers, network and storage, the network's price; None: not known."),
      gives(&A::storage_share, "storage_share", "storage_share", "The same of the storage."),
      gives(&A::kernels, "kernels", "kernels",
            "measured: on processors of this generation; assumed: NVIDIA's shares of the peak are taken."),
      field::give_stack_note<A>,
      gives(&A::layout, "layout", "layout", "The fastest layout, a TrainingPlan.", 1, left_out),
      gives(&A::failures, "failures", "failures", "What failures leave, a Goodput.", 1, left_out),
      gives(&A::cost, "cost", "cost", "Machine, prices with their sources, an hour, the run, a Cost.", 1, left_out)};
}

AnswerTable<ProjectAnswer> ProjectAnswer::fields() {
  using A = ProjectAnswer;
  return {gives(&A::model, "model", "model", "Name of the model."),
          gives(&A::tokens, "tokens", "tokens", "Of the run."),
          gives(&A::in, "in_days", "in_seconds", "The longest run, s; None: any.", day_seconds),
          gives(&A::done_by, "done_by", "done_by", "The day by which it must end; None: any."),
          gives(&A::start, "start", "start", "The earliest start; None: no day is known."),
          gives(&A::global_batch, "global_batch", "global_batch", "Sequences of a step."),
          gives(&A::sequence, "sequence", "sequence", "Tokens of a sequence."),
          gives(&A::precision, "precision", "precision", "Of the matrix products."),
          gives(&A::rows, "systems", "", "The machines in the order asked."),
          gives(&A::price_kind, "price.kind", "price_kind",
                "By which machines are priced: on_demand, reserved or owned; None: none is known of any."),
          gives(&A::no_price, "price.why", "", "Of which machines that price is not known; None: of none."),
          gives(&A::price_instead, "price.instead", "", "Of which machines an earlier kind is not known; None: it is the first, or was asked for."),
          gives(&A::cheapest, "best.cheapest", "cheapest", "The machine that costs least, of those in time; None: not known."),
          gives(&A::lowest_power, "best.lowest_power", "lowest_power", "The one whose site draws least."),
          gives(&A::fewest_gpus, "best.fewest_gpus", "fewest_gpus", "The one with the fewest GPUs of the job; None: several have."),
          gives(&A::soonest, "best.soonest", "soonest", "The one that ends first, waiting included."),
          gives(&A::no_verdict, "best.why", "no_verdict", "Why no machine is named the best, where they cannot be ranked; None: they can."),
          gives(&A::unranked, "best.unranked", "unranked",
                "Machines that are left out of that: what kernels reach was measured on the others alone.")};
}

namespace {

using Ends = std::pair<double, double>;

/// Share of the time that a job waits at most with the spares it takes by default (FailureAnswer::spares_to_hardly_wait).
constexpr double waiting_with_spares = 1e-3;

void check(const ProjectRequest& r) {
  if (!r.model) throw Refusal("which model? Name it with <model> (fabricost model lists them)", true);
  if (!r.tokens) throw Refusal("how many tokens? Give <tokens=15e12>", true);
  if (r.in && !r.done_by.empty()) throw Refusal("one end is enough: <in_seconds> or <done_by>");
  if (!r.gpus && !r.in && r.done_by.empty())
    throw Refusal("on how many GPUs, or in what time? Give <gpus>, <in_seconds> or <done_by>", true);
  if (!r.global_batch) throw Refusal("how many sequences a step? Give <global_batch>", true);
  if (const double step = double(*r.global_batch) * r.sequence; *r.tokens < step)
    throw Refusal(fmt::format("<tokens> of {:.4g} are less than a step takes, {:.0f}; did you mean {:.4g}T?", *r.tokens, step, *r.tokens));
  if (r.fleet && r.mttf_node) throw Refusal("one rate of failures is enough: <fleet> or <mttf_node_seconds>");
  check_ranges(r);
}

/// When a run can start, and by when it must end.
struct Calendar {
  std::optional<Day> start, done_by;

  Calendar(const ProjectRequest& r, const Prices& prices) {
    start = r.start.empty() ? parse_day(prices.date) : day_of(r.start, "start");
    if (!r.done_by.empty()) done_by = day_of(r.done_by, "done_by");
    if (done_by && !start) throw Refusal("from when? The prices have no date: give <start=2027-01-01>", true);
    if (done_by && *done_by <= *start)
      throw Refusal(
          fmt::format("<done_by>: {} is not after the earliest start, {}; give another <start>", day_text(*done_by), day_text(*start)));
  }
  [[nodiscard]] std::optional<Day> start_on(const ProjectedRun& run) const {
    const std::optional<Day> had = run.delivery ? parse_day(*run.delivery) : std::nullopt;
    if (!had || !start) return had;
    return std::max(*had, *start);
  }
};

/// \param own_day the user's day, which comes first \throws RequestError where it must end by a day before it can begin, or no day is
/// known
void add_delivery(ProjectedRun& out, const System& system, const Prices& prices, const Calendar& calendar, std::optional<Day> own_day) {
  if (own_day) {
    out.delivery = day_text(*own_day);
    out.delivery_source = "as given";
  } else if (const auto known = delivery_of(system, prices)) {
    out.delivery = day_text(known->value);
    out.delivery_source = fmt::format("{}: {}", name(known->provenance.confidence), known->provenance.source);
  }
  if (const auto from = calendar.start_on(out); from && calendar.start)
    out.wait = units::s(std::chrono::duration<double>(*from - *calendar.start).count());
  if (!calendar.done_by) return;
  if (!out.delivery)
    throw RequestError(fmt::format("when {} can be had is not known; say it with <deliveries={}=2027-06>", system.name, system.name));
  if (*calendar.start_on(out) >= *calendar.done_by)
    throw RequestError(fmt::format("it can be had on {} at the earliest ({}), the run must end by {}", *out.delivery, out.delivery_source,
                                   day_text(*calendar.done_by)));
}

/// The request about failures; its GPUs are set later.
[[nodiscard]] GoodputRequest failing(const ProjectRequest& r, const Machine& machine) {
  GoodputRequest out;
  static_cast<FailuresRequest&>(out) = r;
  out.system = machine;
  out.model = r.model;
  out.prices = r.prices;
  if (r.lora_rank) {
    PlanRequest node = r;
    node.gpus = machine.value->gpus_per_node;
    const TrainingQuestion q = training_question(node, *machine.value);
    Layout layout;
    layout.adapters = q.adapters;
    out.trained = trained_parameters(q.model, layout);
  }
  return out;
}

/// The share of a run's time on the machine that is left after it was stopped and started again once a day.
[[nodiscard]] double kept_of_turns(const ProjectRequest& r, const GoodputAnswer& g) {
  if (r.use >= 1) return 1;
  const double kept = 1 - (g.stall + g.recovery).value() / (day_seconds * r.use);
  if (!(kept > 0))
    throw Refusal(fmt::format("<use>: {:.4g} of a day is no longer than stopping and starting again takes, {}", r.use,
                              duration_text(g.stall + g.recovery)));
  return kept;
}

/// The machine with the GPUs of each rack that work. \throws Refusal where no node of a rack is left
[[nodiscard]] Machine without_spares(const Machine& machine, std::optional<int> spares_per_rack) {
  if (!spares_per_rack) return machine;
  const System& whole = *machine.value;
  check_spares_per_rack(*spares_per_rack, whole.domain / whole.gpus_per_node);
  const int working = whole.domain - *spares_per_rack * whole.gpus_per_node;
  Machine out = with_parameter(whole, DesignParameter::domain, working);
  out.name = machine.name;
  return out;
}

/// The least GPUs that end in time, with those of both ends of the interval.
void find_gpus(ProjectedRun& out, const ProjectRequest& r, const Machine& machine, Time longest) {
  NeedRequest need;
  static_cast<PlanRequest&>(need) = r;
  need.system = without_spares(machine, r.spares_per_rack);
  need.overrides.clear();
  need.calibration.clear();
  need.unknown = "gpus";
  need.tokens = r.tokens;
  need.goodput = true;
  need.failures = failing(r, machine);
  GoodputRequest node = need.failures;
  node.gpus = machine.value->gpus_per_node;
  need.in = longest * r.use * kept_of_turns(r, answer(node));
  if (!r.spares) *need.in *= 1 - waiting_with_spares;  // need knows of no spares
  const NeedAnswer found = least_above(need, too_few_gpus(r, *machine.value, *need.in));
  if (!found.value) throw Refusal(found.reason);
  out.gpus = static_cast<int>(*found.value);
  out.gpus_found = true;
  if (found.fast_value && found.slow_value) out.gpus_interval = Ends{*found.fast_value, *found.slow_value};
}

/// GPUs of spare nodes beyond those that the layout leaves idle of the job's.
[[nodiscard]] double standing_by(const ProjectedRun& run, const System& system, int spares) {
  if (run.spares_per_rack) {
    const int working = system.domain - *run.spares_per_rack * system.gpus_per_node;
    return std::ceil(double(run.gpus) / working + spares) * system.domain - run.gpus;
  }
  const int idle_nodes = (run.gpus - run.used_gpus) / system.gpus_per_node;
  return static_cast<double>(std::max(0, spares - idle_nodes)) * system.gpus_per_node;
}

/// Nodes of the machine beside the job and its idle GPUs; as many as one likes where the machine does not state its size.
[[nodiscard]] bool has_room(const System& system, const ProjectedRun& run, int spares) {
  const auto stated = stated_gpus(system);
  return !stated || run.gpus + run.idle_gpus + standing_by(run, system, spares) <= static_cast<double>(*stated);
}

/// GPUs of the job, idle ones and spares.
[[nodiscard]] int paid_for(const ProjectedRun& run, const System& system, const Prices& prices, int spares) {
  return static_cast<int>(paid_gpus(system, run.gpus, prices, run.layout->idle_gpus, standing_by(run, system, spares)));
}

/// GPUs that are paid for: whole racks where the prices are those of racks.
void pay(ProjectedRun& out, const System& system, const Prices& prices) {
  out.idle_gpus = static_cast<int>(paid_gpus(system, out.gpus, prices, out.layout->idle_gpus)) - out.gpus;
  out.paid_gpus = paid_for(out, system, prices, out.spares);
}

/// The spares taken where none are given: enough to hardly wait, or 0 where those cost more than the waiting that they save. Set in `asked`,
/// which stays without a number where a job asks for more than there are: there is always another then, somebody else's.
[[nodiscard]] GoodputAnswer with_usual_spares(GoodputRequest& asked, const GoodputAnswer& waiting, const ProjectedRun& run, const Machine& machine,
                                              const Prices& prices) {
  const int usual = waiting.spares_to_wait_a_thousandth;
  if (usual > waiting.racks.value_or(waiting.nodes) || !has_room(*machine.value, run, usual)) {
    asked.spares.reset();
    return answer(asked);
  }
  asked.spares = usual;
  GoodputAnswer out = answer(asked);
  const double paid = paid_for(run, *machine.value, prices, 0), more = paid_for(run, *machine.value, prices, usual);
  if (out.goodput * paid > waiting.goodput * more) return out;
  asked.spares = 0;
  return waiting;
}

[[nodiscard]] GoodputAnswer after_failures(ProjectedRun& out, const ProjectRequest& r, const Machine& machine, const Prices& prices) {
  GoodputRequest asked = failing(r, machine);
  asked.gpus = out.used_gpus;
  asked.spares = 0;
  GoodputAnswer found = answer(asked);
  if (found.spares_to_wait_a_thousandth > r.spares.value_or(0)) {
    const GoodputAnswer usual = with_usual_spares(asked, found, out, machine, prices);
    if (!r.spares) {
      found = usual;
    } else if (asked.spares.value_or(0) > *r.spares) {
      out.usual_spares = asked.spares;
      out.usual_goodput = usual.goodput;
    }
  }
  if (r.spares) {
    asked.spares = r.spares;
    found = answer(asked);
  }
  if (!(found.goodput > 0)) throw RequestError("failures leave nothing of the time: take fewer GPUs, or nodes that fail less often");
  out.spares = asked.spares.value_or(0);
  out.goodput = found.goodput;
  out.interval_goodput = {found.goodput, found.goodput};
  out.interval_spares = {out.spares, out.spares};
  if (!r.fleet && !r.mttf_node)
    for (const GoodputOfFleet& fleet : found.by_fleet) {
      const bool own_spares = !r.spares && out.spares > 0;  // each fleet's own number, which is paid for
      const double kept = own_spares ? fleet.goodput_with_them : fleet.goodput;
      if (!(kept > 0)) continue;
      const int spares = own_spares ? fleet.spares_to_wait_a_thousandth : out.spares;
      if (kept < out.interval_goodput.first) {
        out.interval_goodput.first = kept;
        out.interval_spares.second = spares;
      }
      if (kept > out.interval_goodput.second) {
        out.interval_goodput.second = kept;
        out.interval_spares.first = spares;
      }
    }
  return found;
}

[[nodiscard]] CostAnswer priced(const ProjectRequest& r, const ProjectedRun& run, const Machine& machine, std::optional<PriceKind> kind,
                                std::optional<double> own, const Prices& prices, double kept) {
  CostRequest asked;
  static_cast<OwningRequest&>(asked) = r;
  asked.system = machine;
  asked.gpus = run.paid_gpus;
  asked.paid = both_paid_gpus(*machine.value, run.gpus, prices, run.layout->idle_gpus, standing_by(run, *machine.value, run.spares));
  asked.spare_gpus = standing_by(run, *machine.value, run.spares);
  asked.tokens = r.tokens;
  asked.goodput = kept;
  asked.tokens_per_second_per_gpu = run.layout->tokens_per_second / run.paid_gpus;
  asked.dollars_per_gpu_hour = own;
  asked.price_kind = kind;
  asked.prices = r.prices;
  return answer(asked);
}

/// The time limit of the run: the whole of its last day counts.
[[nodiscard]] std::optional<Time> time_for(const ProjectRequest& r, const Calendar& calendar, const ProjectedRun& run) {
  if (!calendar.done_by) return r.in;
  return units::s(std::chrono::duration<double>(*calendar.done_by + std::chrono::days{1} - *calendar.start_on(run)).count());
}

/// The ends of a quantity proportional to the time of the run.
template <class Value>
[[nodiscard]] std::pair<Value, Value> scaled(Value value, const ProjectedRun& run) {
  return {value * run.interval.first / run.time, value * run.interval.second / run.time};
}

/// The joint end of two independent factors of a time. \param each over the predicted time, both at least 1
[[nodiscard]] double together(double one, double other) { return std::exp(std::hypot(std::log(one), std::log(other))); }

void add_times(ProjectedRun& out, const ProjectRequest& r, const Calendar& calendar, Time occupied) {
  const auto& [fastest, slowest] = out.interval_step;
  out.time = occupied / r.use;
  out.interval = {out.time / together(out.step / fastest, out.interval_goodput.second / out.goodput),
                  out.time * together(slowest / out.step, out.goodput / out.interval_goodput.first)};
  out.gpu_hours = out.gpus * occupied.value() / 3600;
  out.interval_gpu_hours = scaled(out.gpu_hours, out);
  if (const auto start = calendar.start_on(out)) {
    out.ends = day_text(after(*start, out.time.value()));
    out.interval_ends =
        std::pair{day_text(after(*start, out.interval.first.value())), day_text(after(*start, out.interval.second.value()))};
  }
  constexpr Time longest_year = units::s(100 * hours_of_a_year * 3600);
  if (out.time > longest_year)
    throw RequestError(
        fmt::format("failures and checkpoints leave {:.2g} of the time, and the run takes more than 100 years: "
                    "take faster storage, shorter checkpoints, or fewer GPUs",
                    out.goodput));
  const std::optional<Time> longest = time_for(r, calendar, out);
  if (!longest) return;
  out.in_time = out.time <= *longest;
  out.sure_in_time = (out.interval.first <= *longest) == (out.interval.second <= *longest);
}

void add_money(ProjectedRun& out, const System& system, Time occupied, const Prices& prices, std::optional<PriceKind> kind) {
  const CostAnswer& c = *out.cost;
  out.racks = c.racks;
  out.site_power = c.site_power;
  if (system.gpu.power.value > Watts{}) out.gpus_energy = system.gpu.power.value * out.gpus * occupied;
  if (c.racks_power) out.racks_energy = *c.racks_power * occupied;
  if (c.run->energy) {
    out.energy = c.run->energy;
    out.interval_energy = scaled(*out.energy, out);
  }
  const std::string by = is_owned(system, prices) ? std::string{name(PriceKind::owned)} : c.gpu_hour_kind.value_or("");
  if (kind && c.run->price && (by == name(*kind) || by == name(PriceKind::stated))) {
    out.price = c.run->price;
    out.price_kind = by;
    const double now = paid_for(out, system, prices, out.spares);
    const auto paid = [&](int spares) { return paid_for(out, system, prices, spares) / now; };
    const auto [low, high] = scaled(*out.price, out);
    out.interval_price = std::pair{low * paid(out.interval_spares.first), high * paid(out.interval_spares.second)};
  }
  out.capital = c.capital;
  out.break_even = c.break_even;
  if (c.servers_price) {
    const double storage = c.run->storage ? c.servers_price->value() * c.run->storage->value() / c.run->servers->value() : 0;
    const double all = (*c.servers_price + c.network_price).value() + storage;
    out.network_share = c.network_price.value() / all;
    out.storage_share = storage / all;
  }
}

/// Adds layout, failures and spares to a run whose GPUs are known.
[[nodiscard]] ProjectedRun with_layout(ProjectedRun out, const ProjectRequest& r, const Machine& machine, const Prices& prices,
                                       bool batches) {
  PlanRequest asked = r;
  asked.stack = stack_on(r.stack, *machine.value);
  asked.system = without_spares(machine, r.spares_per_rack);
  asked.overrides.clear();
  asked.calibration.clear();
  asked.gpus = out.gpus;
  asked.top = 1;
  asked.wanted.within_given = out.gpus_found;
  PlanAnswer plan = searched(asked);
  if (!plan.fits) throw UnmetError(Unmet::memory, plan.advice);
  plan = cheapest_plan(
      std::move(plan), plainer_within, [](const PlannedLayout& one) { return one.idle_gpus; },
      [](const PlannedLayout& one) { return one.step.value() / one.global_batch; },
      [&](int idle) { return paid_gpus(*machine.value, out.gpus, prices, idle); },
      [&](const WantedLayouts& wanted) {
        asked.wanted = wanted;
        asked.wanted.within_given = out.gpus_found;
        return searched(asked);
      });
  asked.wanted = {};
  const PlannedLayout& best = plan.layouts.front();
  out.layout = best;
  out.kernels = plan.kernels;
  out.stack_note = stack_note(plan.found->question.stack, plan.found->system);
  out.used_gpus = best.used_gpus;
  pay(out, *machine.value, prices);  // spares find room among idle ones
  out.step = best.step;
  out.interval_step = best.interval;
  out.mfu = best.mfu;
  out.steps = *r.tokens / (static_cast<double>(best.global_batch) * best.sequence);
  if (batches) name_better_batch(out, asked);
  out.failures = after_failures(out, r, machine, prices);
  pay(out, *machine.value, prices);
  return out;
}

/// The fewest GPUs from one run's to another's, in whole nodes, that end in time with the spares that they take by default: the need of a
/// run that waits for repairs knows of no spares, which pay from some number on, or find room among GPUs that a layout leaves idle.
/// \param few without a layout
[[nodiscard]] std::optional<ProjectedRun> fewest_between(const ProjectedRun& few, const ProjectedRun& enough, const ProjectRequest& r,
                                                         const Machine& machine, const Prices& prices, Time longest, bool batches) {
  constexpr int tried = 32;
  const int node = machine.value->gpus_per_node;
  for (int gpus = few.gpus + node; gpus < std::min(enough.gpus, few.gpus + (tried + 1) * node); gpus += node) {
    ProjectedRun one = few;
    one.gpus = gpus;
    if (one.gpus_interval && enough.gpus_interval) one.gpus_interval->second = enough.gpus_interval->second;
    try {
      const ProjectedRun found = with_layout(one, r, machine, prices, false);
      const double kept = found.goodput * kept_of_turns(r, *found.failures) * r.use;
      if (found.steps * found.step / kept <= longest) return batches ? with_layout(one, r, machine, prices, true) : found;
    } catch (const RequestError&) {
      continue;  // no layout of so many
    }
  }
  return std::nullopt;
}

/// The part of a run's answer that needs no prices.
[[nodiscard]] ProjectedRun run_on(const ProjectRequest& r, const Machine& machine, std::optional<int> gpus, const Prices& prices,
                                  const Calendar& calendar, std::optional<Day> own_day, bool batches) {
  ProjectedRun out{.system = machine.value->name};
  out.gpus_per_node = machine.value->gpus_per_node;
  add_delivery(out, *machine.value, prices, calendar, own_day);
  out.gpus = gpus.value_or(0);
  out.spares_per_rack = r.spares_per_rack;
  if (!gpus) find_gpus(out, r, machine, *time_for(r, calendar, out));
  const ProjectedRun bare = out;
  out = with_layout(std::move(out), r, machine, prices, batches);
  if (gpus || r.spares || out.spares > 0 || out.failures->repair <= Time{}) return out;
  // its GPUs were found without waiting for repairs
  ProjectRequest waiting = r;
  waiting.spares = 0;
  ProjectedRun enough = run_on(waiting, machine, gpus, prices, calendar, own_day, batches);
  enough.usual_spares.reset();  // they are taken, where they pay among so many
  enough.usual_goodput.reset();
  enough.failures = after_failures(enough, r, machine, prices);
  pay(enough, *machine.value, prices);
  return fewest_between(bare, enough, r, machine, prices, *time_for(r, calendar, out), batches).value_or(std::move(enough));
}

/// When the user was told each machine can be had. \throws Refusal
[[nodiscard]] std::vector<std::optional<Day>> own_days_of(const ProjectRequest& r, const std::vector<Machine>& machines,
                                                          const std::vector<System>& systems) {
  std::vector<std::optional<Day>> out(systems.size());
  for (const OwnDelivery& own : r.deliveries)
    for (const std::size_t i : machines_named(own.machine, machines, systems, "deliveries")) out[i] = day_of(own.day, "deliveries");
  return out;
}

/// The machine whose `value` is least; none where several have the least.
template <class Value>
[[nodiscard]] std::optional<std::string> least_of(const std::vector<const ProjectedRun*>& rows, Value&& value) {
  const ProjectedRun* best = nullptr;
  bool several = false;
  for (const ProjectedRun* row : rows) {
    if (!value(*row)) continue;
    if (best == nullptr || *value(*row) < *value(*best))
      best = row, several = false;
    else if (*value(*row) == *value(*best))
      several = true;
  }
  return best == nullptr || several ? std::nullopt : std::optional{best->system};
}

/// Of the machines that can be ranked, and end in time where a time was given.
void add_best(ProjectAnswer& out) {
  using R = ProjectedRun;
  std::vector<const R*> able, rows;
  std::vector<Contender> contenders;
  for (const R& row : out.rows)
    if (row.trouble.empty()) able.push_back(&row), contenders.push_back({row.system, row.kernels == "assumed"});
  const Ranking ranking = ranking_of(contenders);
  if (!ranking.why.empty()) out.no_verdict = ranking.why;
  for (const std::size_t i : ranking.left_out) out.unranked.push_back(able[i]->system);
  for (const std::size_t i : ranking.ranked)
    if (able[i]->in_time.value_or(true)) rows.push_back(able[i]);
  out.cheapest = least_of(rows, [](const R& r) { return r.price; });
  out.lowest_power = least_of(rows, [](const R& r) { return r.site_power; });
  out.fewest_gpus = least_of(rows, [](const R& r) { return std::optional{r.gpus}; });
  out.soonest = least_of(rows, [](const R& r) { return std::optional{r.wait + r.time}; });
}

}  // namespace

double too_few_gpus(const ProjectRequest& request, const System& system, Time longest) {
  constexpr double nothing_reaches = 2;
  const double peak = Processor::of(system).peak(request.precision);
  const double flops =
      *request.tokens * training_flops_per_token(*request.model.value, request.sequence, FlopConvention::matmul, Scores::causal);
  return peak > 0 ? flops / (nothing_reaches * peak * longest.value()) : 0;
}

std::vector<Machine> machines_of(const Machines& given) {
  std::vector<Machine> out;
  for (const Machine& one : given.all) {
    if (one.value) {
      out.push_back(one);
      continue;
    }
    for (std::size_t from = 0; from <= one.name.size();) {
      const std::size_t end = std::min(one.name.find(',', from), one.name.size());
      if (end > from) out.emplace_back(one.name.substr(from, end - from));
      from = end + 1;
    }
  }
  if (out.empty()) throw Refusal("on which machines? Name them with <systems> (fabricost machine lists them)", true);
  return out;
}

Runs runs_of(const ProjectRequest& request, const std::function<Sizes(const ProjectRequest&, const System&)>& sizes, bool batches) {
  check(request);
  const std::vector<Machine> machines = machines_of(request.systems);
  ProjectRequest r = request;
  r.model.value = std::make_shared<const Model>(r.model.load());
  Runs runs;
  ProjectAnswer& out = runs.all;
  out.model = r.model.value->name;
  out.tokens = *r.tokens;
  out.in = r.in;
  out.global_batch = *r.global_batch;
  out.sequence = r.sequence;
  out.precision = precision_names[static_cast<std::size_t>(r.precision)];
  std::vector<System> systems;
  for (const Machine& one : machines)
    systems.push_back(one.load(r.overrides, {.compute = true, .custom = r.symmetric, .moe = false}, r.calibration));
  refuse_twice(machines, systems);
  std::vector<Machine> on;
  Sizes gpus;
  for (std::size_t i = 0; i < systems.size(); ++i) {
    on.emplace_back(systems[i]).name = machines[i].name;
    for (const std::optional<int>& size : sizes(r, systems[i])) gpus.push_back(size), runs.machine.push_back(i);
  }
  out.rows.resize(gpus.size());
  /// Asks about every run that is still possible, several side by side; one that is not says why.
  const auto each = [&](auto&& ask) {
    std::atomic<long long> begun{0};
    on_threads(gpus.size(), processors(), [&](std::size_t i) {
      ask_to_go_on();
      tell_progress(begun++, std::ssize(gpus));
      if (!out.rows[i].trouble.empty()) return;
      std::string trouble;
      try {
        ask(i);
        return;
      } catch (const Refusal& error) {
        if (error.missing()) throw;
        trouble = error.text();
      } catch (const RequestError& error) {
        trouble = error.what();
      }
      out.rows[i] = {.system = systems[runs.machine[i]].name, .trouble = trouble};
    });
    if (std::none_of(out.rows.begin(), out.rows.end(), [](const ProjectedRun& row) { return row.trouble.empty(); }))
      throw Refusal(out.rows.front().system + ": " + out.rows.front().trouble);
  };
  Prices prices = load_prices(r.prices);
  prices.kind = r.price_kind;  // whether racks are bought decides what is paid for
  const Calendar calendar{r, prices};
  const std::vector<std::optional<Day>> own_days = own_days_of(r, machines, systems);
  if (calendar.start) out.start = day_text(*calendar.start);
  if (calendar.done_by) out.done_by = day_text(*calendar.done_by);
  each([&](std::size_t i) {
    const std::size_t m = runs.machine[i];
    out.rows[i] = run_on(r, on[m], gpus[i], prices, calendar, own_days[m], batches);
  });
  const OwnMachinePrices own = own_prices_of(r.own_prices, r.price_kind, machines, systems, "own_prices");
  const auto able = [&](std::size_t machine) {
    for (std::size_t i = 0; i < gpus.size(); ++i)
      if (runs.machine[i] == machine && out.rows[i].trouble.empty()) return true;
    return false;
  };
  const PricedBy by = common_kind(systems, able, prices, own);
  if (by.kind) out.price_kind = std::string{name(*by.kind)};
  if (!by.why.empty()) out.no_price = by.why;
  if (!by.instead.empty()) out.price_instead = by.instead;
  each([&](std::size_t i) {
    ProjectedRun& row = out.rows[i];
    const std::size_t m = runs.machine[i];
    const Prices as = by.kind ? priced_as(prices, *by.kind, own, m) : prices;
    pay(row, systems[m], as);
    const double kept = row.goodput * kept_of_turns(r, *row.failures);
    row.cost = priced(r, row, on[m], by.kind, own.gpu_hours[m] > 0 ? std::optional{own.gpu_hours[m]} : std::nullopt, as, kept);
    const Time occupied = *row.cost->run_time;
    add_times(row, r, calendar, occupied);
    add_money(row, systems[m], occupied, as, by.kind);
  });
  return runs;
}

ProjectAnswer answer(const ProjectRequest& request) {
  const auto sizes = [](const ProjectRequest& r, const System&) { return Sizes{r.gpus}; };
  ProjectAnswer out = runs_of(request, sizes, true).all;
  add_best(out);
  return out;
}

}  // namespace fabricost::plan
