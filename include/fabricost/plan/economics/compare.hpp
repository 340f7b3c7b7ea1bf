#pragma once
/// The best plan of each of several machines for one job: time with its interval, tokens, money, power and
/// the terms of the time; which machine is better, by how much, and how certain that is.
///
/// A machine's rate R is its tokens/s per GPU; its interval follows from that of the time: R t / t_high to R
/// t / t_low; in serving from those of TTFT and TPOT (serving/certainty.hpp). The order of two machines is certain if their intervals, each of which contains nine of ten
/// measurements, do not overlap. No order is given between a machine on whose processors kernel efficiencies were measured
/// and one for which they are assumed. Costs are of the same kind for all machines, or left out.

#include <fabricost/plan/economics/cost.hpp>
#include <fabricost/plan/economics/terms.hpp>
#include <fabricost/plan/economics/token_prices.hpp>
#include <fabricost/plan/serving/certainty.hpp>
#include <fabricost/plan/serving/plan.hpp>
#include <fabricost/progress.hpp>
#include <fabricost/error.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/idle_gpus.hpp>
#include <fabricost/plan/training/plan.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::plan {

/// The best plan of one machine.
struct Compared {
  std::string system;
  std::string gpu{};
  std::string_view precision{};               ///< of matrix products; of a serving job that of the weights
  std::string trouble{};                      ///< the reason why it has none, with fields in angle brackets (Refusal)
  std::optional<PricedLayout> training{};     ///< the layout, for a training job
  std::optional<PricedServing> serving{};     ///< the deployment, for a serving job
  double seconds = 0, low = 0, high = 0;      ///< of a step, or of a token: a further one, or the only one; the 5-95 % interval
  double tokens_per_gpu = 0;                  ///< tokens per second and GPU
  std::optional<double> requests{};           ///< under requests that arrive, those per second up to which all GPUs keep the limits
  double more = 1;                            ///< tokens at that rate, which money and energy are of, over tokens_per_gpu
  std::vector<StepTerm> terms{};              ///< the terms of `seconds`, which sum to it
  std::optional<double> dollars{}, joules{};  ///< per million tokens; empty if unknown
  std::vector<TokenPrice> tokens{};           ///< of serving, by kind; without dollars
  int idle_gpus = 0;                          ///< in the scale-up domains or racks of the job; in the dollars, joules and megawatts
  bool part_of_domain = false;                ///< the job rents some nodes of a rack
  double megawatts = 0;                       ///< of the site with all GPUs busy; 0 if unknown
  std::string_view kernels = "measured";      ///< what their efficiencies rest on, as kernels_known says
  std::optional<PriceKind> price_kind{};      ///< of the dollars; empty if they are unknown
  double gpu_hour = 0;                        ///< USD per GPU-hour; 0 if owned or unknown

  std::pair<double, double> rate{};           ///< the 5-95 % interval of `worth`

  /// What a better machine has more of, on as many GPUs.
  [[nodiscard]] double worth() const { return requests.value_or(tokens_per_gpu); }
  [[nodiscard]] bool assumed_kernels() const { return kernels == "assumed"; }
};

namespace detail {
void add_money(Compared& c, const System& system, double gpus, const Prices& prices);
/// \return the part of it that pays for prefill workers, where they are apart
double add_money(Compared& c, const ServingQuestion& q, const System& system, const Prices& prices);
}  // namespace detail

/// What a layout is chosen by: the fewest GPU-seconds paid for, those that it leaves idle in its domains or racks included, or the shortest
/// step.
enum class LayoutBy : unsigned char { paid, fastest };

/// The best layout of a training job on one machine. \throws RequestError when none fits or is possible
[[nodiscard]] Compared compared(TrainingQuestion question, const System& system, const Prices& prices, LayoutBy by = LayoutBy::paid);

/// A deployment found by plan_serving. \param more tokens that money and energy are of, over its own \throws RequestError for one with a
/// throughput of 0
[[nodiscard]] Compared compared(const ServingQuestion& question, const PricedServing& best, const System& system,
                                const Prices& prices, double more = 1);
/// The deployment with the highest throughput within the limits. \throws RequestError when there is none
[[nodiscard]] Compared compared(ServingQuestion question, const System& system, const Prices& prices);

