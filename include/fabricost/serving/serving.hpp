#pragma once
/// \file serving.hpp
/// Requests on an engine: continuous batching with `concurrency` clients, each of which sends its next
/// request when the last one is answered, with prefill on the same GPUs or on others.
///
///   b        running sequences: the concurrency, at most as many as the cache holds
///   step     (stretch x decode(b) + step + sequence b) / tokens per step      eager: norm_4( stretch x decode(b), host launches ) + ...
///   prompt   norm_4( stretch x prefill x pass(isl), host launches ) for a single prompt; prompts of a chunk share its
///            launches, and where many wait a pass takes a whole chunk of them: full
///   TPOT     step + interference (b - 1) prompt / osl: every answer waits once for the prompts of all others, at most a chunk
///            per step; the excess is waited for before the first token. An answer of one token has TPOT 0: all is TTFT
///   TTFT     first + prompt + first_steps x step + held back + bunching (b - 1) prompt, and for c > b the wait for a place:
///            (c/b - 1) (TTFT + osl TPOT)                       Little's law: c = rate x time in the system
///   bound    TTFT + osl TPOT >= b full: while a request is in the engine, each of the b sequences is prefilled once
///   apart    (disaggregated) TPOT = step; TTFT + handover + transfer; at least the time that c requests need on the prefill
///            workers: c prompt_of_many / workers - osl TPOT, prompt_of_many: full, at least its products at the peak
///
/// With weights or cache in host memory (HostMemory), a step takes at least the time of its fetches.
///
/// With attention data parallelism a replica serves b / dp sequences and prefills their prompts alone: it is this b
/// that waits, with experts also for prompts that hold other replicas (held_by_others). All in seconds and tokens.

#include <fabricost/kernels/compute.hpp>
#include <fabricost/serving/decode.hpp>

#include <cmath>

