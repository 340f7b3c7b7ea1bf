#pragma once
/// Requests on an engine: continuous batching with `concurrency` clients, each of which sends its next
/// request when the last one is answered, with prefill on the same GPUs or on others.
///
///   b        running sequences: the concurrency, at most as many as the cache holds
///   step     (stretch x decode(b) + step + sequence b) / tokens per step      eager: norm_4( stretch x decode(b), host launches ) + ...
///   prompt   norm_4( stretch x prefill x pass(isl), host launches ) for a single prompt; prompts of a chunk share its
///            launches, and where many wait a pass takes a whole chunk of them: full
///   cycle    a full engine answers and begins l = b / (osl / tokens per step + first_steps) requests a step, at most as many as the chunk has
///            tokens for; such a step takes step + beside(l): what l prompts add to a pass that decodes (beside), as in the simulation of
///            arrivals (arrivals/step_times.hpp), whose steady state this is. A place is taken for b / l of them
///   TPOT     the step and the share of beside(l) that is not waited for before the first token (bunching)
///   TTFT     first + prompt + first_steps x step + held back + the prompts of others that arrive in bunches or do not fit the chunk, and
///            for c > b the wait for a place: c / b cycles in all       Little's law: c = rate x time in the system
///   apart    (disaggregated) TPOT = step of those that decode, rate x answer of them by Little's law; TTFT + handover + transfer + the prompts of
///            others: bunching x shared of each, and those that come at random to a busy server (ApartWaits); at least the time that c requests
///            need on the prefill workers, c prompt_of_many / workers - osl TPOT, on the links of either kind, or on the places of decode workers
///
/// With weights or cache in host memory (HostMemory), a step takes at least the time of its fetches.
///
/// With attention data parallelism a replica serves b / dp sequences and prefills their prompts alone: it is this b
/// that waits, with experts for the replica with the most prompts of a step (reading_steps), and, where replicas read prompts together, until
/// they do (readings_of). All in seconds and tokens.

#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/serving/decode.hpp>

#include <cmath>
#include <functional>
#include <vector>

