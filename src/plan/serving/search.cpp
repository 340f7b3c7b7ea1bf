#include "serving/search.hpp"
#include <fabricost/plan/model/dimension.hpp>

namespace fabricost::plan::detail {

void ServingFront::add(const PricedServing& p) {
  const double all = rounded(p.tokens_per_s_per_gpu), user = rounded(p.tokens_per_s_per_user);
  // equal ones are kept until listed, so that the result does not depend on the order of discovery
  const auto above = user_by_all_.lower_bound(all);
  if (above != user_by_all_.end() && above->second >= user && (above->first > all || above->second > user)) return;
  kept_.push_back(p);
  auto at = user_by_all_.insert_or_assign(all, user).first;
  while (at != user_by_all_.begin() && std::prev(at)->second <= user) user_by_all_.erase(std::prev(at));
}

std::vector<PricedServing> ServingFront::rows() {
  std::stable_sort(kept_.begin(), kept_.end(), [](const PricedServing& a, const PricedServing& b) {
    const double user_a = rounded(a.tokens_per_s_per_user), user_b = rounded(b.tokens_per_s_per_user);
    return user_a != user_b ? user_a > user_b : better(a, b);
  });
  std::vector<PricedServing> front, out;
  for (const PricedServing& p : kept_)
    if (front.empty() || rounded(p.tokens_per_s_per_gpu) > rounded(front.back().tokens_per_s_per_gpu)) front.push_back(p);
  for (std::size_t i = 0; i < front.size(); ++i)
    if (i == 0 || i + 1 == front.size() || front[i].tokens_per_s_per_gpu >= front_step * out.back().tokens_per_s_per_gpu ||
        front_step * front[i].tokens_per_s_per_user <= out.back().tokens_per_s_per_user)
      out.push_back(front[i]);
  return out;
}

/// The least that any of some prefill workers takes: s of a lone prompt, and GPUs for each prompt per second where many wait, and for each
/// request in flight within a limit on TTFT.
struct LeastPrefill {
  double alone = std::numeric_limits<double>::infinity(), per_prompt = alone, per_request = alone;
};

[[nodiscard]] inline LeastPrefill least_of(const std::vector<PrefillWorker>& workers, const ServingStack& stack, double ttft) {
  LeastPrefill out;
  for (const PrefillWorker& one : workers) {
    const double each = one.takes.gpus / one.servers(), bunching = stack.bunching_apart * one.prompt.shared, left = ttft - one.prompt.alone;
    out.alone = std::min(out.alone, one.prompt.alone);
    out.per_prompt = std::min(out.per_prompt, prompt_of_many(one.prompt) * each);
    if (ttft <= 0 || bunching <= 0)
      out.per_request = 0;
    else if (left >= 0)
      out.per_request = std::min(out.per_request, each / (1 + left / bunching));
  }
  return out;
}

ServingPlan ServingSearch::run() {
  const std::vector<Engine> engines = all_engines(q_.sizes());
  std::optional<PricedServing> idle;  // the best that leaves GPUs idle
  const auto keep = [](std::optional<PricedServing>& kept, const PricedServing& p) {
    if (!kept || better(p, *kept)) kept = p;
  };
  if (engines.empty()) return std::move(plan_);
  if (q_.disaggregated) {
    std::vector<PrefillGround> grounds = prefill_grounds();
    std::vector<LeastPrefill> least;
    for (const PrefillGround& one : grounds) least.push_back(least_of(one.workers, q_.stack, q_.ttft));
    // an upper bound of the tokens per second and GPU with a decode worker; 0: it keeps no limit
    const auto most_of = [&](const Engine& decode) {
      if (q_.concurrency > 0) return std::numeric_limits<double>::infinity();
      const Batches batches = q_.batch ? Batches::only(*q_.batch) : Batches::up_to(room_of(decode));
      double out = 0;
      for (int i = 0, next = 0; i < batches.count; i = next) {
        const double batch = batches[i];
        next = q_.batch ? 1 : std::max(i + 1, batches_up_to(2 * batch) - 1);
        const DecodeStep step = step_of(decode, batch);
        if (q_.osl > 1 && q_.tpot > 0 && step.per_token / q_.tpot > 1) break;  // a larger batch exceeds the limit further
        for (std::size_t at = 0; at < grounds.size(); ++at) {
          const Ground& ground = grounds[at].ground;
          const double first = q_.stack.first + least[at].alone + q_.stack.handover + q_.stack.first_steps * step.seconds;
          if (q_.ttft > 0 && first > q_.ttft) continue;
          const double request = first + (q_.osl > 1 ? q_.osl * step.per_token : 0);
          const double place = request * ground.of(decode.layout()).gpus / batches[std::min(next, batches.count - 1)];
          const double read = std::max(least[at].per_prompt, request * least[at].per_request);
          const double rate =
              grounds[at].apart ? std::min(ground.gpus / place, grounds[at].apart->gpus / read) : ground.gpus / (place + read);
          out = std::max(out, per_gpu(ground, rate) * (1 + 1e-9));
        }
      }
      return out;
    };
    std::vector<std::pair<double, const Engine*>> order;  // those that may be best first, so that few of the others are looked at
    order.reserve(engines.size());
    for (const Engine& decode : engines) order.emplace_back(most_of(decode), &decode);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [most, engine] : order) {
      const Engine& decode = *engine;
      std::optional<PricedServing> best;
      const double enough = min_listed();
      if (most < enough) break;
      if (most <= 0 && !plan_.layouts.empty()) {
        ++plan_.pruned;
        continue;
      }
      const std::vector<Beside> pairs = beside(decode, grounds);
      if (pairs.empty()) continue;
      const auto wanted = [&](double all, double user) {
        if (all < enough) return false;
        if (!best) return true;
        const double reached = rounded(all), now = rounded(best->tokens_per_s_per_gpu);
        return reached > now || (reached == now && rounded(user) >= rounded(best->tokens_per_s_per_user));
      };
      apart(decode, pairs, wanted, [&](const PricedServing& p) { keep(best, p); });
      if (best)
        list(*best);
      else if (plan_.layouts.empty())
        keep_nearest(decode, pairs);
    }
  } else {
    each_deployment(engines, [&](const Deployment& d) {
      const std::optional<PricedServing> best = best_of(d, d.idle ? max_listed() : min_listed());
      if (best && d.idle)
        keep(idle, *best);
      else if (best)
        list(*best);
    });
  }
  std::vector<PricedServing>& found = plan_.layouts;
  std::stable_sort(found.begin(), found.end(), better);
  if (idle && (found.empty() || better(*idle, found.front()))) found.insert(found.begin(), *idle);
  if (static_cast<int>(found.size()) > q_.top) found.resize(static_cast<std::size_t>(q_.top));
  return std::move(plan_);
}

