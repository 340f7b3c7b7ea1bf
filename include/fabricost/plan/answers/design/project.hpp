#pragma once
/// \file project.hpp
/// A whole training run on one or several machines: step and layout, GPUs, goodput, days, racks, power, energy, money. Each part is the
/// answer to the question of that name (plan, goodput, cost, need), with the results of the others in its request.
///
///   gpus       given, or the least with which the run ends in time, failures included (need)
///   paid       the job's GPUs, those that its groups leave idle in their domains, and spare nodes; racks whole, spares of idle nodes first
///   spares     given, or as many as keep the job waiting at most 0.1 % of its time; where the machine has no room for them, none are paid
///              With spares_per_rack the job runs on the other nodes of each rack, its domain, and spares are racks
///   goodput    with failures (goodput.hpp); where no rate of failures is given, from the worst of the published fleets to the best
///   occupied   tokens / (tokens per second x goodput): the run has the machine for so long, and pays for it
///   delivery   as the user states it, else as announced (data/prices); a part with a price is on sale on the day of the prices
///   start      the later of delivery and the requested start (default the day of the prices); ends = start + seconds
///   seconds    occupied / use, where the run has the machine for a share of each day; each turn costs a checkpoint and a restart
///   intervals  of a step (nine in ten) and of goodput are independent: logarithms of their ends are added in quadrature
///   money      one kind of price for all machines (economics/compare.hpp); prices are taken as exact, times are not

#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/fields/without.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::plan {

/// Several machines: in a text, names or files with commas between them.
struct Machines {
  std::vector<Machine> all{};
};
/// Names with commas between them, which the answer takes apart.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Machines& out);

/// The delivery of one machine, under its name in the request or its own name, as a seller told the user.
struct OwnDelivery {
  std::string machine, day;
};
/// "NAME=DAY". \throws RequestError
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, OwnDelivery& out);

namespace detail {
inline constexpr auto not_of_a_project = both(std::array<std::string_view, 2>{"--system,-s", "--gpus,-g"}, not_of_a_search);
}  // namespace detail

struct ProjectRequest : PlanRequest {
  Machines systems;
  std::optional<double> tokens;
  std::optional<Time> in;
  std::string done_by, start;
  std::vector<OwnDelivery> deliveries;
  std::optional<std::string> fleet;
  std::optional<Time> mttf_node, checkpoint, restart;
  std::optional<Bandwidth> storage_bandwidth;
  std::optional<Time> repair;
  bool background = false;
  std::optional<int> spares, spares_per_rack;
  double use = 1;
  std::vector<OwnPrice> own_prices;
  std::optional<PriceKind> price_kind;
  std::optional<double> dollars_per_kwh, pue, lifetime_years, interest, storage_share;
  std::optional<ScaleOut> network;
  std::string prices = "default";

  static constexpr std::array<std::string_view, 2> by_place{"systems", "model"};
  static constexpr auto fields() {
    using R = ProjectRequest;
    using enum Amount;
    return tables(
        Table{asks(&R::systems, "systems", "--system,-s", "NAMES", "The machines: names from fabricost machine, or YAML files; repeatable",
                   true),
              asks(&R::tokens, "tokens", "--tokens", large_count, {1, 1e18}, "N", "Tokens to train on, as in 15T", true),
              asks(&R::gpus, "gpus", "--gpus,-g", count, any_count, "N", "Number of GPUs; default the least that end in time"),
              asks(&R::in, "in_seconds", "--in", seconds, some_time, "TIME",
                   "Longest run, as in 60d; without <gpus>, the fewest GPUs that\nend in time are found"),
              asks(&R::done_by, "done_by", "--done-by", "DAY",
                   "Latest end: 2027-03-31, 2027-03 or 2027-Q1; the run starts\nwhen the machine is delivered"),
              asks(&R::start, "start", "--start", "DAY", "Earliest start; default the day of the prices"),
              asks(&R::deliveries, "deliveries", "--delivery", "NAME=DAY",
                   "Delivery date of one machine, repeatable: dgx-b300=2027-02;\ndefault what its maker announced")},
        fields_without<PlanRequest, detail::not_of_a_project>(),
        Table{asks(&R::fleet, "fleet", "--fleet", "NAME", "Failure rate, as published of: llama3 (default), rsc-1, rsc-2, rsc-observed, opt-175b"),
              asks(&R::mttf_node, "mttf_node_seconds", "--mttf-node", seconds, any_time, "TIME",
                   "Mean time to failure of a node, as in 6000h"),
              asks(&R::checkpoint, "checkpoint_seconds", "--checkpoint", seconds, any_time, "TIME",
                   "Time the job stops for a checkpoint; default 40s, <background> 0.6s"),
              asks(&R::background, "background", "--async", "", "Write checkpoints in the background"),
              asks(&R::restart, "restart_seconds", "--restart", seconds, any_time, "TIME",
                   "Time to detect, replace and restart; default 10min"),
              asks(&R::storage_bandwidth, "storage_bytes_per_second", "--storage", bytes_per_second, {1, 1e18}, "RATE",
                   "Bandwidth of the storage, as in 2TB/s"),
              asks(&R::spares, "spares", "--spares", count, {0, 1e6}, "N", "Spare nodes; default: enough to wait 0.1 % at most"),
              field::ask_spares_per_rack<R>,
              asks(&R::repair, "repair_seconds", "--repair", seconds, any_time, "TIME", "Time until a node is back; default 24h"),
              asks(&R::use, "use", "--use", Amount::share, some_share, "X",
                   "Share of each day that the run has the machine, as in 50%;\nanother job has the rest; default 1"),
              asks(&R::own_prices, "own_prices", "--price", "NAME=USD",
                   "Your own price of a GPU-hour of one machine, repeatable:\ndgx-h100=2.50"),
              asks(&R::price_kind, "price_kind", "--price-kind", "KIND", "Kind of price: on_demand, reserved or owned; default the\nfirst known of all machines"),
              field::ask_dollars_per_kwh<R>, field::ask_pue<R>, field::ask_lifetime_years<R>, field::ask_interest<R>,
              field::ask_storage_share<R>, field::ask_network<R>,
              asks(&R::prices, "prices", "--prices", "FILE", "File of prices; it may say extends: default")});
  }
};

