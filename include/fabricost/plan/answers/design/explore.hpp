#pragma once
/// \file explore.hpp
/// Many machines at one job: every combination of values of a machine's dials, of machines and GPUs by name, and of the job's counts, each
/// with a full search over layouts; the points that no other beats in all objectives, the bend of their front, the gain from more of each.
///
///   front        points within the limits that no other beats: another is as good in every objective and better in one, or equal in all
///                and earlier in the order of the loops
///   knee         the point of the front with the least sum of (log x - log best) / (log worst - log best) over the objectives: the
///                one furthest from the plane through the front's ends
///   elasticity   d log objective / d log dial: of a rate or of arithmetic from both sides of the point, its layout held (a small turn of
///                the machine changes the best time as it changes that layout's: the envelope theorem); of a count, from its neighbours
///                among the points; none where requests arrive, as a queue is no smooth function of a dial
///   worth        tokens per second, or requests per second within limits, with 10 % more of a part (a domain twice as large) and the layout searched again, over those
///               without, less 1; times the price of a GPU-hour: how much more it may cost at equal dollars per token

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/economics/cost.hpp>
#include <fabricost/plan/fields/without.hpp>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fabricost::plan {

/// Fields that both requests have in addition to those of a plan or a deployment.
struct ExploreOptions {
  std::vector<std::string> vary;
  std::string objectives;
  std::vector<std::string> limits, prices;
  std::optional<PriceKind> price_kind;
  int first = 0;
  std::optional<int> count, threads;

  static constexpr auto fields() {
    using R = ExploreOptions;
    return Table{
        asks(&R::vary, "vary", "--vary", "NAME=VALUES...",
             "Values to combine: \"nic.bandwidth=25:400:x2GB/s per direction\",\n"
             "domain=8,72, gpu=h200-sxm,b200-sxm, system=..., gpus=1024:65536:x2",
             true),
        asks(
            &R::objectives, "objectives", "--objective", "NAME,...",
            "Objectives: step, $/token, J/token, W, goodput, mfu, tokens/s,\ngpus; serving: ttft, tpot, tokens/s/user, and req/s within\nlimits where requests arrive; or a varied parameter, of\nwhich less is better"),
        asks(&R::limits, "limits", "--limit", "NAME=X...", "Keep points with at most X (for tokens, goodput, mfu: at least X)"),
        asks(&R::prices, "prices", "--price", "NAME=USD...", "Your own price of a GPU-hour, of a machine or a GPU"),
        asks(&R::price_kind, "price_kind", "--price-kind", "KIND",
             "Kind of price: on_demand, reserved or owned; default the\nfirst known of all machines, else of most"),
        asks(&R::first, "first", "", Amount::count, {0, 1e9}, "N",
             "First point, in the order of nested loops, the last of <vary> fastest"),
        asks(&R::count, "count", "", Amount::count, any_count, "N", "Number of points from there; default all"),
        asks(&R::threads, "threads", "--threads", Amount::count, {1, 1024}, "N", "Number of threads; default one per core")};
  }
};

struct ExploreRequest : PlanRequest, ExploreOptions {
  static constexpr auto fields() { return tables(fields_without<PlanRequest, not_of_a_search>(), ExploreOptions::fields()); }
};
namespace detail {
inline constexpr std::array<std::string_view, 2> not_of_points{"--top,-k", "--pareto"};
}  // namespace detail

struct ExploreServeRequest : ServeRequest, ExploreOptions {
  static constexpr auto fields() { return tables(fields_without<ServeRequest, detail::not_of_points>(), ExploreOptions::fields()); }
};

/// One varied quantity.
struct ExploreAxis {
  std::string name, unit;
  double worth = 1;  ///< SI units of one of the unit; 1: a count, a name, or a dial that a file declares
  std::vector<double> values;
  std::vector<std::string> words;

  [[nodiscard]] std::size_t size() const { return words.empty() ? values.size() : words.size(); }

  static constexpr auto fields() {
    using A = ExploreAxis;
    return Table{gives(&A::name, "name", "name", "What is varied."),
                 gives(&A::unit, "unit", "unit", "Of its values; empty: a count or a name."),
                 gives(&A::values, "values", "values", "Its values; empty: they are names.", 1, true),
                 gives(&A::words, "words", "words", "Its names.", 1, true)};
  }
};

struct ExploreObjective {
  std::string name, unit;
  bool more_is_better = false, counts = true;
  std::optional<double> limit{};
  std::optional<int> best{};