std::vector<PricedServing> ServingSearch::pareto() {
  ServingFront front;
  const std::vector<Engine> engines = all_engines(q_.sizes());
  if (q_.disaggregated) {
    std::vector<PrefillGround> grounds = prefill_grounds();
    std::vector<std::pair<double, const Engine*>> order;  // those that answer most first, so that few of the others are looked at
    for (const Engine& decode : engines) {
      const double room = std::floor(room_of(decode));
      order.emplace_back(-room / (step_of(decode, room).per_token * decode.layout().gpus()), &decode);
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [most, engine] : order) {
      const Engine& decode = *engine;
      apart(
          decode, beside(decode, grounds), [&](double all, double user) { return front.lacks(rounded(all), rounded(user)); },
          [&](const PricedServing& p) { front.add(p); });
    }
    return front.rows();
  }
  each_deployment(engines, [&](const Deployment& d) {
    visit_batches(
        d.batches,
        [&](double batch) {
          PricedServing p = d.price(batch);
          if (missed(p.time) <= 1) front.add(p);
          return p;
        },
        [&](const PricedServing& left, double first, double last) {
          return missed(left.time) <= 1 && front.lacks(left.tokens_per_s_per_gpu * last / first, left.tokens_per_s_per_user);
        });
  });
  return front.rows();
}

