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

double chunked_seconds(const Engine& engine, const ServingStack& stack, double tokens, int chunks, double past) {
  const double each = tokens / chunks;
  const auto chunk = [&](double i) { return pass_seconds(engine.prefill(each, 1, past + i * each, stack.prefill_launch), stack); };
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

Prefill prefill_prompt(const Engine& engine, const ServingStack& stack, double tokens, double past) {
  Prefill out;
  out.forward = engine.prefill(tokens, 1, past, stack.prefill_launch);
  const double passes = std::ceil(tokens / stack.chunk);
  const double host = stack.prefill_launch == Launch::eager ? stack.host_launch * out.forward.launches : 0;
  const double factor = stack.stretch * stack.prefill;
  const double work =
      factor * (passes > 1 ? chunked_seconds(engine, stack, tokens, static_cast<int>(passes), past) : pass_seconds(out.forward, stack));
  out.alone = p_norm(work, host * passes, 4);
  out.shared = p_norm(work, host * tokens / stack.chunk, 4);
  out.full = out.shared;
  if (const double prompts = stack.chunk / tokens; prompts > 1) {
    const double each = factor * pass_seconds(engine.prefill(tokens, prompts, past, stack.prefill_launch), stack) / prompts;
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

ReadingSteps reading_steps(double parts, double fit, double replicas, double captured) {
  constexpr double most_counted = 128, nothing = 1e-15, groups = 8;
  constexpr int halvings = 40;
  fit = std::max(1.0, fit);
  if (parts > most_counted) return {{{1, std::min(fit, parts + std::sqrt(2 * parts * std::log(replicas))), parts}}, parts};
  // parts that come by chance (Poisson): the chance of each number that is read
  const auto each = [&](double rate, const auto& use) {
    double chance = std::exp(-rate), above = -std::expm1(-rate);  // of n, of more
    use(0, chance);
    for (double n = 1; above > 0; ++n) {
      chance *= rate / n;
      const bool last = n >= fit || above - chance <= nothing;
      use(std::min(n, fit), last ? above : chance);
      above = last ? 0 : above - chance;
    }
  };
  const auto mean_of = [&](double rate) {
    double out = 0;
    each(rate, [&](double n, double chance) { out += n * chance; });
    return out;
  };
  // what a step has no tokens for adds to what comes in the next ones
  double rate = parts;
  if (mean_of(rate) < parts * (1 - 1e-6))
    for (double low = parts, high = 4 * fit + 20, i = 0; i < halvings; ++i) {
      rate = (low + high) / 2;
      (mean_of(rate) < parts ? low : high) = rate;
    }
  ReadingSteps out;
  each(rate, [&](double n, double chance) { out.variance += (n - parts) * (n - parts) * chance; });
  ReadingStep group;
  double below = 0, sum = 0, all = 0, summed = 0, before = 0;
  const double enough = (1 - std::pow(std::exp(-rate), replicas)) / groups;
  const auto close = [&] {
    if (group.share > 0) out.groups.push_back({group.share, group.most / group.share, group.mean / group.share});
    group = {};
  };
  each(rate, [&](double n, double chance) {
    below += chance, sum += chance * n;
    const double now = std::pow(below, replicas), mean = sum * std::pow(below, replicas - 1);
    if (n > captured && before <= captured) close();
    if (n > 0) group.share += now - all, group.most += n * (now - all), group.mean += mean - summed;
    all = now, summed = mean, before = n;
    if (group.share >= enough) close();
  });
  close();
  return out;
}

double mean_over_steps(double parts, double variance, double replicas, const std::function<double(double)>& of) {
  constexpr double most_counted = 32, poisson = 1e-3, nothing = 1e-12;
  const double total = replicas * parts, evenness = 1 - variance / parts;
  if (total > most_counted) {
    const double off = std::sqrt(variance / replicas);
    return (of(std::max(0.0, parts - off)) + of(parts + off)) / 2;
  }
  const double tries = std::max(std::ceil(total), std::round(total / evenness)), each = evenness > poisson ? total / tries : 0;
  if (each >= 1) return of(parts);
  double out = 0, chance = each > 0 ? std::pow(1 - each, tries) : std::exp(-total);
  for (double n = 0; chance > 0 && (n <= total + 1 || chance > nothing); ++n) {
    out += chance * of(n / replicas);
    chance *= (total - n * each) / ((n + 1) * (1 - each));
  }
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
    for (double low = 0, high = 1, i = 0; i < halvings; ++i) {
      left = (low + high) / 2;
      (wait(left) > 0 ? low : high) = left;
    }
  return {first, left / (1 - left) / begun + second / (2 * first)};
}

Cycle cycle_of(const Engine& engine, const ServingStack& stack, const ServingLoad& load, double each, const Prefill& prompt) {
  const double dp = engine.layout().attention_dp, pp = engine.layout().pp;
  const double steps = load.osl > 1 ? load.osl / stack.tokens_per_step() : 0, rows = 1 + stack.drafts, read = load.isl - load.cached;
  Cycle out;
  // places decode, and wait or read prompts for the rest of their turns
  const double most_begun = stack.chunk / (read + steps * rows);
  out.passes = std::max(1.0, read / std::max(1.0, stack.chunk - std::min(each, most_begun * steps) * rows));
  const double joined = engine.model().mixture() ? dp : 1, turn = steps + stack.first_steps + out.passes - 1;
  // what the chunk has no tokens for waits as in M/D/1: begun (turn + begun / (2 most (most - begun))) = each; one place waits for nobody
  const double all_begun = turn * most_begun;
  out.begun = 2 * each * most_begun / (all_begun + each + std::sqrt((all_begun - each) * (all_begun - each) + 2 * (each - 1)));
  Readings readings;
  if (joined > 1 && each > 1 && stack.together > 1) {
    const double fit = std::max(1.0, (stack.chunk - each * rows) / read);
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
  const double left = std::max(1.0, stack.chunk - out.sequences * rows), part = std::min(read, left),
               parts = readings.every * out.begun * read / part;
  const double before = out.sequences * rows / pp;
  const RowsTime alone = before >= 1 ? rows_time(engine, stack, before) : RowsTime{};
  const bool eager = stack.prefill_launch == Launch::eager;
  const double captured = eager ? std::max(0.0, stack.captured - before) / part : std::numeric_limits<double>::infinity();
  const auto of_experts = [&](double mean) {
    return mean > 0 ? std::max(0.0, rows_time(engine, stack, before + mean * part).experts - alone.experts) : 0.0;
  };
  const ReadingSteps steps_of = reading_steps(parts, left / part, joined, captured);
  double uneven = 1;  // steps of one group read more and less than its mean, and experts' time is no line
  if (joined > 1) {
    double of_means = 0;
    for (const ReadingStep& one : steps_of.groups) of_means += one.share * of_experts(one.mean);
    if (of_means > 0) uneven = mean_over_steps(parts, steps_of.variance, joined, of_experts) / of_means;
  }
  double added = 0, most = 0;
  for (const ReadingStep& one : steps_of.groups) {
    const RowsTime fullest = rows_time(engine, stack, before + one.most * part);
    const double experts = joined > 1 ? uneven * of_experts(one.mean) : std::max(0.0, fullest.experts - alone.experts);
    double step = out.step.seconds + std::max(0.0, fullest.own - alone.own) + experts +
                  prompt_factor(engine, stack) * prompt.forward.attention * one.most * part / read;
    if (one.most > captured) step = p_norm(step, stack.host_launch * prompt.forward.launches, 4);
    added += one.share * (step - out.step.seconds);
    most += one.share * one.most;
  }
  out.beside = added / readings.every;
  out.own = added / most * read / part;
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
  out.prompts = load.osl > 1 ? cycle.beside / (step.seconds + cycle.beside) : 1;
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
  const double held = held_seconds(stack, load.isl - load.cached, step.seconds, out.running / (stack.first + place));
  place += held;
  out.queue += held + held_together;
  const double whole = std::max(stack.first + place, load.concurrency / out.running * place);
  out.ttft = whole - load.osl * out.tpot;
  out.queue += whole - stack.first - place;
  out.rate = load.concurrency / whole;
  return out;
}

ServingTime aggregated(const Engine& engine, const ServingStack& stack, const ServingLoad& load) {
  return aggregated(engine, stack, load, prefill_prompt(engine, stack, load.isl - load.cached, load.cached));
}

ApartWaits apart_waits(const Prefill& prompt, const EngineLayout& prefill, const ServingStack& stack, const DecodeStep& step,
                       const KvTransfer& sent, double osl, double requests) {
  return {.alone = stack.first + prompt.alone + stack.handover + sent.waited + stack.first_steps * step.seconds,
          .bunching = stack.bunching_apart * prompt.shared,
          .full = std::max(prompt_of_many(prompt), prefill.pp * sent.taken),
          .received = requests * sent.taken,
          .answer = osl > 1 ? osl * step.per_token : 0};
}

ServingTime disaggregated(const Engine& prefill, const Engine& decode, const Workers& workers, const ServingStack& stack,
                          const ServingLoad& load, const KvTransfer& sent, const Prefill& prompt) {
  const double room = std::floor(room_for(decode, stack, load.isl + load.osl));
  if (room < 1 || room_for(prefill, stack, load.isl) < 1)
    throw RequestError(decode.model().name + ": weights and one sequence do not fit a GPU's memory in this layout");
  const double links = static_cast<double>(workers.prefill) * prefill.layout().attention_dp, servers = links * prefill.layout().pp;
  const double replicas = static_cast<double>(workers.decode) * decode.layout().attention_dp;
  DecodeStep step;
  ApartWaits waits;
  double ttft = 0;
  const auto requests_beside = [&](double decoding) {  // in flight where so many decode
    step = decode_step(decode, stack, std::max(1.0, decoding / workers.decode), load.isl + load.osl / 2);
    waits = apart_waits(prompt, prefill.layout(), stack, step, sent, load.osl, load.concurrency / replicas);
    ttft = waits.ttft(load.concurrency, servers);
    return waits.answer > 0 ? decoding * (ttft + waits.answer) / waits.answer : decoding;
  };
  double decoding = load.decoding > 0 ? load.decoding : std::min(load.concurrency, workers.decode * room);
  double above = requests_beside(decoding) - load.concurrency, below = -load.concurrency;
  if (load.decoding <= 0 && above > 0) {
    constexpr int most_steps = 60;
    double low = 0, high = decoding, off = above;
    for (int i = 0; i < most_steps && std::fabs(off) > 1e-9 * load.concurrency; ++i) {
      decoding = (low * above - high * below) / (above - below);  // regula falsi; an end that stays counts half (Illinois)
      const bool was_above = off > 0;
      off = requests_beside(decoding) - load.concurrency;
      if (off > 0) {
        high = decoding;
        above = off;
        if (was_above) below /= 2;
      } else {
        low = decoding;
        below = off;
        if (!was_above) above /= 2;
      }
    }
  }
  ttft = std::max(ttft, waits.answer * (load.concurrency / decoding - 1));  // the others wait for a place
  ServingTime out;
  out.running = std::max(1.0, decoding / workers.decode);
  out.decode = step.forward;
  out.prefill = prompt.forward;
  out.step = step.seconds;
  out.prompt = prompt.alone;
  if (load.osl > 1) {
    out.host = step.host / stack.tokens_per_step();
    out.tpot = step.per_token;
  }
  out.transfer = sent.waited;
  out.ttft = ttft;
  out.queue = ttft - waits.alone;
  out.rate = load.concurrency / (ttft + waits.answer);
  out.prefill_use = std::min(1.0, out.rate * prompt_of_many(prompt) / servers);  // above 1 by rounding alone
  out.link_use = std::min(1.0, out.rate * sent.taken / std::min(links, replicas));
  return out;
}

ServingTime disaggregated(const Engine& prefill, const Engine& decode, const Workers& workers, const ServingStack& stack,
                          const ServingLoad& load, const KvLink& link) {
  const double seconds = link.seconds(kv_bytes(prefill.model(), load.isl, prefill.format().kv_width));
  return disaggregated(prefill, decode, workers, stack, load, KvTransfer{seconds, seconds}, prefill_prompt(prefill, stack, load.isl));
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
