#pragma once
/// Many machines at one job: every combination of values of a machine's parameters, of machines and GPUs by name, and of the job's counts,
/// each with a full search over layouts; the points that no other beats in all objectives, the bend of their front, the gain from more of
/// each.
///
///   front        points within the limits that no other beats: another is as good in every objective and better in one, or equal in all
///                and earlier in the order of the loops
///   knee         the point of the front with the least sum of (log x - log best) / (log worst - log best) over the objectives: the
///                one furthest from the plane through the front's ends
///   elasticity   d log objective / d log parameter: of a rate or of arithmetic from both sides of the point, its layout held (a small turn of
///                the machine changes the best time as it changes that layout's: the envelope theorem); of a count, from its neighbours
///                among the points; none where requests arrive, as a queue is no smooth function of a parameter
///   worth        tokens per second, or requests per second within limits, with 10 % more of a part (a domain twice as large) and the layout searched again, over those
///               without, less 1; times the price of a GPU-hour: how much more it may cost at equal dollars per token

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/economics/cost.hpp>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fabricost::plan {

/// Fields that both requests have in addition to those of a plan or a deployment.
struct ExploreOptions {
  std::vector<std::string> vary;  ///< values to combine: "nic.bandwidth=25:400:x2GB/s per direction", domain=8,72, gpu=h200-sxm,b200-sxm
  std::string objectives;  ///< objectives: step, $/token, J/token, W, goodput, mfu, tokens/s, gpus; serving: ttft, tpot, tokens/s/user
  std::vector<std::string> limits;      ///< keep points with at most X (for tokens, goodput, mfu: at least X)
  std::vector<std::string> prices;      ///< your own price of a GPU-hour, of a machine or a GPU
  std::optional<PriceKind> price_kind;  ///< kind of price: on_demand, reserved or owned; default the first known of all machines
  int first = 0;                        ///< first point, in the order of nested loops, the last of vary fastest
  std::optional<int> count;             ///< number of points from there; default all
  std::optional<int> threads;           ///< number of threads; default one per core

  static RequestTable<ExploreOptions> fields();
};

struct ExploreRequest : PlanRequest, ExploreOptions {
  static RequestTable<ExploreRequest> fields();
};

struct ExploreServeRequest : ServeRequest, ExploreOptions {
  static RequestTable<ExploreServeRequest> fields();
};

/// One varied quantity.
struct ExploreAxis {
  std::string name, unit;
  double worth = 1;  ///< SI units of one of the unit; 1: a count, a name, or a parameter that a file declares
  std::vector<double> values;
  std::vector<std::string> words;

  [[nodiscard]] std::size_t size() const { return words.empty() ? values.size() : words.size(); }

  static AnswerTable<ExploreAxis> fields();
};

struct ExploreObjective {
  std::string name, unit;
  bool more_is_better = false, counts = true;
  std::optional<double> limit{};
  std::optional<int> best{};

  static AnswerTable<ExploreObjective> fields();
};

using ExploreValue = std::variant<double, std::string>;

struct ExplorePoint {
  int number = 0;
  ByName<ExploreValue> at{};
  ByName<std::optional<double>> objectives{};
  std::pair<Time, Time> interval{};
  std::string layout{}, binds{}, trouble{};
  bool meets = false, front = false;
  int idle_gpus = 0;
  std::optional<double> extra_dollars_per_gpu_hour{};
  ByName<ByName<double>> elasticities{};

  static AnswerTable<ExplorePoint> fields();
};

/// The gain at a point from more of one part of the machine.
struct ExploreWorth {
  std::string parameter, change;
  double gain = 0;
  std::optional<double> dollars_per_gpu_hour{};

  static AnswerTable<ExploreWorth> fields();
};

struct ExploreAnswer {
  std::string model, job;
  std::vector<ExploreAxis> axes;
  std::vector<ExploreObjective> objectives;
  std::vector<ExplorePoint> points;
  std::vector<int> front;
  std::optional<int> knee, chosen;
  std::optional<double> tokens_per_second_per_gpu_apart;
  std::vector<ExploreWorth> worth;
  long long all_points = 0;
  std::optional<std::string> price_kind, no_price;
  std::string stack_note;
  std::vector<std::string> notes;  ///< what has to be known to read the points
  std::string title;  ///< the question in one line

  static AnswerTable<ExploreAnswer> fields();
};

/// \throws Refusal for a quantity that cannot be varied, counted or limited, and for more than 100,000 points at once; SpecError,
/// RequestError as plan. Points at which nothing can run are part of the answer.
[[nodiscard]] ExploreAnswer answer(const ExploreRequest& request);
[[nodiscard]] ExploreAnswer answer(const ExploreServeRequest& request);

/// Marks the front, the knee and the best points of an answer joined from several.
void mark_front(ExploreAnswer& answer);

}  // namespace fabricost::plan
