#pragma once
/// \file compare.hpp
/// The best plan that each of several machines has for one job, side by side, and which machine is better
/// (economics/compare.hpp).

#include <fabricost/plan/answers/arrivals.hpp>
#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/economics/compare.hpp>
#include <fabricost/plan/fields/named_models.hpp>
#include <fabricost/plan/economics/terms.hpp>

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

struct CompareRequest : ArrivingRequests {
  std::vector<Machine> systems;
  NamedModel model;
  std::optional<int> gpus;
  bool train = false, serve = false;
  std::optional<int> global_batch, sequence, max_tp, isl, osl;
  std::optional<Time> ttft, tpot;
  std::optional<std::string> precision;
  NamedStack stack;
  std::vector<OwnPrice> prices;
  std::optional<PriceKind> price_kind;

  static constexpr auto fields() {
    using R = CompareRequest;
    using enum Amount;
    constexpr Range wait{0, 1e9, true}, wait_of_token{0, 10, true};
    return tables(Table{
        asks(&R::systems, "systems", "SYSTEMS", " ", "Two or more machines: names from fabricost machine, or YAML files", true),
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
        asks(&R::tpot, "tpot_seconds", "--tpot", seconds, wait_of_token, "TIME", "Serving: longest time per token, as in 30ms")},
        ArrivingRequests::fields(), Table{
        asks(&R::precision, "precision", "--precision", "P", "Precision of matrix products: bf16, fp16, fp8, fp4"),
        asks(&R::stack, "stack", "--stack", "NAME", "Training or serving software"),
        asks(&R::prices, "prices", "--price", "NAME=USD", "Your own price of a GPU-hour of one machine, repeatable:\ndgx-h100=2.50"),
        asks(&R::price_kind, "price_kind", "--price-kind", "KIND", "Kind of price: on_demand, reserved or owned; default the\nfirst known of all machines")});
  }
};

/// The best plan of one machine for a job.
struct ComparedAnswer {
  std::string system{}, job{}, trouble{};
  std::optional<Time> step{}, tpot{};
  Time time{};
  std::pair<Time, Time> interval{};
  double tokens_per_second_per_gpu = 0;
  std::string precision{}, kernels{};
  std::optional<double> dollars_per_million_tokens{}, dollars_per_million_input_tokens{}, dollars_per_million_output_tokens{};
  std::optional<std::string> price_kind{};
  std::optional<double> dollars_per_gpu_hour{}, joules_per_million_tokens{};  ///< figures as they are quoted
  std::optional<Watts> power{};
  std::optional<ServedArrivals> arrivals{};
  std::string layout{}, binds{}, binds_words{};
  double share = 0;
  std::vector<StepTerm> terms{};
  int idle_gpus = 0;
  std::optional<int> used_gpus{};
  std::optional<std::string> against_usual{};

  [[nodiscard]] Watts site_power() const { return power.value_or(Watts{}); }

  static constexpr auto fields() {
    using A = ComparedAnswer;
    constexpr bool left_out = true;
    return Table{
        field::give_system<A>,
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
        gives(&A::dollars_per_million_tokens, "dollars_per_million_tokens", "dollars_per_million_tokens",
              "Of one kind for all machines, USD; None: not known of this one."),
        gives(&A::dollars_per_million_input_tokens, "dollars_per_million_input_tokens", "dollars_per_million_input_tokens",
              "Serving: of a prompt's tokens that no cache has, for the time that prompts take, USD; None: not known.", 1, left_out),
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
};

/// Below this probability that the better machine is faster, none is called better.
inline constexpr double even_odds = 0.6;

struct CompareAnswer {
  std::string model, job;
  int gpus = 0;
  std::vector<ComparedAnswer> rows;
  std::optional<std::string> price_kind, no_price;
  std::string verdict;
  std::optional<std::string> best, next, cheapest;
  std::optional<double> faster;
  bool sure = false;
  std::optional<double> probability;
  std::optional<std::string> no_verdict;

  std::vector<Compared> all;  ///< the candidates of the rows
  std::string title;          ///< what was compared, in one line
  double percentile = 0;      ///< of requests that arrive

  static constexpr auto fields() {
    using A = CompareAnswer;
    return Table{
        gives(&A::model, "model", "model", "Name of the model."),
        gives(&A::job, "for", "job", "train or serve."),
        gives(&A::gpus, "gpus", "gpus", "GPUs of each."),
        gives(&A::rows, "systems", "", "The machines in the order asked."),
        gives(&A::price_kind, "price.kind", "price_kind",
              "By which machines are priced: on_demand, reserved or owned; None: none is known of any."),
        gives(&A::no_price, "price.why", "", "Of which machines that price is not known; None: of none."),
        gives(&A::verdict, "", "verdict",
              "Which is faster, by how much, and whether that is sure; begins with `No verdict` and says why where there is none."),
        gives(&A::best, "verdict.best", "", "The faster machine; None: no verdict."),
        gives(&A::cheapest, "verdict.cheapest", "cheapest", "The machine whose tokens cost least; None: no verdict, or no prices."),
        gives(&A::next, "verdict.next", "", "The one it is compared with; None: no other can do the job."),
        gives(&A::faster, "verdict.faster", "",
              "Tokens of the best over those of the next, or requests per second within the limits; None: no verdict."),
        gives(&A::sure, "verdict.sure", "", "Whether the intervals part."),
        gives(&A::probability, "verdict.probability", "probability",
              "That it is faster than the next, 0 to 1: what both share of their errors cancels; None: no verdict, or no "
              "other."),
        gives(&A::no_verdict, "verdict.why", "", "Why there is no verdict; None: there is one.")};
  }
};

/// \throws Refusal for values that contradict each other, and where no machine can do the job; SpecError, RequestError as load_system,
/// load_model
[[nodiscard]] CompareAnswer answer(const CompareRequest& request);

/// The best deployment of one machine under requests that arrive, as plan_serve finds it, and its figures. \throws UnmetError
[[nodiscard]] std::pair<Compared, ServedArrivals> compared(ServingQuestion question, const LoadQuestion& load, const System& system,
                                                           const Prices& prices);

/// "tp 8 pp 1 cp 1 dp 8 zero 1", "8 x tp 8 pp 1 ep 1, batch 64". \param mixture of experts: adds their ranks
[[nodiscard]] std::string layout_text(const Compared& compared, bool mixture);

/// The largest term. For training: the largest besides arithmetic.
[[nodiscard]] StepTerm largest_term(const Compared& compared);

}  // namespace fabricost::plan