/// The run on one machine.
struct ProjectedRun {
  std::string system{}, trouble{};
  int gpus = 0;
  std::optional<std::pair<double, double>> gpus_interval{};
  bool gpus_found = false;
  int used_gpus = 0, idle_gpus = 0, spares = 0, paid_gpus = 0;
  std::optional<int> spares_per_rack{}, usual_spares{};
  std::optional<double> usual_goodput{};
  Time step{};
  std::pair<Time, Time> interval_step{};
  double mfu = 0, steps = 0, goodput = 0;
  std::optional<int> better_batch{};
  double better_batch_gain = 0;
  std::pair<double, double> interval_goodput{};
  std::pair<int, int> interval_spares{};
  Time time{};
  std::pair<Time, Time> interval{};
  double gpu_hours = 0;
  std::pair<double, double> interval_gpu_hours{};
  std::optional<std::string> delivery{}, ends{};
  Time wait{};
  std::string delivery_source{};
  std::optional<std::pair<std::string, std::string>> interval_ends{};
  std::optional<bool> in_time{};
  bool sure_in_time = false;
  std::optional<double> racks{};
  std::optional<Watts> site_power{};
  std::optional<Joules> gpus_energy{}, racks_energy{}, energy{};
  std::optional<std::pair<Joules, Joules>> interval_energy{};
  std::optional<Dollars> price{};
  std::optional<std::pair<Dollars, Dollars>> interval_price{};
  std::optional<Dollars> capital{};
  std::optional<Time> break_even{};
  std::optional<std::string> price_kind{};
  std::optional<double> network_share{}, storage_share{};
  std::string kernels{};
  std::optional<PlannedLayout> layout{};
  std::optional<GoodputAnswer> failures{};
  std::optional<CostAnswer> cost{};
  bool operator==(const ProjectedRun&) const = default;

  static constexpr auto fields() {
    using A = ProjectedRun;
    constexpr bool left_out = true;
    constexpr JsonUnit days{day_seconds};
    return Table{
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
              "Busy time after which buying has cost less than renting, s; None: never, or not known.", days),
        gives(&A::price_kind, "price_kind", "price_kind", "on_demand, reserved, owned or stated (given); None: not known."),
        gives(&A::network_share, "network_share", "network_share",
              "Of servers, network and storage, the network's price; None: not known."),
        gives(&A::storage_share, "storage_share", "storage_share", "The same of the storage."),
        gives(&A::kernels, "kernels", "kernels",
              "measured: on processors of this generation; assumed: NVIDIA's shares of the peak are taken."),
        gives(&A::layout, "layout", "layout", "The fastest layout, a TrainingPlan.", 1, left_out),
        gives(&A::failures, "failures", "failures", "What failures leave, a Goodput.", 1, left_out),
        gives(&A::cost, "cost", "cost", "Machine, prices with their sources, an hour, the run, a Cost.", 1, left_out)};
  }
};

struct ProjectAnswer {
  std::string model;
  double tokens = 0;
  std::optional<Time> in;
  std::optional<std::string> done_by, start;
  int global_batch = 0, sequence = 0;
  std::string precision;
  std::vector<ProjectedRun> rows;
  std::optional<std::string> price_kind, no_price, cheapest, lowest_power, fewest_gpus, soonest;

  static constexpr auto fields() {
    using A = ProjectAnswer;
    return Table{gives(&A::model, "model", "model", "Name of the model."),
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
                 gives(&A::cheapest, "best.cheapest", "cheapest", "The machine that costs least, of those in time; None: not known."),
                 gives(&A::lowest_power, "best.lowest_power", "lowest_power", "The one whose site draws least."),
                 gives(&A::fewest_gpus, "best.fewest_gpus", "fewest_gpus", "The one with the fewest GPUs of the job; None: several have."),
                 gives(&A::soonest, "best.soonest", "soonest", "The one that ends first, waiting included.")};
  }
};

/// \throws Refusal for values that contradict each other, and where no machine can do the job; SpecError, RequestError as load_system,
/// load_model, load_prices
[[nodiscard]] ProjectAnswer answer(const ProjectRequest& request);

/// Splits texts at commas. \throws Refusal for none
[[nodiscard]] std::vector<Machine> machines_of(const Machines& given);

}  // namespace fabricost::plan
