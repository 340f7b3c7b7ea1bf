/// Finds the deployments that keep limits at the highest rate of requests.

#include "serving/arrivals/deployed.hpp"
#include "serving/workers.hpp"

#include <fabricost/in_order.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <set>

namespace fabricost::plan {

using detail::closer, detail::Deployed;

namespace {

[[nodiscard]] auto layout_of(const PricedServing& p) {
  return in_order(p.engine.tp, p.engine.pp, p.engine.attention_dp, p.engine.ep, p.replicas, p.prefill.tp, p.prefill.pp,
                  p.prefill.attention_dp, p.prefill.ep, p.prefill_workers);
}

[[nodiscard]] auto kinds_of(const PricedServing& p) {
  return in_order(p.engine.tp, p.engine.pp, p.engine.attention_dp, p.engine.ep, p.prefill.tp, p.prefill.pp, p.prefill.attention_dp, p.prefill.ep,
                  p.domains);
}

/// The same workers in other numbers, with as many prefill workers as fit beside.
class Numbers {
 public:
  Numbers(const ServingQuestion& q, const System& system, const PricedServing& p) : p_(p), pool_(q.pool) {
    const int domain = std::max(1, system.domain);
    ground_ = p.domains > 0 ? detail::Ground{domain, domain, p.domains} : detail::Ground{q.gpus, domain};
    decode_ = ground_.of(p.engine);
    prefill_ = ground_.of(p.prefill);
    if (pool_) {
      const detail::Ground apart{q.pool->gpus, std::max(1, q.pool->system->domain)};
      prefills_ = apart.held(apart.of(p.prefill));
    }
  }
  [[nodiscard]] int most() const { return pool_ ? ground_.held(decode_) : ground_.held(decode_, prefill_); }
  [[nodiscard]] PricedServing with(int decodes) const {
    PricedServing out = p_;
    out.replicas = decodes * ground_.copies;
    out.prefill_workers = pool_ ? prefills_ : ground_.copies * ground_.held(prefill_, {decodes * decode_.gpus, decodes * decode_.places});
    return out;
  }
  /// The decode workers of such a deployment on one ground.
  [[nodiscard]] int of(const PricedServing& p) const { return p.replicas / ground_.copies; }
  [[nodiscard]] bool trades() const { return !pool_; }

 private:
  PricedServing p_;
  bool pool_ = false;
  detail::Ground ground_;
  detail::Footprint decode_, prefill_;
  int prefills_ = 0;
};

/// Deployments simulated at the asked rate, and of the best the rates up to which they keep the limits.
class LoadedSearch {
 public:
  LoadedSearch(const System& system, const ServingQuestion& question, const LoadQuestion& load)
      : system_(system), q_(question), load_(load), any_(question), machine_(system, question.constants, question.stack.kernels) {
    any_.ttft = any_.tpot = any_.usual_ttft = any_.concurrency = 0;
    if (q_.pool) pool_.emplace(*q_.pool->system, q_.pool->constants, q_.pool->stack.kernels);
  }

  /// Those asked for, the best first.
  [[nodiscard]] std::vector<LoadedServing> run() {
    std::vector<PricedServing> front = serving_pareto(system_, any_);
    add_all(front);
    if (!order_.empty() && all_.front().deployed->limited()) {
      sort_out(1);
      if (!order_.empty()) best_ = all_[first_ = order_.front()].deployed->kept();
      if (q_.disaggregated) {
        add_kinds(front);
        try_numbers(front);
      } else {
        try_layouts();
      }
    }
    const auto top = static_cast<std::size_t>(q_.top);
    sort_out(top);
    if (order_.empty() && why_) throw *why_;
    order_.resize(std::min(order_.size(), top));
    std::vector<LoadedServing> out;
    for (const std::size_t i : order_) {
      LoadedServing row = finished(all_[i]);
      if (!out.empty() && row.figures.tokens <= 0) continue;  // none is answered before the last request arrives
      out.push_back(row);
      if (!out.front().keeps) break;  // the nearest, which says what is missed
    }
    return out;
  }
  [[nodiscard]] long long simulated() const { return std::ssize(all_); }

 private:
  struct Candidate {
    std::unique_ptr<Deployed> deployed;
    LoadedServing row;
    bool open = true;  ///< more may be learnt of the rate up to which it keeps the limits
  };