  static constexpr auto fields() {
    using A = ExploreObjective;
    return Table{gives(&A::name, "name", "name", "What counts."),
                 gives(&A::unit, "unit", "unit", "Of its values."),
                 gives(&A::more_is_better, "more_is_better", "more_is_better", "Whether more of it is better."),
                 gives(&A::counts, "counts", "counts", "Whether it makes the front; otherwise it is only limited."),
                 gives(&A::limit, "limit", "limit", "The most it may be, or the least; None: no limit.", 1, true),
                 gives(&A::best, "best", "best", "Number of the point that is best in it; None: none has it.")};
  }
};

using ExploreValue = std::variant<double, std::string>;

struct ExplorePoint {
  int number = 0;
  ByName<ExploreValue> at{};
  ByName<std::optional<double>> objectives{};
  std::pair<Time, Time> interval{};
  std::string layout{}, binds{}, trouble{};
  bool meets = false, front = false;
  ByName<ByName<double>> elasticities{};

  static constexpr auto fields() {
    using A = ExplorePoint;
    return Table{
        gives(&A::number, "number", "number", "Its place in the nested loops, from 0."),
        gives(&A::at, "at", "at", "The value of each thing varied."),
        gives(&A::objectives, "objectives", "objectives", "What counts; None: not known."),
        gives(&A::interval, "interval_s", "interval_seconds", "(low, high), s: nine steps, or tokens, in ten should fall between."),
        gives(&A::layout, "layout", "layout", "Its best layout or deployment, in words."),
        gives(&A::binds, "binds", "binds", "What takes most besides computing, in words."),
        gives(&A::trouble, "trouble", "trouble", "Why nothing can run; empty: something can.", 1, true),
        gives(&A::meets, "meets", "meets", "Whether it is within the limits."),
        gives(&A::front, "front", "front", "Whether no other point beats it."),
        gives(&A::elasticities, "elasticities", "elasticities",
              "By objective and dial: d log objective / d log dial, of the layout found there.", 1, true)};
  }
};

/// The gain at a point from more of one part of the machine.
struct ExploreWorth {
  std::string dial, change;
  double gain = 0;
  std::optional<double> dollars_per_gpu_hour{};

  static constexpr auto fields() {
    using A = ExploreWorth;
    return Table{gives(&A::dial, "dial", "dial", "The part."), gives(&A::change, "change", "change", "As in `+ 10 %`."),
                 gives(&A::gain, "gain", "gain", "Tokens per second then over before, less 1; layouts are searched again."),
                 gives(&A::dollars_per_gpu_hour, "dollars_per_gpu_hour", "dollars_per_gpu_hour",
                       "What that may cost at equal dollars per token, USD per GPU and hour; None: no price is known.")};
  }
};

struct ExploreAnswer {
  std::string model, job;
  std::vector<ExploreAxis> axes;
  std::vector<ExploreObjective> objectives;
  std::vector<ExplorePoint> points;
  std::vector<int> front;
  std::optional<int> knee, chosen;
  std::vector<ExploreWorth> worth;
  long long all_points = 0;
  std::optional<std::string> price_kind, no_price;
  std::string title;  ///< the question in one line

  static constexpr auto fields() {
    using A = ExploreAnswer;
    return Table{gives(&A::model, "model", "model", "Name of the model."),
                 gives(&A::job, "for", "job", "train or serve."),
                 gives(&A::axes, "vary", "axes", "What is varied, slowest first."),
                 gives(&A::objectives, "objectives", "objectives", "What counts."),
                 gives(&A::all_points, "all_points", "all_points", "Combinations there are."),
                 gives(&A::front, "front", "front", "Numbers of the points of the front, best in the first objective first."),
                 gives(&A::knee, "knee", "knee", "Number of the point where the front bends; None: it has less than three points."),
                 gives(&A::chosen, "worth.at", "chosen",
                       "Number of the point whose dials were turned: the knee, else the best in the first objective."),
                 gives(&A::worth, "worth.dials", "worth", "What more of each part gives there, most first."),
                 gives(&A::price_kind, "price.kind", "price_kind",
                       "By which all are priced: on_demand, reserved or owned; None: none is known of all."),
                 gives(&A::no_price, "price.why", "no_price",
                       "Of which machines that price is not known, or why none is; None: all have it."),
                 gives(&A::points, "points", "points", "The points in the order of the loops.")};
  }
};

/// \throws Refusal for a quantity that cannot be varied, counted or limited, and for more than 100,000 points at once; SpecError,
/// RequestError as plan. Points at which nothing can run are part of the answer.
[[nodiscard]] ExploreAnswer answer(const ExploreRequest& request);
[[nodiscard]] ExploreAnswer answer(const ExploreServeRequest& request);

/// Marks the front, the knee and the best points of an answer joined from several.
void mark_front(ExploreAnswer& answer);

}  // namespace fabricost::plan
