#pragma once
/// \file serving-inl.hpp
/// Bodies of serving.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/serving/serving.hpp>

namespace fabricost::plan {

FABRICOST_BODY double pass_seconds(const ForwardTime& pass, const ServingStack& stack) {
  return stack.overlaps ? std::max(pass.seconds() - pass.exchange, pass.exchange) : pass.seconds();
}

FABRICOST_BODY DecodeStep decode_step(const Engine& engine, const ServingStack& stack, double sequences, double context) {
  DecodeStep out;
  out.forward = engine.decode(sequences, context, 1 + stack.drafts, stack.decode_launch);
  const double each = std::max(1.0, sequences / engine.layout().attention_dp);
  const double kernels = stack.stretch * pass_seconds(out.forward, stack);
  const double host = stack.decode_launch == Launch::eager ? stack.host_launch * out.forward.launches : 0;
  out.seconds = p_norm(kernels, host, 4) + stack.step + stack.sequence * each;
  // the next layer's part is fetched during this one
  const double away = engine.cache_on_host(sequences, context, stack.memory_share, stack.cache_share);
  out.host = std::max(0.0, engine.host_seconds(away) - out.seconds);
  out.seconds += out.host;
  out.per_token = out.seconds / stack.tokens_per_step();
  return out;
}

FABRICOST_BODY double chunked_seconds(const Engine& engine, const ServingStack& stack, double tokens, int chunks) {
  const double each = tokens / chunks;
  const auto chunk = [&](double i) { return pass_seconds(engine.prefill(each, 1, i * each, stack.prefill_launch), stack); };
  if (chunks == 2) return chunk(0) + chunk(1);
  return chunks / 6.0 * (chunk(0) + 4 * chunk((chunks - 1) / 2.0) + chunk(chunks - 1));
}

FABRICOST_BODY Prefill fetching(Prefill prompt, const Engine& engine, const ServingStack& stack, double tokens) {
  const double fetched = engine.host_seconds(0);
  prompt.alone = std::max(prompt.alone, fetched * std::ceil(tokens / stack.chunk));
  prompt.shared = std::max(prompt.shared, fetched * tokens / stack.chunk);
  prompt.full = std::max(prompt.full, fetched * tokens / stack.chunk);
  return prompt;
}

FABRICOST_BODY Prefill prefill_prompt(const Engine& engine, const ServingStack& stack, double tokens) {
  Prefill out;
  out.forward = engine.prefill(tokens, 1, 0, stack.prefill_launch);
  const double passes = std::ceil(tokens / stack.chunk);
  const double host = stack.prefill_launch == Launch::eager ? stack.host_launch * out.forward.launches : 0;
  const double factor = stack.stretch * stack.prefill;
  const double work =
      factor * (passes > 1 ? chunked_seconds(engine, stack, tokens, static_cast<int>(passes)) : pass_seconds(out.forward, stack));
  out.alone = p_norm(work, host * passes, 4);
  out.shared = p_norm(work, host * tokens / stack.chunk, 4);
  out.full = out.shared;
  if (const double prompts = stack.chunk / tokens; prompts > 1) {
    const double each = factor * pass_seconds(engine.prefill(tokens, prompts, 0, stack.prefill_launch), stack) / prompts;
    out.full = std::min(out.full, p_norm(each, host / prompts, 4));
  }
  out.least = engine.min_prefill(tokens);
  return fetching(out, engine, stack, tokens);
}

FABRICOST_BODY double held_by_others(double share, double dp) {
  const double u = std::clamp(share, 1e-12, 1.0);
  return (1 - std::pow(1 - u, dp)) / u;
}

FABRICOST_BODY double room_for(const Engine& engine, const ServingStack& stack, double context) {
  return engine.capacity(context, stack.memory_share, stack.cache_share);
}

FABRICOST_BODY double held_seconds(const ServingStack& stack, double isl, double step, double rate) {
  const double poll = (stack.poll - 1) / 2 * step;
  double hold = stack.hold_steps * step;
  if (hold <= 0) return poll;
  const double needed = std::max(0.0, stack.hold_tokens / isl - 1);
  hold = std::min(hold, needed / std::max(1e-12, rate));
  return poll + hold * (1 + 1 / (1 + rate * hold)) / 2;
}

FABRICOST_BODY ServingTime aggregated(const Engine& engine, const ServingStack& stack, const ServingLoad& load, const Prefill& prompt) {
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

FABRICOST_BODY ServingTime aggregated(const Engine& engine, const ServingStack& stack, const ServingLoad& load) {
  return aggregated(engine, stack, load, prefill_prompt(engine, stack, load.isl));
}

FABRICOST_BODY ApartWaits apart_waits(const Prefill& prompt, const ServingStack& stack, const DecodeStep& step, double transfer, double osl) {
  return {.alone = stack.first + prompt.alone + stack.handover + transfer + stack.first_steps * step.seconds,
          .bunching = stack.bunching_apart * prompt.shared,
          .full = prompt_of_many(prompt),
          .answer = osl > 1 ? osl * step.per_token : 0};
}

FABRICOST_BODY ServingTime disaggregated(const Engine& prefill, const Engine& decode, const Workers& workers, const ServingStack& stack,
                                         const ServingLoad& load, const KvLink& link, const Prefill& prompt) {
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
  ApartWaits waits = apart_waits(prompt, stack, step, out.transfer, load.osl);
  waits.per_place = std::max(1.0, asked / out.running);
  out.ttft = waits.ttft(load.concurrency, servers);
  out.queue = out.ttft - waits.alone;
  out.rate = load.concurrency / (out.ttft + waits.answer);
  out.prefill_use = std::min(1.0, out.rate * waits.full / servers);  // above 1 by rounding alone
  return out;
}

FABRICOST_BODY ServingTime disaggregated(const Engine& prefill, const Engine& decode, const Workers& workers, const ServingStack& stack,
                                         const ServingLoad& load, const KvLink& link) {
  return disaggregated(prefill, decode, workers, stack, load, link, prefill_prompt(prefill, stack, load.isl));
}

FABRICOST_BODY double static_batch_seconds(const Engine& engine, const ServingStack& stack, double batch, double isl, double osl) {
  const Prefill prompt = prefill_prompt(engine, stack, isl);
  double seconds = std::max(prompt.alone, batch / engine.layout().attention_dp * prompt.shared);
  // the step is linear in the context, for which Simpson's rule is exact
  const auto at = [&](double context) { return decode_step(engine, stack, batch, context).per_token; };
  if (osl > 1) seconds += (osl - 1) / 6 * (at(isl) + 4 * at(isl + osl / 2) + at(isl + osl));
  return seconds;
}

}  // namespace fabricost::plan