  /// Requests per second of a closed loop.
  [[nodiscard]] double rate_of(const PricedServing& p) const { return p.tokens_per_s_per_gpu * q_.all_gpus() / q_.osl; }
  [[nodiscard]] std::unique_ptr<Deployed> deploy(const PricedServing& p, double most) {
    return std::make_unique<Deployed>(q_, load_, system_, machine_, pool_ ? *pool_ : machine_, p, most);
  }
  [[nodiscard]] static LoadedServing row_of(const Deployed& one, const LoadFigures& figures, const Simulated& served) {
    return {.deployment = one.priced(figures, served),
            .figures = figures,
            .hit_rate = served.hit_rate,
            .reloaded = served.reloaded,
            .preempted = served.preempted};
  }

  void add(std::unique_ptr<Deployed> one, bool open) {
    const auto [figures, served] = one->at(load_.rate());
    LoadedServing row = row_of(*one, figures, served);
    row.keeps = load_.trace && one->within(figures);
    order_.push_back(all_.size());
    all_.push_back({std::move(one), row, open});
  }

  /// Each layout of a front once, with the most that a closed loop answers on it.
  void add_all(const std::vector<PricedServing>& front) {
    for (std::size_t i = 0; i < front.size(); ++i) {
      const auto same = [&](const PricedServing& other) { return layout_of(other) == layout_of(front[i]); };
      if (std::any_of(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(i), same)) continue;
      double most = 0;
      for (const PricedServing& other : front)
        if (same(other)) most = std::max(most, rate_of(other));
      try {
        add(deploy(front[i], most), true);
      } catch (const RequestError& error) {  // a request is longer than this one's cache, or its parts cannot be joined
        why_ = error;
      }
    }
  }

  /// Learns of the best until so many of them are known, in their order.
  void sort_out(std::size_t first) {
    const auto rank = [&](std::size_t i) {
      const Candidate& one = all_[i];
      const LoadFigures& f = one.row.figures;
      return in_order(load_.trace && !one.row.keeps, one.open ? -one.deployed->broken() : -one.deployed->kept(), -std::round(100 * f.within), f.e2e.mean, i);
    };
    for (std::size_t place = 0; place < std::min(order_.size(), first);) {
      std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
      Candidate& one = all_[order_[place]];
      if (!one.open) {
        ++place;
        continue;
      }
      try {
        one.open = one.deployed->narrow();
      } catch (const RequestError& error) {
        why_ = error;
        order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(place));
      }
    }
  }

  /// Layouts whose clients are answered less within means than on the front, but may be answered more evenly.
  void try_layouts() {
    constexpr double more_evenly = 1.25;
    ServingQuestion within = q_;
    within.usual_ttft = within.concurrency = 0;
    within.top = std::numeric_limits<int>::max();
    for (const PricedServing& p : plan_serving(system_, within).layouts) {
      if (!std::isfinite(best_) || more_evenly * rate_of(p) < best_) break;
      const auto same = [&](const Candidate& other) { return layout_of(other.row.deployment) == layout_of(p); };
      try {
        if (std::none_of(all_.begin(), all_.end(), same)) static_cast<void>(is_better(p, rate_of(p)));
      } catch (const RequestError&) {  // a request is longer than its cache
      }
    }
  }

  /// Adds to a front the kinds of workers that read prompts sooner than the mean must, and that 2, 4, 8 or 16 GPUs fewer take whole.
  void add_kinds(std::vector<PricedServing>& front) const {
    std::set<int, std::greater<>> counts{q_.gpus};
    if (!q_.pool)
      for (const int whole : {2, 4, 8, 16}) counts.insert(q_.gpus / whole * whole);
    ServingQuestion any = any_;
    for (const int count : counts)
      for (const double share : {0.0, 1.0, 0.5, 0.25}) {
        if (count < 1 || (share == 0 ? count == q_.gpus : q_.ttft <= 0)) continue;
        any.gpus = count;
        any.ttft = share * q_.ttft;
        try {
          for (const PricedServing& p : serving_pareto(system_, any)) front.push_back(p);
        } catch (const RequestError&) {  // too few for the sizes that are given, or none reads as soon
          break;
        }
      }
    std::stable_sort(front.begin(), front.end(), [&](const PricedServing& a, const PricedServing& b) { return rate_of(a) > rate_of(b); });
  }