std::vector<EngineLayout> ServingSearch::layouts() {
  std::vector<EngineLayout> out;
  for (const Engine& engine : all_engines(q_.sizes())) out.push_back(engine.layout());
  return out;
}

std::vector<int> ServingSearch::replica_counts(int gpus) const {
  const Model& m = q_.model;
  std::vector<int> out{1};
  // a rank holds whole experts, or some of the columns of all
  const int max = m.mixture() ? std::min(gpus, std::max(m.experts, m.expert_ffn)) : 1;
  for (int n = 2; n <= max; ++n)
    if (!odd_group(n)) out.push_back(n);
  return out;
}

std::vector<int> ServingSearch::expert_counts(const EngineLayout& l) const {
  std::vector<int> out{1};
  const int ranks = l.ranks(), max = q_.model.experts;
  if (!q_.model.mixture() || ranks < 2) return out;
  // on tensor ranks alone, split and distributed experts cost the same
  EngineLayout split = l;
  split.ep = 1;
  if (l.attention_dp < 2 && why_skipped(split).empty()) return out;
  for (int ep = 2; ep < ranks && ep <= max && q_.stack.kernels.divides_experts; ++ep)
    if (ranks % ep == 0) out.push_back(ep);
  if (ranks <= max) out.push_back(ranks);
  return out;
}

std::vector<Engine> ServingSearch::all_engines(const ServingQuestion::Sizes& given, bool prefill) {
  std::vector<Engine> out;
  std::string why;
  const bool of_pool = prefill && q_.pool;
  const double context = prefill ? q_.isl : q_.isl + q_.osl, common = prefill || !q_.disaggregated ? q_.common() : 0;
  const Ground ground = of_pool ? whole_pool() : whole();
  const auto up_to = [&](int max) {
    std::vector<int> all;
    for (int n = 1; n <= std::min(ground.gpus, max); ++n) all.push_back(n);
    return all;
  };
  std::vector<int> tps = up_to(ground.domain);  // and beyond a domain, where limits or few requests need it
  for (int tp = ground.domain + 1; tp <= std::min(ground.gpus, q_.model.heads); ++tp)
    if (q_.model.heads % tp == 0) tps.push_back(tp);
  for (const int tp : either(given.tp, tps))
    for (const int dp : either(given.attention_dp, replica_counts(ground.gpus)))
      for (const int pp : either(given.pp, up_to(max_stages))) {
        EngineLayout l{tp, dp, pp, 1};
        if (dp > 1 && !given.attention_dp && odd_group(l.ranks())) continue;
        if (l.gpus() > ground.gpus) break;
        if (ground.held(ground.of(l)) < 1) continue;
        for (const int ep : given.ep ? std::vector{*given.ep} : expert_counts(l)) {
          l.ep = ep;
          if (const std::string no = why_skipped(l); !no.empty()) {
            why = no;
            continue;
          }
          try {
            const Engine engine =
                Engine{q_.model, l, q_.format, of_pool ? *pool_ : machine_, of_pool ? HostMemory{} : q_.host}.sharing(common);
            if (const double lacks = lacking(engine, dp, context); lacks > 0) {
              leave_out(l, lacks);
              continue;
            }
            out.push_back(engine);
          } catch (const RequestError& error) {  // the machine cannot join these ranks but may join others
            why = error.what();
          }
        }
      }
  if (out.empty() && !plan_.nearest_fit)
    throw Refusal(
        why.empty() ? "an engine of the sizes given takes more than " + std::to_string(ground.gpus) + " GPUs; leave one of them out" : why);
  return out;
}

void ServingSearch::each_deployment(const std::vector<Engine>& engines, const std::function<void(const Deployment&)>& visit) {
  const Ground ground = whole();
  for (const bool idle : {false, true})
    for (const Engine& e : engines)
      if ((ground.held(ground.of(e.layout())) * e.layout().gpus() != q_.gpus) == idle) together(e, idle, visit);
}

