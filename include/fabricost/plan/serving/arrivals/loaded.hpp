#pragma once
/// Deployments under requests that arrive: which keep the limits, and the most requests per second that they keep them at.
///
///   space        the layouts of the front of plan.hpp, whatever the limits; each is simulated
///   keeps        the asked percentile of TTFT and of TPOT, or the share of requests that keep both; drawn requests do not queue up for ever
///   order        by the requests per second up to which the limits are kept, the most first, then by the mean time to the end
///   up to        found between powers of two, 1 % apart: whatever rate is asked for and whatever else is searched it is the same
///   saturation   answered per second where twice as many arrive; not of a trace, which is too short for it
///   faster       a trace is played faster until the limits break: the rate that it keeps them at is what was answered then, never how soon a
///                few requests came
///   numbers      where prompts are read apart, of each two kinds of workers the numbers that keep the limits at most, as percentiles want others
///                than means: more prefill workers as long as they make most requests late. Kinds are those of the fronts of all GPUs and of as
///                many as 2, 4, 8 and 16 divide, so that more GPUs answer no less (1 % apart, as rates are), each without a limit on the mean
///                TTFT and with the limit, a half and a quarter of it, as some wait longer than the mean
///   apart        prompts on prefill workers; each cache is sent over a link of both workers, one after another, to the decode worker with the
///                fewest requests

#include <fabricost/plan/serving/arrivals/prefix_store.hpp>
#include <fabricost/plan/serving/arrivals/simulate.hpp>
#include <fabricost/plan/serving/plan.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace fabricost::plan {

/// What is asked of deployments.
struct LoadQuestion {
  std::optional<RequestLoad> trace{};  ///< else drawn
  double speed = 1;                    ///< at which a trace is played
  DrawnLoad drawn{};
  std::vector<PrefixStore> stores{};  ///< of prefixes, the nearest first
  RequestRoute route = RequestRoute::fewest;
  double percentile = 99;
  double goodput = 0;  ///< least share of requests within both limits; 0: limits are of the percentile
  [[nodiscard]] double rate() const { return trace ? trace->rate * speed : drawn.rate; }
};

/// A deployment under load.
struct LoadedServing {
  PricedServing deployment;
  LoadFigures figures;
  double hit_rate = 0;  ///< share of prompts' tokens found in the cache or behind it
  double reloaded = 0;  ///< of them, the share that came back from tiers behind it
  long long preempted = 0;
  std::optional<double> saturation{};   ///< requests per second
  std::optional<double> rate_within{};  ///< requests that arrive per second up to which limits are kept; none: any of a trace
  std::optional<double> answered_within{};  ///< of a trace, requests answered per second at that rate, or where all come at once
  bool keeps = false;
};

struct LoadedPlan {
  LoadQuestion load;
  std::vector<LoadedServing> deployments;  ///< best first; empty: nothing fits
  long long simulated = 0;                 ///< layouts
};

/// \throws RequestError
[[nodiscard]] LoadedPlan loaded(const System& system, const ServingQuestion& question, LoadQuestion load);

/// The sequences that an engine runs at most under requests that arrive, as its own limit should be set.
[[nodiscard]] double most_sequences_of(const System& system, const ServingQuestion& question, const PricedServing& deployment);

/// How even the work of an engine's expert ranks is, and what keeps it so.
struct ExpertBalance {
  double fullest = 1;  ///< rows of the fullest rank over the mean in a decode step
  double copies = 0;   ///< bytes of a GPU for copies of the busiest experts
  double anew = 0;     ///< s in which every GPU is sent all of its experts by another
};
[[nodiscard]] ExpertBalance expert_balance(const System& system, const ServingQuestion& question, const PricedServing& deployment);

/// Seconds of a draft over those of the model's pass, by one layer and the head, as modules for it and EAGLE have them.
[[nodiscard]] double draft_cost(const Model& model);
/// Where drafts make an engine's tokens faster. Of experts more are read for drafts, until all are anyway: a larger batch may pay again.
struct DraftUse {
  std::vector<std::pair<double, double>> batches;  ///< sequences of an engine, of powers of two the first and the last; infinity: all that fit
  std::optional<double> gain;                      ///< at the deployment's batch; none: prefill is apart
};
[[nodiscard]] DraftUse use_of_drafts(const System& system, const ServingQuestion& question, const PricedServing& deployment);

}  // namespace fabricost::plan
