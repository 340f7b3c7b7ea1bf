#pragma once
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

struct ProjectRequest : PlanRequest, FailuresRequest, OwningRequest {
  Machines systems;
  std::optional<double> tokens;
  std::optional<Time> in;
  std::string done_by, start;
  std::vector<OwnDelivery> deliveries;
  double use = 1;
  std::vector<OwnPrice> own_prices;
  std::optional<PriceKind> price_kind;
  std::string prices = "default";

  static constexpr std::array<std::string_view, 2> by_place{"systems", "model"};
  static RequestTable<ProjectRequest> fields();
};

/// The run on one machine.
struct ProjectedRun {
  std::string system{}, trouble{};
  int gpus = 0;
  std::optional<std::pair<double, double>> gpus_interval{};
  bool gpus_found = false;
  int used_gpus = 0, idle_gpus = 0, spares = 0, paid_gpus = 0, gpus_per_node = 0;
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
  std::string kernels{}, stack_note{};
  std::optional<PlannedLayout> layout{};
  std::optional<GoodputAnswer> failures{};
  std::optional<CostAnswer> cost{};
  bool operator==(const ProjectedRun&) const = default;

  static AnswerTable<ProjectedRun> fields();
};

struct ProjectAnswer {
  std::string model;
  double tokens = 0;
  std::optional<Time> in;
  std::optional<std::string> done_by, start;
  int global_batch = 0, sequence = 0;
  std::string precision;
  std::vector<ProjectedRun> rows;
  std::optional<std::string> price_kind, no_price, price_instead, cheapest, lowest_power, fewest_gpus, soonest, no_verdict;
  std::vector<std::string> unranked;

  static AnswerTable<ProjectAnswer> fields();
};

/// \throws Refusal for values that contradict each other, and where no machine can do the job; SpecError, RequestError as load_system,
/// load_model, load_prices
[[nodiscard]] ProjectAnswer answer(const ProjectRequest& request);

/// Splits texts at commas. \throws Refusal for none
[[nodiscard]] std::vector<Machine> machines_of(const Machines& given);

}  // namespace fabricost::plan