void ServingSearch::together(const Engine& e, bool idle, const std::function<void(const Deployment&)>& visit) {
  const Ground ground = whole();
  const int replicas = ground.held(ground.of(e.layout()));
  const double room = room_of(e);
  Deployment d{.batches = Batches::up_to(room), .price = {}, .idle = idle};
  if (q_.batch) {
    if (*q_.batch > room) return leave_out(e.layout(), lacking(e, *q_.batch, q_.isl + q_.osl));
    d.batches = Batches::only(*q_.batch);
  } else if (q_.concurrency > 0) {
    d.batches = Batches::only(std::max(1.0, std::ceil(q_.concurrency / replicas)));
  }
  const Prefill prompt = prompt_of(e, q_.stack);
  d.price = [&](double batch) {
    ++plan_.evaluated;
    const Engine at = placed(e, std::min(batch, room), q_.isl + q_.osl);
    PricedServing out;
    out.engine = e.layout();
    out.replicas = replicas;
    out.batch = batch;
    // without experts nothing joins replicas of attention, and the limits are kept by those that have one sequence more
    const double apart = q_.model.mixture() ? 1 : e.layout().attention_dp, most = std::ceil(batch / apart) * apart;
    out.time = aggregated(at, q_.stack, {.isl = q_.isl, .osl = q_.osl, .concurrency = most, .cached = q_.cached()}, fetching(prompt, at, q_.stack, q_.isl - q_.cached()));
    // with a given concurrency, some engines have one sequence fewer, since sequences are whole
    out.requests = q_.concurrency > 0 ? std::min(q_.concurrency, batch * replicas) : batch * replicas;
    return finished(out, at, out.time.rate * out.requests / most);
  };
  visit(d);
}

std::vector<ServingSearch::PrefillGround> ServingSearch::prefill_grounds() {
  std::vector<PrefillWorker> all;
  const ServingPlan before = plan_;
  plan_.nearest_fit.reset();
  const ServingQuestion::Sizes sizes = q_.prefill.any() ? q_.prefill : q_.pool ? ServingQuestion::Sizes{} : q_.sizes();
  for (const Engine& e : all_engines(sizes, true)) {
    const Engine at = q_.pool ? e : placed(e, e.layout().attention_dp, q_.isl);
    all.push_back({at, fetching(prompt_of(e, q_.prefill_stack()), at, q_.prefill_stack(), q_.isl - q_.cached())});
  }
  if (!all.empty()) plan_ = before;  // those that do not fit are counted as decode workers
  plan_.of_pool = all.empty() && q_.pool;
  std::vector<PrefillGround> out{{.ground = whole()}};
  if (q_.pool)
    out.front().apart = whole_pool();
  else if (const Ground ground = whole(); !ground.inside() && ground.domain > 1 && system_.tier(TierRole::scale_up) != nullptr)
    out.push_back({.ground = {.gpus = ground.domain, .domain = ground.domain, .copies = ground.gpus / ground.domain}});
  for (PrefillGround& one : out) {
    for (PrefillWorker& worker : all) worker.takes = one.apart.value_or(one.ground).of(worker.engine.layout());
    one.workers = undominated(all);
  }
  return out;
}

std::vector<ServingSearch::Beside> ServingSearch::beside(const Engine& decode, std::vector<PrefillGround>& grounds) {
  std::vector<Beside> out;
  for (PrefillGround& one : grounds)
    for (const PrefillWorker& worker : one.workers) {
      Beside pair{.worker = &worker,
                  .pairing = {.ground = one.ground,
                              .apart = one.apart,
                              .prefill = worker.takes,
                              .decode = one.ground.of(decode.layout()),
                              .servers = worker.servers(),
                              .waits = {},
                              .ttft = q_.ttft}};
      if (!pair.pairing.possible()) continue;
      const int senders = worker.engine.layout().cache_gpus(), takers = decode.layout().cache_gpus();
      if (q_.pool) {
        pair.link = kv_link(*q_.pool->system, senders, system_, takers);
      } else {
        const int holders = std::min(senders, takers);
        const auto link = one.links.find(holders);
        pair.link = link != one.links.end() ? link->second
                                            : one.links.emplace(holders, kv_link(system_, holders, one.ground.inside())).first->second;
      }
      out.push_back(pair);
    }
  return out;
}