namespace fabricost::plan {

/// The load of a deployment.
struct ServingLoad {
  double isl = 0;          ///< tokens of a prompt
  double osl = 0;          ///< tokens of an answer
  double concurrency = 1;  ///< requests in flight at one engine; if disaggregated, at the whole deployment
  double decoding = 0;     ///< those of them that decode, if disaggregated; 0: rate x answer of them, by Little's law
  double cached = 0;       ///< tokens of the prompt that the cache has
};

/// The resulting times and rates.
struct ServingTime {
  double ttft = 0, tpot = 0;
  double running = 0;       ///< sequences that one engine decodes at the same time
  double step = 0;          ///< s of a decode step
  double prompt = 0;        ///< s of a prompt without other load
  double interference = 0;  ///< s of TPOT due to other prompts
  double queue = 0;         ///< s of TTFT waiting for others
  double transfer = 0;      ///< s of TTFT transferring the cache
  double reload = 0;        ///< s of TTFT until the prompt's prefix is back from the tier behind the cache
  double host = 0;          ///< s of TPOT waiting for host memory
  double prompts = 0;       ///< share of an engine's time that prompts take beside the steps that decode; of workers apart none
  double prefill_use = 0;   ///< share of the time in which prefill workers compute, at most 1; 0: not apart
  double link_use = 0;      ///< share of the time in which links send caches, or receive them if that is more, at most 1; 0: not apart
  ForwardTime decode, prefill;
  /// Requests per second of the engine, or of the deployment if disaggregated: c / (TTFT + osl TPOT).
  double rate = 0;
};

/// Seconds of a pass as a stack runs it, without its stretch: the sum of its parts, or with alternating half batches the larger of
/// computation and exchange.
[[nodiscard]] double pass_seconds(const ForwardTime& pass, const ServingStack& stack);

/// Seconds of one decode step, in total and per token.
struct DecodeStep {
  ForwardTime forward;
  double seconds = 0;    ///< of the step
  double per_token = 0;  ///< per token of each sequence
  double host = 0;       ///< of the step, waiting for host memory
};

[[nodiscard]] DecodeStep decode_step(const Engine& engine, const ServingStack& stack, double sequences, double context);

/// Seconds of a prompt.
struct Prefill {
  ForwardTime forward;
  double alone = 0;   ///< without other load
  double shared = 0;  ///< as one of several prompts, which share the launches of a chunk
  double full = 0;    ///< as one of a chunk full of prompts, which also share its pass
  double least = 0;   ///< of its products at the peak
};

/// Work of one prompt that is processed in chunks. Each chunk reads the weights and the cache of the previous
/// ones again. Its time is linear in the number of previous tokens, so for many chunks the first, middle and
/// last are priced (Simpson's rule).
[[nodiscard]] double chunked_seconds(const Engine& engine, const ServingStack& stack, double tokens, int chunks, double past = 0);

/// A prompt, at least as long as the fetches of weights from host memory in each of its passes.
[[nodiscard]] Prefill fetching(Prefill prompt, const Engine& engine, const ServingStack& stack, double tokens);

/// One prompt of `tokens` after `past` cached ones, in passes of at most a chunk.
[[nodiscard]] Prefill prefill_prompt(const Engine& engine, const ServingStack& stack, double tokens, double past = 0);

/// Seconds of one of many waiting prompts, which fill passes, whether an engine also decodes or not.
[[nodiscard]] inline double prompt_of_many(const Prefill& prompt) { return std::max(prompt.least, prompt.full); }

/// Seconds of a pass's work on so many tokens of a replica, without attention, as a part of prompts: what a replica does alone, and
/// experts, which work for all replicas of an engine together.
struct RowsTime {
  double own = 0, experts = 0;
};
[[nodiscard]] RowsTime rows_time(const Engine& engine, const ServingStack& stack, double rows);
/// Factor on kernels of prompts in steps that decode, of one stage.
[[nodiscard]] inline double prompt_factor(const Engine& engine, const ServingStack& stack) {
  return stack.stretch * stack.prefill / engine.layout().pp;
}

/// Steps of a full engine that read so many parts of prompts.
struct ReadingStep {
  double share = 0;  ///< of all steps
  double most = 0;   ///< parts of the fullest replica
  double mean = 0;   ///< of all replicas
};
struct ReadingSteps {
  std::vector<ReadingStep> groups;
  double variance = 0;  ///< of the parts that a replica reads in a step
};
/// Parts that come to each of `replicas` by chance, in groups of steps that read about as many, either in a graph or not.
/// \param parts mean of a step \param fit that a step has tokens for \param captured the most of a step in a graph
[[nodiscard]] ReadingSteps reading_steps(double parts, double fit, double replicas, double captured);

/// Mean of a function of the parts that a replica reads on average in a step: all replicas' are binomial with the mean and the variance of
/// each, which is exact where a replica reads one part or none, and where all that come are read (Poisson).
[[nodiscard]] double mean_over_steps(double parts, double variance, double replicas, const std::function<double(double)>& of);

/// Joined replicas that read prompts together: when each has one, or some steps after the last time (ServingStack::together).
struct Readings {
  double every = 1;  ///< mean steps from one to the next
  double held = 0;   ///< mean steps for which a prompt waits for one
};
/// \param begun prompts a step of a replica \param fit prompts that a replica reads in a step
[[nodiscard]] Readings readings_of(double begun, double replicas, double steps, double fit);

/// A full engine, step by step.
struct Cycle {
  double sequences = 1;  ///< that a replica decodes in a step
  double begun = 0;      ///< requests a step of a replica
  double passes = 1;     ///< steps that read a part of each prompt
  double held = 0;       ///< steps for which a prompt waits for those of other replicas
  double beside = 0;     ///< s that prompts add to the mean step
  double own = 0;        ///< s that one prompt adds to the steps that read it
  DecodeStep step;
};
/// \param each sequences of a replica
[[nodiscard]] Cycle cycle_of(const Engine& engine, const ServingStack& stack, const ServingLoad& load, double each, const Prefill& prompt);

/// Sequences that an engine holds within the stack's share of memory; 0: impossible.
[[nodiscard]] double room_for(const Engine& engine, const ServingStack& stack, double context);

/// Mean time for which a prompt is held back: half the interval between two checks of the scheduler, and
/// where prompts are held to be batched, until enough tokens wait or the time is up. Later arrivals wait
/// less: W (1 + 1/(1 + n)) / 2 with n arrivals in W. \param rate arrivals, requests per second
[[nodiscard]] double held_seconds(const ServingStack& stack, double isl, double step, double rate);

/// Prefill and decode on one engine. \param prompt from `prefill_prompt`
/// \throws RequestError when not even one sequence fits
[[nodiscard]] ServingTime aggregated(const Engine& engine, const ServingStack& stack, const ServingLoad& load, const Prefill& prompt);

/// The same; prices the prompt itself. \throws RequestError when not even one sequence fits
[[nodiscard]] ServingTime aggregated(const Engine& engine, const ServingStack& stack, const ServingLoad& load);

/// Numbers of workers of both kinds.
struct Workers {
  int prefill = 1, decode = 1;
};

/// What a request waits for where prefill is apart, whatever the number of requests and workers.
///
///   W = f rho / 2 (1 - rho),  rho = (c - 1) f / S (TTFT + answer)      c requests, S servers, f full: the mean wait of an M/D/1 queue for
///                                                                      what the others send, solved for W
struct ApartWaits {
  double alone = 0;     ///< s to the first token without other load
  double bunching = 0;  ///< further s for each request per server beyond the first
  double full = 0;      ///< s of a server per prompt where many wait: to read it, or of its link to send its cache
  double received = 0;  ///< s in which the link of a replica of a decode worker receives the caches of all its requests
  double answer = 0;    ///< s from the first token to the last

