#include <fabricost/plan/serving/serving.hpp>

namespace fabricost::plan {

double pass_seconds(const ForwardTime& pass, const ServingStack& stack) {
  const double all = pass.seconds() + (stack.starts - 1) * pass.kernels;
  return stack.overlaps ? std::max(all - pass.exchange, pass.exchange) : all;
}

DecodeStep decode_step(const Engine& engine, const ServingStack& stack, double sequences, double context) {
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

double chunked_seconds(const Engine& engine, const ServingStack& stack, double tokens, int chunks) {
  const double each = tokens / chunks;
  const auto chunk = [&](double i) { return pass_seconds(engine.prefill(each, 1, i * each, stack.prefill_launch), stack); };
  if (chunks == 2) return chunk(0) + chunk(1);
  return chunks / 6.0 * (chunk(0) + 4 * chunk((chunks - 1) / 2.0) + chunk(chunks - 1));
}

Prefill fetching(Prefill prompt, const Engine& engine, const ServingStack& stack, double tokens) {
  const double fetched = engine.host_seconds(0);
  prompt.alone = std::max(prompt.alone, fetched * std::ceil(tokens / stack.chunk));
  prompt.shared = std::max(prompt.shared, fetched * tokens / stack.chunk);
  prompt.full = std::max(prompt.full, fetched * tokens / stack.chunk);
  return prompt;
}

Prefill prefill_prompt(const Engine& engine, const ServingStack& stack, double tokens) {
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

RowsTime rows_time(const Engine& engine, const ServingStack& stack, double rows) {
  ForwardTime pass = engine.prefill(rows, 1, 0, stack.prefill_launch);
  pass.attention = 0;
  const double factor = prompt_factor(engine, stack);
  if (stack.overlaps) return {factor * pass_seconds(pass, stack), 0};  // one half's exchange hides behind the other's work
  return {factor * (pass_seconds(pass, stack) - pass.experts), factor * pass.experts};
}

double fullest_of(double mean, double replicas) {
  if (replicas <= 1) return mean;
  double out = 0, chance = std::exp(-mean), below = chance;
  if (chance <= 0) return mean + std::sqrt(2 * mean * std::log(replicas));
  for (double n = 1; below < 1 - 1e-12 && n < 1e4; ++n) out += 1 - std::pow(below, replicas), below += chance *= mean / n;
  return out;
}

Readings readings_of(double begun, double replicas, double steps, double fit) {
  constexpr int points = 16, halvings = 24;
  // a replica has some left after a reading, by chance, and gets others: of steps t after it each has one with (1 - (1 - left)
  // e^-bt)^replicas
  double first = 0, second = 0;
  const auto wait = [&](double left) {
    first = second = 0;
    for (int i = 0; i < points; ++i) {
      const double at = (i + 0.5) / points * steps, not_yet = 1 - std::pow(1 - (1 - left) * std::exp(-begun * at), replicas);
      first += not_yet * steps / points;
      second += 2 * at * not_yet * steps / points;
    }
    first = std::max(1.0, first);
    return begun * first - fit * (1 - (1 - left) * std::exp(-begun * steps / fit));  // what comes beyond what is read
  };
  double left = 0;
  if (wait(0) > 0)
    for (double low = 0, high = 1, i = 0; i < halvings; ++i) (wait(left = (low + high) / 2) > 0 ? low : high) = left;
  return {first, left / (1 - left) / begun + second / (2 * first)};
}

Cycle cycle_of(const Engine& engine, const ServingStack& stack, const ServingLoad& load, double each, const Prefill& prompt) {
  const double dp = engine.layout().attention_dp, pp = engine.layout().pp;
  const double steps = load.osl > 1 ? load.osl / stack.tokens_per_step() : 0, rows = 1 + stack.drafts;
  Cycle out;
  // places decode, and wait or read prompts for the rest of their turns; what the chunk has no tokens for waits longer
  const double most_begun = stack.chunk / (load.isl + steps * rows);
  out.passes = std::max(1.0, load.isl / std::max(1.0, stack.chunk - std::min(each, most_begun * steps) * rows));
  const double joined = engine.model().mixture() ? dp : 1, turn = steps + stack.first_steps + out.passes - 1;
  out.begun = std::min(each / turn, most_begun);
  Readings readings;
  if (joined > 1 && each > 1 && stack.together > 1) {
    const double fit = std::max(1.0, (stack.chunk - each * rows) / load.isl);
    double low = 0;
    for (double high = out.begun, i = 0; i < 24; ++i) {
      out.begun = (low + high) / 2;
      readings = readings_of(out.begun, joined, stack.together, fit);
      (out.begun * (turn + readings.held) < each ? low : high) = out.begun;
    }
    out.held = readings.held;
  }
  out.sequences = std::min(each, out.begun * steps);
  out.step = decode_step(engine, stack, std::max(1.0, out.sequences) * dp, load.isl + load.osl / 2);
  // prompts come by chance: in `share` of the steps any replica has parts of some, `most` of them the fullest and `mean` all
  const double left = std::max(1.0, stack.chunk - out.sequences * rows), part = std::min(load.isl, left),
               parts = readings.every * out.begun * load.isl / part, fit = left / part;
  const double share = std::max(1 - std::exp(-parts * joined), std::min(1.0, parts / fit));
  const double most = std::clamp(fullest_of(parts, joined) / share, 1.0, fit), mean = parts / share;
  const double before = out.sequences * rows / pp;
  const RowsTime alone = before >= 1 ? rows_time(engine, stack, before) : RowsTime{};
  const auto read = [&](double many) {
    return std::max(0.0, rows_time(engine, stack, before + many * part).own - alone.own) +
           prompt_factor(engine, stack) * prompt.forward.attention * many * part / load.isl;
  };
  const double fullest = read(most), experts = std::max(0.0, rows_time(engine, stack, before + mean * part).experts - alone.experts);
  double added = experts + fullest;
  if (stack.prefill_launch == Launch::eager && before + most * part > stack.captured)
    added = p_norm(out.step.seconds + added, stack.host_launch * prompt.forward.launches, 4) - out.step.seconds;
  added = std::max(added, prompt.least / pp * mean * part / load.isl);
  out.beside = share * added / readings.every;
  out.own = std::max(added, fullest + experts) / most * load.isl / part;
  return out;
}

double room_for(const Engine& engine, const ServingStack& stack, double context) {
  return engine.capacity(context, stack.memory_share, stack.cache_share);
}

double held_seconds(const ServingStack& stack, double isl, double step, double rate) {
  const double poll = (stack.poll - 1) / 2 * step;
  double hold = stack.hold_steps * step;
  if (hold <= 0) return poll;
  const double needed = std::max(0.0, stack.hold_tokens / isl - 1);
  hold = std::min(hold, needed / std::max(1e-12, rate));
  return poll + hold * (1 + 1 / (1 + rate * hold)) / 2;
}

ServingTime aggregated(const Engine& engine, const ServingStack& stack, const ServingLoad& load, const Prefill& prompt) {
  const double dp = engine.layout().attention_dp, room = room_for(engine, stack, load.isl + load.osl);
  if (room < 1)
    throw RequestError(engine.model().name + ": weights and one sequence of " +
                       std::to_string(static_cast<long long>(load.isl + load.osl)) + " tokens do not fit a GPU's memory in this layout");
  ServingTime out;
  out.running = std::min(load.concurrency, std::max(1.0, std::floor(room)));
  const double each = std::max(1.0, out.running / dp);
  const Cycle cycle = cycle_of(engine, stack, load, each, prompt);
  const DecodeStep& step = cycle.step;
  out.decode = step.forward;
  out.prefill = prompt.forward;
  out.step = step.seconds;
  out.prompt = prompt.alone;
  const double decoded = load.osl > 1 ? load.osl * step.per_token : 0, turn = each / cycle.begun * (step.seconds + cycle.beside);
  const double read = std::max(prompt.alone - (cycle.passes - 1) * step.seconds, cycle.own), held_together = cycle.held * step.seconds,
               waits = (stack.first_steps + cycle.passes - 1) * step.seconds + held_together;
  const double others = std::max(0.0, turn - decoded - waits - cycle.own), bunched = stack.bunching * others;
  if (load.osl > 1) {
    out.host = step.host / stack.tokens_per_step();
    out.interference = std::min((others - bunched) / load.osl, cycle.beside / stack.tokens_per_step());
    out.tpot = step.per_token + out.interference;
  }
  out.queue = others - load.osl * out.interference;
  double place = read + waits + out.queue + load.osl * out.tpot;  // s for which a request takes one
  const double held = held_seconds(stack, load.isl, step.seconds, out.running / (stack.first + place));
  place += held;
  out.queue += held + held_together;
  const double whole = std::max(stack.first + place, load.concurrency / out.running * place);
  out.ttft = whole - load.osl * out.tpot;
  out.queue += whole - stack.first - place;
  out.rate = load.concurrency / whole;
  return out;
}

ServingTime aggregated(const Engine& engine, const ServingStack& stack, const ServingLoad& load) {
  return aggregated(engine, stack, load, prefill_prompt(engine, stack, load.isl));
}

ApartWaits apart_waits(const Prefill& prompt, const ServingStack& stack, const DecodeStep& step, double transfer, double osl) {
  return {.alone = stack.first + prompt.alone + stack.handover + transfer + stack.first_steps * step.seconds,
          .bunching = stack.bunching_apart * prompt.shared,
          .full = prompt_of_many(prompt),
          .answer = osl > 1 ? osl * step.per_token : 0};
}

ServingTime disaggregated(const Engine& prefill, const Engine& decode, const Workers& workers, const ServingStack& stack,
                          const ServingLoad& load, double transfer, const Prefill& prompt) {
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
  out.transfer = transfer;
  const double servers = static_cast<double>(workers.prefill) * prefill.layout().attention_dp * prefill.layout().pp;
  ApartWaits waits = apart_waits(prompt, stack, step, out.transfer, load.osl);
  waits.per_place = std::max(1.0, asked / out.running);
  out.ttft = waits.ttft(load.concurrency, servers);
  out.queue = out.ttft - waits.alone;
  out.rate = load.concurrency / (out.ttft + waits.answer);
  out.prefill_use = std::min(1.0, out.rate * waits.full / servers);  // above 1 by rounding alone
  return out;
}

ServingTime disaggregated(const Engine& prefill, const Engine& decode, const Workers& workers, const ServingStack& stack,
                          const ServingLoad& load, const KvLink& link) {
  return disaggregated(prefill, decode, workers, stack, load, link.seconds(kv_bytes(prefill.model(), load.isl, prefill.format().kv_width)),
                       prefill_prompt(prefill, stack, load.isl));
}

double static_batch_seconds(const Engine& engine, const ServingStack& stack, double batch, double isl, double osl) {
  const Prefill prompt = prefill_prompt(engine, stack, isl);
  double seconds = std::max(prompt.alone, batch / engine.layout().attention_dp * prompt.shared);
  // the step is linear in the context, for which Simpson's rule is exact
  const auto at = [&](double context) { return decode_step(engine, stack, batch, context).per_token; };
  if (osl > 1) seconds += (osl - 1) / 6 * (at(isl) + 4 * at(isl + osl / 2) + at(isl + osl));
  return seconds;
}

}  // namespace fabricost::plan