DecodeStep ServingSearch::step_of(const Engine& decode, double sequences) const {
  const double running = std::max(1.0, std::min(sequences, std::floor(room_of(decode))));
  return decode_step(placed(decode, running, q_.isl + q_.osl), q_.stack, running, q_.isl + q_.osl / 2);
}

Pairing ServingSearch::at_step(const Beside& pair, const DecodeStep& step, double requests) const {
  Pairing out = pair.pairing;
  const PrefillWorker& worker = *pair.worker;
  out.waits = apart_waits(worker.prompt, worker.engine.layout(), q_.stack, step, q_.sent(pair.link, q_.isl, worker.prompt.alone), q_.osl, requests);
  return out;
}

PricedServing ServingSearch::priced(const Engine& decode, const Beside& pair, const Workers& workers, double batch) {
  ++plan_.evaluated;
  const Ground& ground = pair.pairing.ground;
  const Engine at = placed(decode, std::min(batch, room_of(decode)), q_.isl + q_.osl);
  PricedServing out;
  out.engine = decode.layout();
  out.prefill = pair.worker->engine.layout();
  out.apart = true;
  out.replicas = workers.decode * ground.copies;
  out.prefill_workers = workers.prefill * ground.copies;
  out.domains = !q_.pool && ground.gpus < q_.gpus ? ground.copies : 0;
  out.batch = batch;
  out.requests = q_.concurrency > 0 ? std::min(q_.concurrency, batch * out.replicas) : batch * out.replicas;
  out.link = pair.link;
  const double requests = out.requests / ground.copies;
  out.time = disaggregated(pair.worker->engine, at, workers, q_.stack, {q_.isl, q_.osl, requests, q_.concurrency > 0 ? 0 : requests, q_.cached()},
                           q_.sent(pair.link, q_.isl, pair.worker->prompt.alone), pair.worker->prompt);
  out.time.running = std::ceil(out.time.running);
  return finished(out, at, out.time.rate * ground.copies);
}

void ServingSearch::apart(const Engine& decode, const std::vector<Beside>& pairs, const Wanted& wanted, const Take& take) {
  if (pairs.empty()) return;
  const double room = room_of(decode);
  if (q_.batch && *q_.batch > room) return leave_out(decode.layout(), lacking(decode, *q_.batch, q_.isl + q_.osl));
  if (q_.concurrency > 0) return apart_of_requests(decode, pairs, wanted, take);
  const auto user = [&](const DecodeStep& step) { return q_.osl > 1 ? 1 / step.per_token : std::numeric_limits<double>::infinity(); };
  const auto slow = [&](const DecodeStep& step) { return q_.osl > 1 && q_.tpot > 0 && step.per_token / q_.tpot > 1; };
  visit_batches(
      q_.batch ? Batches::only(*q_.batch) : Batches::up_to(room),
      [&](double batch) {
        DecodeBatch out{.step = step_of(decode, batch)};
        if (slow(out.step)) return out;
        for (const Beside& pair : pairs) {
          const Pairing pairing = at_step(pair, out.step, batch / decode.layout().attention_dp);
          if (!wanted(per_gpu(pairing.ground, pairing.most(batch)), user(out.step))) continue;
          const std::optional<Pairing::Found> found = pairing.best(batch);
          if (!found) continue;
          const double all = per_gpu(pairing.ground, found->rate);
          out.per_gpu = std::max(out.per_gpu, all);
          if (wanted(all, user(out.step))) take(priced(decode, pair, found->workers, batch));
        }
        return out;
      },
      [&](const DecodeBatch& left, double smaller, double larger) {
        if (slow(left.step)) return false;  // a larger batch exceeds the limit further
        // none between is faster for a user than the smaller one
        const auto helps = [&](double most) { return rounded(most) > rounded(left.per_gpu) && wanted(most, user(left.step)); };
        return std::any_of(pairs.begin(), pairs.end(), [&](const Beside& pair) {
          const Pairing pairing = at_step(pair, left.step, 0);
          return helps(per_gpu(pairing.ground, pairing.most(larger))) && helps(per_gpu(pairing.ground, pairing.most(larger, smaller)));
        });
      });
}