  /// Seconds to the first token of `requests` requests in flight on `servers` prefill servers.
  [[nodiscard]] double ttft(double requests, double servers) const {
    const double first = alone + bunching * std::max(0.0, requests / servers - 1), others = std::max(0.0, requests - 1) * full / servers,
                 left = first + answer - others;
    const double queue = (std::hypot(left, std::sqrt(2 * full * others)) - left) / 2;
    return std::max(first + queue, std::max(requests * full / servers, received) - answer);  // prefill or links are the bottleneck
  }
};

/// The waits of a prompt and of a decode step. A replica of attention has one link, and a server for each stage.
/// \param sent its cache to the decode worker \param requests of a replica of it
[[nodiscard]] ApartWaits apart_waits(const Prefill& prompt, const EngineLayout& prefill, const ServingStack& stack, const DecodeStep& step,
                                     const KvTransfer& sent, double osl, double requests);

/// Prompts on `prefill` workers, answers on `decode` workers. \param sent the cache between them \param prompt from `prefill_prompt`
/// \throws RequestError when not even one sequence fits
[[nodiscard]] ServingTime disaggregated(const Engine& prefill, const Engine& decode, const Workers& workers, const ServingStack& stack,
                                        const ServingLoad& load, const KvTransfer& sent, const Prefill& prompt);

/// The same; prices the prompt itself. \throws RequestError when not even one sequence fits
[[nodiscard]] ServingTime disaggregated(const Engine& prefill, const Engine& decode, const Workers& workers, const ServingStack& stack,
                                        const ServingLoad& load, const KvLink& link);

/// A static batch, prefilled and then decoded together: seconds until the last of `batch` answers is complete
/// (in one engine).
[[nodiscard]] double static_batch_seconds(const Engine& engine, const ServingStack& stack, double batch, double isl, double osl);

}  // namespace fabricost::plan
