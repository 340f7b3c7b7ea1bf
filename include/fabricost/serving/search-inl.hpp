#pragma once
/// \file search-inl.hpp
/// Bodies of search.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/serving/search.hpp>

namespace fabricost::detail {

FABRICOST_BODY void ServingFront::add(const PricedServing& p) {
  const double all = rounded(p.tokens_per_s_per_gpu), user = rounded(p.tokens_per_s_per_user);
  // equal ones are kept until listed, so that the result does not depend on the order of discovery
  const auto above = user_by_all_.lower_bound(all);
  if (above != user_by_all_.end() && above->second >= user && (above->first > all || above->second > user)) return;
  kept_.push_back(p);
  auto at = user_by_all_.insert_or_assign(all, user).first;
  while (at != user_by_all_.begin() && std::prev(at)->second <= user) user_by_all_.erase(std::prev(at));
}

FABRICOST_BODY std::vector<PricedServing> ServingFront::rows() {
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

FABRICOST_BODY ServingPlan ServingSearch::run() {
  const std::vector<Engine> engines = all_engines(q_.sizes());
  std::optional<PricedServing> of_group, idle;  // best of one decode worker; best that leaves GPUs idle
  const Engine* group = nullptr;
  const auto keep = [](std::optional<PricedServing>& kept, const PricedServing& p) {
    if (!kept || better(p, *kept)) kept = p;
  };
  each_deployment(engines, [&](const Deployment& d) {
    if (d.group != group && of_group) list(*of_group), of_group.reset();
    group = d.group;
    const std::optional<PricedServing> best = best_of(d, d.idle ? max_listed() : min_listed());
    if (best && d.idle)
      keep(idle, *best);
    else if (best && d.group != nullptr)
      keep(of_group, *best);
    else if (best)
      list(*best);
  });
  if (of_group) list(*of_group);
  std::vector<PricedServing>& found = plan_.layouts;
  std::stable_sort(found.begin(), found.end(), better);
  if (idle && (found.empty() || better(*idle, found.front()))) found.insert(found.begin(), *idle);
  if (static_cast<int>(found.size()) > q_.top) found.resize(static_cast<std::size_t>(q_.top));
  return std::move(plan_);
}

FABRICOST_BODY std::vector<PricedServing> ServingSearch::pareto() {
  ServingFront front;
  const std::vector<Engine> engines = all_engines(q_.sizes());
  each_deployment(engines, [&](const Deployment& d) {
    visit_batches(
        d.batches, d.ceiling,
        [&](double batch) {
          PricedServing p = d.price(batch);
          if (missed(p.time) <= 1) front.add(p);
          return p;
        },
        [&](const PricedServing& left, double max) { return missed(left.time) <= 1 && front.lacks(max, left.tokens_per_s_per_user); });
  });
  return front.rows();
}

FABRICOST_BODY std::vector<int> ServingSearch::sizes(int max) const {
  if (!loosely()) return divisors(q_.gpus, max);
  std::vector<int> out;
  for (int n = 1; n <= std::min(q_.gpus, max); ++n) out.push_back(n);
  return out;
}

FABRICOST_BODY std::vector<Engine> ServingSearch::all_engines(const ServingQuestion::Sizes& given) {
  std::vector<Engine> out;
  std::string why;
  const bool mixture = q_.model.mixture();
  const bool evenly = !q_.disaggregated && !loosely();
  for (const int tp : either(given.tp, sizes(std::max(1, system_.domain))))
    for (const int pp : either(given.pp, sizes(16)))
      for (const int dp : either(given.attention_dp, sizes(mixture ? q_.gpus : 1))) {
        EngineLayout l{tp, dp, pp, 1};
        if (dp > 1 && !given.attention_dp && loosely() && odd_group(l.ranks())) continue;
        if (l.gpus() > q_.gpus || (evenly && q_.gpus % l.gpus() != 0)) continue;
        std::vector<int> expert{1};
        if (given.ep)
          expert = {*given.ep};
        else if (mixture && l.ranks() > 1 && l.ranks() <= q_.model.experts && (dp > 1 || !why_not(l).empty()))
          expert.push_back(l.ranks());  // on tensor ranks alone, split and distributed experts cost the same
        for (const int ep : expert) {
          l.ep = ep;
          if (const std::string no = why_not(l); !no.empty()) {
            why = no;
            continue;
          }
          try {
            Engine engine{q_.model, l, q_.format, machine_, q_.host};
            if (const double lacks = lacking(engine, dp); lacks > 0) {
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
    throw Refusal(why.empty() ? "the sizes given do not divide " + std::to_string(q_.gpus) + " GPUs; leave one of them out" : why);
  return out;
}

FABRICOST_BODY bool ServingSearch::odd_group(int ranks) {
  if (ranks <= 16) return false;
  for (const int prime : {2, 3, 5, 7})
    while (ranks % prime == 0) ranks /= prime;
  return ranks > 1;
}

FABRICOST_BODY std::string ServingSearch::why_not(const EngineLayout& l) const {
  if (std::string no = why_impossible(q_.model, l); !no.empty()) return no;
  if (std::string no = why_refused(q_.model, l, q_.format.weights); !no.empty()) return no;
  if (q_.stack.kernels.routing.kind == RoutingKind::histogram && q_.model.experts % l.ep != 0)
    return q_.model.name + ": the loads given are of " + std::to_string(q_.model.experts) + " experts, which do not divide over " +
           std::to_string(l.ep) + " ranks";
  return {};
}

FABRICOST_BODY double ServingSearch::lacking(const Engine& e, double sequences) const {
  const double stays = std::max(0.0, e.cache(sequences, q_.isl + q_.osl) - q_.host.cache) / q_.stack.cache_share;
  const double lacks = stays - e.room(q_.stack.memory_share);
  return e.capacity(q_.isl + q_.osl, q_.stack.memory_share, q_.stack.cache_share) >= sequences ? 0 : std::max(lacks, 1.0);
}

FABRICOST_BODY PricedServing ServingSearch::finished(PricedServing out, const Engine& decode, double requests_per_s) const {
  out.tokens_per_s_per_gpu = rounded(requests_per_s * q_.osl / q_.gpus);
  out.tokens_per_s_per_user = rounded(1 / (q_.osl > 1 ? out.time.tpot : out.time.ttft));
  out.weights = decode.weights();
  out.cache = decode.cache(out.time.running, q_.isl + q_.osl);
  out.on_host =
      decode.host().weights + decode.cache_on_host(out.time.running, q_.isl + q_.osl, q_.stack.memory_share, q_.stack.cache_share);
  out.memory = out.weights + out.cache - out.on_host;
  return out;
}

FABRICOST_BODY void ServingSearch::list(const PricedServing& p) {
  for (PricedServing& other : plan_.layouts)
    if (figures_of(other) == figures_of(p)) {
      if (better(p, other)) other = p;
      return;
    }
  plan_.layouts.push_back(p);
}

FABRICOST_BODY double ServingSearch::max_listed() const {
  double out = 0;
  for (const PricedServing& p : plan_.layouts) out = std::max(out, p.tokens_per_s_per_gpu);
  return out;
}

FABRICOST_BODY double ServingSearch::min_listed() {
  std::vector<PricedServing>& found = plan_.layouts;
  if (static_cast<int>(found.size()) <= q_.top) return 0;
  std::vector<double> rates;
  rates.reserve(found.size());
  for (const PricedServing& p : found) rates.push_back(p.tokens_per_s_per_gpu);
  const auto last = rates.begin() + q_.top;
  std::nth_element(rates.begin(), last, rates.end(), std::greater<>{});
  return *last;
}

FABRICOST_BODY std::optional<PricedServing> ServingSearch::best_of(const Deployment& d, double enough) {
  std::optional<PricedServing> best;
  std::optional<PricedServing> first;
  visit_batches(
      d.batches, d.ceiling,
      [&](double batch) {
        PricedServing p = d.price(batch);
        if (!first) first = p;
        if (missed(p.time) <= 1 && (!best || better(p, *best))) best = p;
        return p;
      },
      [&](const PricedServing& left, double max) {
        if (missed(left.time) > 1 || max < enough) return false;  // a larger batch exceeds the limits further
        const double now = rounded(best->tokens_per_s_per_gpu);
        return rounded(max) > now || (rounded(max) == now && rounded(left.tokens_per_s_per_gpu) < now);
      });
  if (!best && first) {
    ++plan_.pruned;
    if (!plan_.nearest || missed(first->time) < plan_.missed) plan_.nearest = first, plan_.missed = missed(first->time);
  }
  return best;
}

}  // namespace fabricost::detail