void ServingSearch::apart_of_requests(const Engine& decode, const std::vector<Beside>& pairs, const Wanted& wanted, const Take& take) {
  for (const Beside& pair : pairs) {
    const Ground& ground = pair.pairing.ground;
    const double requests = q_.concurrency / ground.copies;
    const double last = std::min(std::ceil(requests), static_cast<double>(pair.pairing.most_decodes()));
    for (int i = 0; batch_at(i) <= last; ++i) {
      const int decodes = static_cast<int>(batch_at(i)), prefills = pair.pairing.prefills(decodes);
      if (prefills < 1) break;
      const double each = requests / decodes, servers = pair.pairing.servers * prefills;
      const auto waits_beside = [&](double decoding) { return at_step(pair, step_of(decode, decoding), each / decode.layout().attention_dp).waits; };
      // from none that decodes, step by step to no more than do: steps and rates are no better than these
      ApartWaits waits = waits_beside(1);
      const double alone = waits.alone;
      double ttft = waits.ttft(requests, servers);
      const auto helps = [&] {
        return (q_.tpot <= 0 || waits.answer <= q_.osl * q_.tpot * (1 + 1e-9)) &&
               wanted(per_gpu(ground, requests / (ttft + waits.answer)) * (1 + 1e-9), std::numeric_limits<double>::infinity());
      };
      constexpr int closer = 3;
      for (int k = 0; k < closer && waits.answer > 0 && helps(); ++k) {
        waits = waits_beside(each * waits.answer / (ttft + waits.answer));
        ttft = waits.ttft(requests, servers);
      }
      if (!helps()) continue;
      if (q_.ttft > 0) {  // first tokens come soonest where all decode, and take their time
        ApartWaits slowest = waits_beside(each);
        slowest.alone = alone;
        if (slowest.ttft(requests, servers) > q_.ttft * (1 + 1e-9)) continue;
      }
      const PricedServing p = priced(decode, pair, {prefills, decodes}, std::ceil(each));
      if (missed(p.time) <= 1) take(p);
    }
  }
}

void ServingSearch::keep_nearest(const Engine& decode, const std::vector<Beside>& pairs) {
  ++plan_.pruned;
  const auto keep = [&](const Beside& pair, int decodes, double batch) {
    const PricedServing p = priced(decode, pair, {pair.pairing.prefills(decodes), decodes}, batch);
    if (!plan_.nearest || missed(p.time) < plan_.missed) {
      plan_.nearest = p;
      plan_.missed = missed(p.time);
    }
  };
  for (const Beside& pair : pairs) {
    if (q_.concurrency <= 0) {
      keep(pair, 1, q_.batch ? static_cast<double>(*q_.batch) : 1);
      continue;
    }
    const double requests = q_.concurrency / pair.pairing.ground.copies;
    for (int decodes = 1; decodes < 2 * requests && decodes <= pair.pairing.most_decodes(); decodes *= 2)
      keep(pair, decodes, std::max(1.0, std::ceil(requests / decodes)));
  }
}

bool ServingSearch::odd_group(int ranks) {
  if (ranks <= 16) return false;
  for (const int prime : {2, 3, 5, 7})
    while (ranks % prime == 0) ranks /= prime;
  return ranks > 1;
}