namespace fabricost {

/// The load of a deployment.
struct ServingLoad {
  double isl = 0;          ///< tokens of a prompt
  double osl = 0;          ///< tokens of an answer
  double concurrency = 1;  ///< requests in flight at one engine; if disaggregated, at the whole deployment
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
  double host = 0;          ///< s of TPOT waiting for host memory
  double prefill_use = 0;   ///< share of the time in which prefill workers compute, at most 1; 0: not apart
  ForwardTime decode, prefill;
  /// Requests per second of the engine, or of the deployment if disaggregated: c / (TTFT + osl TPOT).
  double rate = 0;
};

/// Seconds of a pass as a stack runs it: the sum of its parts, or with alternating half batches the larger of
/// computation and exchange.
[[nodiscard]] inline double pass_seconds(const ForwardTime& pass, const ServingStack& stack) {
  return stack.overlaps ? std::max(pass.seconds() - pass.exchange, pass.exchange) : pass.seconds();
}

/// Seconds of one decode step, in total and per token.
struct DecodeStep {
  ForwardTime forward;
  double seconds = 0;    ///< of the step
  double per_token = 0;  ///< per token of each sequence
  double host = 0;       ///< of the step, waiting for host memory
};

[[nodiscard]] inline DecodeStep decode_step(const Engine& engine, const ServingStack& stack, double sequences, double context) {
  DecodeStep out;
  out.forward = engine.decode(sequences, context, 1 + stack.drafts, stack.decode_launch);
  const double each = std::max(1.0, sequences / engine.layout().attention_dp);
  const double kernels = stack.stretch * pass_seconds(out.forward, stack);
  const double host = stack.decode_launch == Launch::eager ? stack.host_launch * out.forward.launches : 0;
  out.seconds = detail::p_norm(kernels, host, 4) + stack.step + stack.sequence * each;
  // the next layer's part is fetched during this one
  const double away = engine.cache_on_host(sequences, context, stack.memory_share, stack.cache_share);
  out.host = std::max(0.0, engine.host_seconds(away) - out.seconds);
  out.seconds += out.host;
  out.per_token = out.seconds / stack.tokens_per_step();
  return out;
}

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
[[nodiscard]] inline double chunked_seconds(const Engine& engine, const ServingStack& stack, double tokens, int chunks) {
  const double each = tokens / chunks;
  const auto chunk = [&](double i) { return pass_seconds(engine.prefill(each, 1, i * each, stack.prefill_launch), stack); };
  if (chunks == 2) return chunk(0) + chunk(1);
  return chunks / 6.0 * (chunk(0) + 4 * chunk((chunks - 1) / 2.0) + chunk(chunks - 1));
}

/// A prompt, at least as long as the fetches of weights from host memory in each of its passes.
[[nodiscard]] inline Prefill fetching(Prefill prompt, const Engine& engine, const ServingStack& stack, double tokens) {
  const double fetched = engine.host_seconds(0);
  prompt.alone = std::max(prompt.alone, fetched * std::ceil(tokens / stack.chunk));
  prompt.shared = std::max(prompt.shared, fetched * tokens / stack.chunk);
  prompt.full = std::max(prompt.full, fetched * tokens / stack.chunk);
  return prompt;
}

/// One prompt of `tokens`, in passes of at most a chunk.
[[nodiscard]] inline Prefill prefill_prompt(const Engine& engine, const ServingStack& stack, double tokens) {
  Prefill out;
  out.forward = engine.prefill(tokens, 1, 0, stack.prefill_launch);
  const double passes = std::ceil(tokens / stack.chunk);
  const double host = stack.prefill_launch == Launch::eager ? stack.host_launch * out.forward.launches : 0;
  const double factor = stack.stretch * stack.prefill;
  const double work =
      factor * (passes > 1 ? chunked_seconds(engine, stack, tokens, static_cast<int>(passes)) : pass_seconds(out.forward, stack));
  out.alone = detail::p_norm(work, host * passes, 4);
  out.shared = detail::p_norm(work, host * tokens / stack.chunk, 4);
  out.full = out.shared;
  if (const double prompts = stack.chunk / tokens; prompts > 1) {
    const double each = factor * pass_seconds(engine.prefill(tokens, prompts, 0, stack.prefill_launch), stack) / prompts;
    out.full = std::min(out.full, detail::p_norm(each, host / prompts, 4));
  }
  out.least = engine.min_prefill(tokens);
  return fetching(out, engine, stack, tokens);
}

/// Seconds of one of many waiting prompts, which fill passes, whether an engine also decodes or not.
[[nodiscard]] inline double prompt_of_many(const Prefill& prompt) { return std::max(prompt.least, prompt.full); }

/// A replica's wait over that for its own prompts alone, where experts join the replicas in every step: a prompt of one
/// holds all of them, prompts of the same step hold them once. Some of dp replicas prefills in 1 - (1 - u)^dp of the
/// steps, with u the share in which each does: dp times as often where prompts are rare, 1 / u where they are not.
[[nodiscard]] inline double held_by_others(double share, double dp) {
  const double u = std::clamp(share, 1e-12, 1.0);
  return (1 - std::pow(1 - u, dp)) / u;
}

/// Sequences that an engine holds within the stack's share of memory; 0: impossible.
[[nodiscard]] inline double room_for(const Engine& engine, const ServingStack& stack, double context) {
  return engine.capacity(context, stack.memory_share, stack.cache_share);
}

/// Mean time for which a prompt is held back: half the interval between two checks of the scheduler, and
/// where prompts are held to be batched, until enough tokens wait or the time is up. Later arrivals wait
/// less: W (1 + 1/(1 + n)) / 2 with n arrivals in W. \param rate arrivals, requests per second
[[nodiscard]] inline double held_seconds(const ServingStack& stack, double isl, double step, double rate) {
  const double poll = (stack.poll - 1) / 2 * step;
  double hold = stack.hold_steps * step;
  if (hold <= 0) return poll;
  const double needed = std::max(0.0, stack.hold_tokens / isl - 1);
  hold = std::min(hold, needed / std::max(1e-12, rate));
  return poll + hold * (1 + 1 / (1 + rate * hold)) / 2;
}

/// Prefill and decode on one engine. \param prompt from `prefill_prompt`
/// \throws RequestError when not even one sequence fits
[[nodiscard]] inline ServingTime aggregated(const Engine& engine, const ServingStack& stack, const ServingLoad& load,
                                            const Prefill& prompt) {
  const double dp = engine.layout().attention_dp, pp = engine.layout().pp;
  const double room = room_for(engine, stack, load.isl + load.osl);
  if (room < 1)
    throw RequestError(engine.model().name + ": weights and one sequence of " +
                       std::to_string(static_cast<long long>(load.isl + load.osl)) + " tokens do not fit a GPU's memory in this layout");
  ServingTime out;
  out.running = std::min(load.concurrency, std::max(1.0, std::floor(room)));
  const double each = std::max(1.0, out.running / dp);
  const DecodeStep step = decode_step(engine, stack, out.running, load.isl + load.osl / 2);
  out.decode = step.forward;
  out.prefill = prompt.forward;
  out.step = step.seconds;
  out.prompt = prompt.alone;
  // prompts of others between first and last token; what does not fit there delays the first token
  const double own = stack.bunching * (each - 1) * prompt.shared / pp, decoded = load.osl > 1 ? load.osl * step.per_token : 0;
  const double apart = stack.first + prompt.alone + stack.first_steps * step.seconds + decoded;
  const double bunched = own * (engine.model().mixture() ? held_by_others(each * prompt_of_many(prompt) / pp / (apart + own), dp) : 1);
  const double rest = apart + bunched;
  const double others = std::max(stack.interference * (each - 1) * prompt.shared / pp, each * prompt_of_many(prompt) / pp - rest);
  if (load.osl > 1) {
    out.host = step.host / stack.tokens_per_step();
    out.interference = std::min(others / load.osl, prompt.shared / pp * stack.chunk / load.isl);
    out.tpot = step.per_token + out.interference;
  }
  out.queue = bunched + std::max(0.0, others - load.osl * out.interference);
  const double early = stack.first + prompt.alone + stack.first_steps * step.seconds + out.queue;
  out.queue += held_seconds(stack, load.isl, step.seconds, out.running / (early + load.osl * out.tpot));
  out.ttft = stack.first + prompt.alone + stack.first_steps * step.seconds + out.queue;
  const double wait = std::max(0.0, load.concurrency / out.running - 1) * (out.ttft + load.osl * out.tpot);
  out.queue += wait;
  out.ttft += wait;
  out.rate = load.concurrency / (out.ttft + load.osl * out.tpot);
  return out;
}

/// The same; prices the prompt itself. \throws RequestError when not even one sequence fits
[[nodiscard]] inline ServingTime aggregated(const Engine& engine, const ServingStack& stack, const ServingLoad& load) {
  return aggregated(engine, stack, load, prefill_prompt(engine, stack, load.isl));
}

/// Numbers of workers of both kinds.
struct Workers {
  int prefill = 1, decode = 1;
};

/// Prompts on `prefill` workers, answers on `decode` workers, the cache sent over `link`. \param prompt from
/// `prefill_prompt`
/// \throws RequestError when not even one sequence fits
[[nodiscard]] inline ServingTime disaggregated(const Engine& prefill, const Engine& decode, const Workers& workers,
                                               const ServingStack& stack, const ServingLoad& load, const KvLink& link,
                                               const Prefill& prompt) {
  const double room = room_for(decode, stack, load.isl + load.osl);
  if (room < 1 || room_for(prefill, stack, load.isl) < 1)
    throw RequestError(decode.model().name + ": weights and one sequence do not fit a GPU's memory in this layout");
  ServingTime out;
  const double asked = load.concurrency / workers.decode;
  out.running = std::max(1.0, std::min(asked, std::floor(room)));
  const DecodeStep step = decode_step(decode, stack, out.running, load.isl + load.osl / 2);
  out.decode = step.forward;
  out.prefill = prompt.forward;
  out.step = step.seconds;
  out.prompt = prompt.alone;
  if (load.osl > 1) {
    out.host = step.host / stack.tokens_per_step();
    out.tpot = step.per_token;
  }
  out.transfer = link.seconds(kv_bytes(prefill.model(), load.isl, prefill.format().kv_width));
  const double servers = static_cast<double>(workers.prefill) * prefill.layout().attention_dp * prefill.layout().pp;
  const double alone = stack.first + prompt.alone + stack.handover + out.transfer + stack.first_steps * step.seconds;
  const double answer = load.osl * out.tpot;
  const double bunched = stack.bunching_apart * std::max(0.0, load.concurrency / servers - 1) * prompt.shared;
  const double each = prompt_of_many(prompt) / servers;
  const double bound = load.concurrency * each - answer;  // prefill is the bottleneck
  out.ttft = std::max(alone + bunched, bound);
  if (asked > out.running) out.ttft = std::max(out.ttft, (asked / out.running - 1) * (out.ttft + answer) + out.ttft);
  out.queue = out.ttft - alone;
  out.rate = load.concurrency / (out.ttft + answer);
  out.prefill_use = std::min(1.0, out.rate * each);  // above 1 by rounding alone
  return out;
}

/// The same; prices the prompt itself. \throws RequestError when not even one sequence fits
[[nodiscard]] inline ServingTime disaggregated(const Engine& prefill, const Engine& decode, const Workers& workers,
                                               const ServingStack& stack, const ServingLoad& load, const KvLink& link) {
  return disaggregated(prefill, decode, workers, stack, load, link, prefill_prompt(prefill, stack, load.isl));
}

/// Prefill workers per decode worker: n_p R_p = n_d R_d, rates in requests per second. Not rounded.
[[nodiscard]] constexpr double prefill_per_decode(double prefill_rate, double decode_rate) { return decode_rate / prefill_rate; }

/// A static batch, prefilled and then decoded together: seconds until the last of `batch` answers is complete
/// (in one engine).
[[nodiscard]] inline double static_batch_seconds(const Engine& engine, const ServingStack& stack, double batch, double isl, double osl) {
  const Prefill prompt = prefill_prompt(engine, stack, isl);
  double seconds = std::max(prompt.alone, batch / engine.layout().attention_dp * prompt.shared);
  // the step is linear in the context, for which Simpson's rule is exact
  const auto at = [&](double context) { return decode_step(engine, stack, batch, context).per_token; };
  if (osl > 1) seconds += (osl - 1) / 6 * (at(isl) + 4 * at(isl + osl / 2) + at(isl + osl));
  return seconds;
}

}  // namespace fabricost
