#pragma once
/// The best plan that each of several machines has for one job, side by side, and which machine is better
/// (economics/compare.hpp).

#include <fabricost/plan/answers/arrivals.hpp>
#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/economics/compare.hpp>
#include <fabricost/plan/economics/terms.hpp>
#include <fabricost/plan/fields/named_models.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::plan {

/// The user's own price of a GPU-hour of one machine, under its name in the request or its own name.
struct OwnPrice {
  std::string machine;
  double dollars_per_gpu_hour = 0;
};
/// "NAME=USD", of a GPU-hour. \throws RequestError
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, OwnPrice& out);

struct CompareRequest : ArrivingRequests, OwningRequest {
  std::vector<Machine> systems;
  NamedModel model;
  std::optional<int> gpus;
  bool train = false, serve = false, disaggregated = false;
  std::optional<int> global_batch, sequence, max_tp, isl, osl;
  std::optional<Time> ttft, tpot;
  std::optional<double> concurrency;
  std::optional<std::string> precision;
  NamedStack stack;
  std::vector<OwnPrice> prices;
  std::optional<PriceKind> price_kind;
  std::string prices_file = "default";

  static RequestTable<CompareRequest> fields();
};

/// The best plan of one machine for a job.
struct ComparedAnswer {
  std::string system{}, job{}, trouble{};
  std::optional<Time> step{}, tpot{};
  Time time{};
  std::pair<Time, Time> interval{};
  double tokens_per_second_per_gpu = 0;
  std::string precision{}, kernels{}, stack_note{};
  std::optional<double> dollars_per_million_tokens{}, dollars_per_million_input_tokens{}, dollars_per_million_output_tokens{};
  std::optional<double> dollars_per_million_cached_tokens{};
  std::optional<double> dollars_per_million_tokens_within{}, joules_per_million_tokens_within{};
  std::optional<std::string> price_kind{};
  std::optional<double> dollars_per_gpu_hour{}, joules_per_million_tokens{};
  std::optional<Watts> power{};
  std::optional<ServedArrivals> arrivals{};
  std::optional<double> tokens_per_second_per_gpu_apart{};
  std::string layout{}, binds{}, binds_words{};
  double share = 0;
  std::vector<StepTerm> terms{};
  int idle_gpus = 0;
  std::optional<int> used_gpus{};
  std::optional<std::string> against_usual{};

  [[nodiscard]] Watts site_power() const { return power.value_or(Watts{}); }

  static AnswerTable<ComparedAnswer> fields();
};

/// Below this probability that the better machine is faster, none is called better.
inline constexpr double even_odds = 0.6;

struct CompareAnswer {
  std::string model, job;
  int gpus = 0;
  std::vector<ComparedAnswer> rows;
  std::optional<std::string> price_kind, no_price, price_instead;
  std::string verdict;
  std::optional<std::string> best, next, cheapest;
  std::optional<double> faster;
  bool sure = false;
  std::optional<double> probability;
  std::optional<std::string> no_verdict;
  std::vector<std::string> unranked;

  std::vector<Compared> all;  ///< the candidates of the rows
  std::string title;          ///< what was compared, in one line
  std::string grounds;        ///< what the verdict says beside which machine is better and by how much; empty: nothing
  std::string owning;         ///< what owning costs, in words; empty: machines are not owned
  std::string no_units;       ///< machines whose precision is faster in name only; empty: none
  double percentile = 0;      ///< of requests that arrive

  static AnswerTable<CompareAnswer> fields();
};

/// \throws Refusal for values that contradict each other, and where no machine can do the job; SpecError, RequestError as load_system,
/// load_model
[[nodiscard]] CompareAnswer answer(const CompareRequest& request);

/// The best deployment of one machine under requests that arrive, as plan_serve finds it, and its figures. \throws UnmetError
[[nodiscard]] std::pair<Compared, ServedArrivals> compared(ServingQuestion question, const LoadQuestion& load, const System& system,
                                                           const Prices& prices);

/// Answered tokens per second and GPU with prefill on GPUs of its own; none: it is so already, prompts of others take little of the time,
/// or that gives no more.
[[nodiscard]] std::optional<double> rate_apart(ServingQuestion question, const Compared& together, const System& system);

/// "tp 8 pp 1 cp 1 dp 8 zero 1", "8 x tp 8 pp 1 ep 1, batch 64". \param mixture of experts: adds their ranks
[[nodiscard]] std::string layout_text(const Compared& compared, bool mixture);

/// The largest term. For training: the largest besides arithmetic.
[[nodiscard]] StepTerm largest_term(const Compared& compared);

}  // namespace fabricost::plan