std::string ServingSearch::why_skipped(const EngineLayout& l) const {
  if (std::string no = why_impossible(q_.model, l); !no.empty()) return no;
  if (std::string no = why_refused(q_.model, l, q_.format.weights); !no.empty()) return no;
  if (l.ep > 1 && l.ep < l.ranks() && !q_.stack.kernels.divides_experts)
    return (q_.stack.title.empty() ? q_.stack.name : q_.stack.title) +
           " has whole experts on each rank or a part of all of them on each: <ep> is 1 or <tp> x <dp>, " + std::to_string(l.ranks());
  if (q_.stack.kernels.routing.kind == RoutingKind::histogram && q_.stack.kernels.copies == 0 && q_.model.experts % l.ep != 0)
    return q_.model.name + ": the loads given are of " + std::to_string(q_.model.experts) + " experts, which do not divide over " +
           std::to_string(l.ep) + " ranks";
  return {};
}

double ServingSearch::lacking(const Engine& e, double sequences, double context) const {
  const double stays = std::max(0.0, e.cache(sequences, context) - q_.host.cache) / q_.stack.cache_share;
  const double lacks = stays - e.room(q_.stack.memory_share);
  return e.capacity(context, q_.stack.memory_share, q_.stack.cache_share) >= sequences ? 0 : std::max(lacks, 1.0);
}

PricedServing ServingSearch::finished(PricedServing out, const Engine& decode, double requests_per_s) const {
  out.tokens_per_s_per_gpu = rounded(requests_per_s * q_.osl / q_.all_gpus());
  out.tokens_per_s_per_user = rounded(1 / (q_.osl > 1 ? out.time.tpot : out.time.ttft));
  out.cached = q_.cached();
  out.weights = decode.weights();
  out.cache = decode.cache(out.time.running, q_.isl + q_.osl);
  out.on_host =
      decode.host().weights + decode.cache_on_host(out.time.running, q_.isl + q_.osl, q_.stack.memory_share, q_.stack.cache_share);
  out.memory = out.weights + out.cache - out.on_host;
  return out;
}

void ServingSearch::list(const PricedServing& p) {
  for (PricedServing& other : plan_.layouts)
    if (figures_of(other) == figures_of(p)) {
      if (better(p, other)) other = p;
      return;
    }
  plan_.layouts.push_back(p);
}

double ServingSearch::max_listed() const {
  double out = 0;
  for (const PricedServing& p : plan_.layouts) out = std::max(out, p.tokens_per_s_per_gpu);
  return out;
}

double ServingSearch::min_listed() {
  std::vector<PricedServing>& found = plan_.layouts;
  if (static_cast<int>(found.size()) <= q_.top) return 0;
  std::vector<double> rates;
  rates.reserve(found.size());
  for (const PricedServing& p : found) rates.push_back(p.tokens_per_s_per_gpu);
  const auto last = rates.begin() + q_.top;
  std::nth_element(rates.begin(), last, rates.end(), std::greater<>{});
  return *last;
}

std::optional<PricedServing> ServingSearch::best_of(const Deployment& d, double enough) {
  std::optional<PricedServing> best;
  std::optional<PricedServing> first;
  visit_batches(
      d.batches,
      [&](double batch) {
        PricedServing p = d.price(batch);
        if (!first) first = p;
        if (missed(p.time) <= 1 && (!best || better(p, *best))) best = p;
        return p;
      },
      [&](const PricedServing& left, double smaller, double larger) {
        const double max = left.tokens_per_s_per_gpu * larger / smaller;
        if (missed(left.time) > 1 || max < enough) return false;  // a larger batch exceeds the limits further
        const double now = rounded(best->tokens_per_s_per_gpu);
        return rounded(max) > now || (rounded(max) == now && rounded(left.tokens_per_s_per_gpu) < now);
      });
  if (!best && first) {
    ++plan_.pruned;
    if (!plan_.nearest || missed(first->time) < plan_.missed) {
      plan_.nearest = first;
      plan_.missed = missed(first->time);
    }
  }
  return best;
}

}  // namespace fabricost::plan::detail
