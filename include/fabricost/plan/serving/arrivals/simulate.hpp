#pragma once
/// Engines that serve requests as they arrive: an event for every step of the scheduler, or for a run of equal ones.
///
///   step       every running sequence has its token; what is left of the chunk's tokens goes to prompts, first come first served, the last in
///              part (chunked prefill); a prompt starts when its tokens fit in the cache and a place is free
///   full       when the cache is full the sequence that started last gives its place up, and is read again later with what it had answered
///   repeated   tokens that the cache has are not read again; blocks of a trace and of a session stay after their request until others need
///              the room, the ones not used for longest first; from tiers behind the cache they come back over its link first, one request of
///              a replica after another, beside the steps of others, where that is sooner than reading them
///   ahead      a busy engine chooses the prompts of its next step while one runs, so that a request waits for the rest of a step and for
///              another one
///   drafts     a step gives 1 + A tokens, A the drafts that are accepted before the first that is not
///   several    a request goes to one of the replicas (RequestRoute); those of one engine with experts step together, and may wait for each
///              other's prompts

#include <fabricost/plan/serving/arrivals/requests.hpp>
#include <fabricost/plan/serving/arrivals/step_times.hpp>

#include <array>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// A tier behind the caches of replicas (prefix_store.hpp).
struct CacheTier {
  double tokens = 0;    ///< that it holds, of a replica or of all
  bool common = false;  ///< one behind all replicas
  double start = 0;     ///< s of a reload beside its tokens
  double token = 0;     ///< s of a token
};

/// The replica that a request goes to: in turn, the one with the fewest unanswered, or the one with the fewest tokens to read for it, queued
/// and in its running sequences, where prefixes that it has need not be read (Dynamo's router, kv_router, both of weight 1).
enum class RequestRoute : unsigned char { round_robin, fewest, prefix };
inline constexpr std::array<std::string_view, 3> request_route_names{"round-robin", "fewest", "prefix"};

/// What an engine's scheduler knows.
struct Scheduler {
  int replicas = 1;                                            ///< of attention, in one engine
  double cache = std::numeric_limits<double>::infinity();      ///< tokens that a replica holds
  double sequences = std::numeric_limits<double>::infinity();  ///< most that a replica runs
  double chunk = 8192;                                         ///< most tokens of a step of a replica
  double poll = 1;                                             ///< steps between two looks at arrivals
  int together = 0;                                            ///< steps for which replicas of an engine wait until each has a prompt; 0: none
  double first = 0;                                            ///< s of a first token beside its steps
  double elsewhere = 0;                                        ///< s of a further token that other engines answer, before the next turn
  std::vector<CacheTier> behind{};                             ///< the nearest first
  RequestRoute route = RequestRoute::fewest;
  int ahead = 0;                                               ///< a busy engine has chosen the prompts of its next step already: 1
  int drafts = 0;
  double acceptance = 0;
};

/// Which part of a request the engines serve.
enum class EngineRole : unsigned char { both, prefill, decode };

/// A request's times, s from the first arrival.
struct Served {
  double arrived = 0, started = 0, first = 0, last = 0;
};

struct Simulated {
  std::vector<Served> requests;  ///< as they arrived
  double end = 0;                ///< s, when the last one was drawn to arrive; 0: clients send them
  double running = 0;            ///< mean sequences that an engine decodes, while it does
  double context = 0;            ///< their mean tokens
  double hit_rate = 0;           ///< share of prompts' tokens found in the cache or behind it
  double reloaded = 0;           ///< of prompts' tokens, the share that came back from tiers behind it
  double reload = 0;             ///< mean s that a request waits for them
  double moving = 0;             ///< mean s of a request for which a replica's links bring them back
  double prompts = 0;            ///< share of engines' busy time that prompts add to steps
  long long preempted = 0, steps = 0;
};

/// Asked of each request that is answered whether enough is known; then the others are left unanswered.
using EnoughKnown = std::function<bool(std::size_t request, const Served& times)>;

/// Serves requests on `engines` equal engines until all are answered.
/// \param clients requests at an engine at any time, each sent when another is answered; 0: requests have times of their own
[[nodiscard]] Simulated simulate(StepTimes& times, const Scheduler& scheduler, int engines, const RequestLoad& load,
                                 EngineRole role = EngineRole::both, int clients = 0, const EnoughKnown& enough = {});

/// A sample's mean and percentiles.
struct Percentiles {
  double mean = 0, p50 = 0, p90 = 0, p99 = 0;
  double at = 0;  ///< the percentile asked for
};

/// The figures of a service while requests arrive, of those after `warm_up` of them: before, the engines fill. A trace counts as a whole,
/// from the first arrival to the last answer.
struct LoadFigures {
  Percentiles ttft, tpot, e2e;
  double queue = 0;      ///< s, mean from arrival to the first step
  double rate = 0;       ///< requests per second answered
  double tokens = 0;     ///< of answers per second
  double in_flight = 0;  ///< mean requests unanswered
  double within = 1;     ///< share of requests that keep both limits
};

inline constexpr double warm_up = 0.1;
/// The first request that counts.
[[nodiscard]] std::size_t first_counted(const RequestLoad& load);

/// \param percentile 0 to 100 \param ttft, tpot limits, s; 0: none
[[nodiscard]] LoadFigures figures_of(const RequestLoad& load, const Simulated& served, double percentile, double ttft, double tpot);

}  // namespace fabricost::plan