/// Prices every machine with `price(system)`. A machine that cannot do the job is listed with the reason.
/// \throws Refusal when no machine can, with the reason of the first and the names of the others
template <class Price>
[[nodiscard]] std::vector<Compared> compare(std::span<const System> systems, Price&& price) {
  std::vector<Compared> out;
  for (const System& system : systems) {
    tell_progress(std::ssize(out), std::ssize(systems));
    try {
      out.push_back(price(system));
    } catch (const Refusal& error) {
      out.push_back({.system = system.name, .trouble = error.text()});
    } catch (const RequestError& error) {
      out.push_back({.system = system.name, .trouble = error.what()});
    }
  }
  const bool any = std::any_of(out.begin(), out.end(), [](const Compared& c) { return c.trouble.empty(); });
  if (!any && !out.empty()) {
    std::string others;
    for (std::size_t i = 1; i < out.size(); ++i) others += (others.empty() ? "; nor can " : ", ") + out[i].system;
    throw Refusal(out.front().system + ": " + out.front().trouble + others);
  }
  return out;
}

/// The kind of price that all machines have, else the one that most have; none where no machine has any.
struct PricedBy {
  std::optional<PriceKind> kind{};
  std::string why{};      ///< the reason why not all have it
  std::string instead{};  ///< why an earlier kind was not taken, where none was asked for
};
/// A user's own prices, and the requested kind.
struct OwnMachinePrices {
  std::vector<double> gpu_hours{};  ///< USD per GPU-hour of each machine in order, 0: not given; empty: none given
  std::optional<PriceKind> kind{};  ///< empty: on demand, else reserved, else owned, whichever is known for all
};

/// Prices of machine `i` by `kind`, the user's own first.
[[nodiscard]] Prices priced_as(Prices prices, PriceKind kind, const OwnMachinePrices& own, std::size_t i);

/// The first kind of price that is known of all machines that can do the job, else of most. A given price of a GPU-hour
/// counts as a rent of any kind.
/// \param able (i) whether machine i can
template <class Able>
[[nodiscard]] PricedBy common_kind(std::span<const System> systems, Able&& able, const Prices& prices, const OwnMachinePrices& own = {}) {
  const auto known = [&](std::size_t i, PriceKind kind) {  // a rent of that kind, or owning if requested
    return price_known(systems[i], priced_as(prices, kind, own, i));
  };
  std::string missing;
  PricedBy some;  // of the kind that is known of most
  std::size_t most = 0;
  for (const PriceKind kind : {PriceKind::on_demand, PriceKind::reserved, PriceKind::owned}) {
    if (own.kind && *own.kind != kind) continue;
    std::string without;
    std::size_t with = 0;
    for (std::size_t i = 0; i < systems.size(); ++i)
      if (able(i) && known(i, kind))
        ++with;
      else if (able(i))
        without += (without.empty() ? "" : ", ") + systems[i].name;
    if (without.empty()) return {.kind = kind, .instead = missing};
    const std::string here = std::string{kind == PriceKind::on_demand  ? "on demand"
                                         : kind == PriceKind::reserved ? "reserved"
                                                                       : "owned"} +
                             " not known of " + without;
    if (with > most) {
      most = with;
      some = {.kind = kind, .why = here, .instead = missing};
    }
    missing += (missing.empty() ? "" : "; ") + here;
  }
  if (some.kind) return some;
  return {.why = "no kind of price is known of all: " + missing};
}

/// Prices all machines that can do the job with the same kind of price. Machines without it have no dollars.
/// \param all results for `systems`, in order
[[nodiscard]] PricedBy price_alike(std::vector<Compared>& all, std::span<const System> systems, double gpus, const Prices& prices,
                                   const OwnMachinePrices& own = {});

/// Which of several machines can be ranked. Where what kernels reach was measured for some and is assumed for others, those measured, and
/// none if that is one machine.
struct Ranking {
  std::string why{};  ///< why none can be ranked
  std::vector<std::size_t> ranked{}, left_out{};  ///< places
};
struct Contender {
  std::string system{};
  bool assumed_kernels = false;
};
[[nodiscard]] Ranking ranking_of(std::span<const Contender> all);

/// The machine with the most tokens per second and GPU, or requests per second within limits, compared with the next one.
struct Verdict {
  std::string why{};  ///< the reason why there is no verdict; nothing else is set then
  const Compared* best = nullptr;
  const Compared* next = nullptr;  ///< null if only one machine can do the job
  double faster = 1;               ///< rate of the best over that of the next
  bool apart = false;              ///< the intervals do not overlap
  bool sure = false;               ///< nor are the kernels of either assumed
  double probability = 1;          ///< that the best is faster than the next (likely_shorter)
  std::vector<const Compared*> unranked{};  ///< left out: their kernels are assumed, those of two others were measured
};

/// Of the machines that can be ranked (ranking_of). Points into `all`. \throws RequestError when no machine can do the job
[[nodiscard]] Verdict verdict_of(std::span<const Compared> all);

}  // namespace fabricost::plan