  /// The front is of means: percentiles want other numbers of workers, more of the kind that makes most requests late.
  void try_numbers(const std::vector<PricedServing>& front) {
    for (std::size_t i = 0; i < front.size() && std::isfinite(best_); ++i) {
      const auto same = [&](const PricedServing& other) { return kinds_of(other) == kinds_of(front[i]); };
      if (std::any_of(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(i), same)) continue;
      const Numbers numbers(q_, system_, front[i]);
      try {
        for (int low = numbers.trades() ? 1 : numbers.most(), high = numbers.most(); low <= high;) {
          const int middle = low + (high - low) / 2;
          static_cast<void>(is_better(numbers.with(middle), rate_of(front[i])));
          if (fewer_)
            high = middle - 1;
          else
            low = middle + 1;
        }
      } catch (const RequestError&) {  // too few of one kind for a request
      }
    }
    if (order_.empty() || !std::isfinite(best_)) return;
    const PricedServing found = all_[first_].row.deployment;
    const Numbers numbers(q_, system_, found);
    for (const int step : {-1, 1})  // near the best a few requests decide which kind is late
      try {
        for (int decodes = numbers.of(found) + step; numbers.trades() && decodes >= 1 && decodes <= numbers.most(); decodes += step)
          if (!is_better(numbers.with(decodes), best_)) break;
      } catch (const RequestError&) {
      }
  }

  /// Whether a deployment keeps the limits at more than the best so far; then it is listed.
  [[nodiscard]] bool is_better(const PricedServing& p, double most) {
    auto one = deploy(p, most);
    const double before = best_;
    const bool keeps = one->kept_at(best_ * std::sqrt(closer)).has_value();
    if (keeps) {
      while (one->narrow()) continue;
      best_ = std::max(best_, one->kept());
      if (q_.disaggregated && std::isfinite(one->broken())) static_cast<void>(one->kept_at(one->broken()));  // which kind is late there
    }
    fewer_ = one->reads_late();
    if (!keeps) return false;
    add(std::move(one), false);
    if (best_ > before) first_ = all_.size() - 1;
    return best_ > before;
  }

  [[nodiscard]] LoadedServing finished(Candidate& candidate) const {
    Deployed& one = *candidate.deployed;
    LoadedServing row = candidate.row;
    const double asked = load_.rate();
    if (!load_.trace) {
      // between the rate known to be kept and the one known to be broken the asked one is simulated
      row.keeps = asked <= one.kept() || (asked < std::min(one.broken(), one.saturation()) && one.keeps(row.figures, asked));
      if (row.keeps && !one.keeps(row.figures, asked)) {  // a higher rate's
        const auto [figures, served] = one.at_kept();
        row = row_of(one, figures, served);
        row.keeps = true;
      }
      row.rate_within = std::max(one.kept(), row.keeps ? asked : 0);
      // sessions that pile up lose their prefixes, so that fewer are answered than at a rate that is kept
      row.saturation = std::max(one.saturation(), one.kept());
    } else if (std::isfinite(one.kept())) {  // a trace ends, and with it every queue
      row.rate_within = std::max(one.kept(), row.keeps ? asked : 0);
      row.answered_within = std::max(one.answered(), row.keeps ? row.figures.rate : 0);
    } else if (one.answered() > 0) {
      row.answered_within = one.answered();
    }
    return row;
  }

  const System& system_;
  const ServingQuestion& q_;
  const LoadQuestion& load_;
  ServingQuestion any_;  ///< without limits
  ServingMachine machine_;
  std::optional<ServingMachine> pool_{};
  std::vector<Candidate> all_{};
  std::vector<std::size_t> order_{};  ///< of those that are listed
  std::optional<RequestError> why_{};
  double best_ = 0;        ///< requests per second that limits are kept at, of all
  std::size_t first_ = 0;  ///< the candidate that keeps them
  bool fewer_ = true;      ///< of the last that was tried, whether fewer decode workers and more prefill workers may answer more
};

}  // namespace

LoadedPlan loaded(const System& system, const ServingQuestion& question, LoadQuestion load) {
  if (load.drawn.turns == 1) {
    load.drawn.isl = question.isl;
    load.drawn.osl = question.osl;
  }
  LoadedSearch search(system, question, load);
  std::vector<LoadedServing> best = search.run();
  return {.load = std::move(load), .deployments = std::move(best), .simulated = search.simulated()};
}

}  // namespace fabricost::plan
