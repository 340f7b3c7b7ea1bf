#include "detours.hpp"

#include <fabricost/plan/network/concurrent.hpp>

#include <algorithm>
#include <numeric>

namespace fabricost::plan {

std::vector<std::vector<int>> strided_groups(int count, int size, int stride) {
  if (count < 1 || size < 1 || stride < 1 || static_cast<long long>(size) * stride > count || count % (size * stride) != 0)
    throw RequestError(std::to_string(count) + " GPUs do not divide into groups of " + std::to_string(size) + " at a stride of " +
                       std::to_string(stride));
  std::vector<std::vector<int>> out;
  for (int block = 0; block < count; block += size * stride)
    for (int offset = 0; offset < stride; ++offset) {
      std::vector<int>& group = out.emplace_back();
      for (int i = 0; i < size; ++i) group.push_back(block + offset + i * stride);
    }
  return out;
}

}  // namespace fabricost::plan

namespace fabricost::plan::detail {

/// Whether flows are hashed over the links of a block, being parallel links of the network.
bool is_hashed(const LinkBlock& b) {
  return (b.kind == LinkKind::tier_up || b.kind == LinkKind::tier_down || b.kind == LinkKind::groups) && b.lanes >= 2;
}

/// Capacities after hashing: a bundle of p links crossed by f flows carries at most f x (one link) / E[max].
std::vector<double> capacities_of(const Topology& t, const std::vector<Traffic>& traffic, Balancing balancing) {
  std::vector<double> out(static_cast<std::size_t>(t.links()));
  for (const LinkBlock& b : t.blocks)
    for (int i = b.first; i < b.first + b.count; ++i)
      out[static_cast<std::size_t>(i)] = b.kind == LinkKind::wire && t.shape != TierKind::torus ? t.capacity(i) : b.capacity;
  if (balancing == Balancing::even) return out;
  std::vector<double> flows(out.size(), 0);
  for (const Traffic& one : traffic)
    for (const LinkLoad& l : one.loads) flows[static_cast<std::size_t>(l.link)] += l.flows;
  std::map<std::pair<double, double>, double> known;
  for (const LinkBlock& b : t.blocks) {
    if (!is_hashed(b)) continue;
    for (int i = b.first; i < b.first + b.count; ++i) {
      const double f = std::round(flows[static_cast<std::size_t>(i)]);
      if (f < 2) continue;
      const auto [at, fresh] = known.try_emplace({f, b.lanes}, 0);
      if (fresh) at->second = std::min(1.0, f / b.lanes / expected_max_load(f, b.lanes));
      out[static_cast<std::size_t>(i)] *= at->second;
    }
  }
  return out;
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

bool has_parallel_links(const Topology& machine) { return std::any_of(machine.blocks.begin(), machine.blocks.end(), detail::is_hashed); }

ConcurrentFlows::ConcurrentFlows(const Topology& machine, std::span<const ConcurrentCollective> collectives,
                                 const ConcurrentOptions& options)
    : machine_(&machine) {
  TrafficCounter counter{machine, options.routes};
  traffic_.reserve(collectives.size());
  for (std::size_t c = 0; c < collectives.size(); ++c) {
    const ConcurrentCollective& one = collectives[c];
    const auto fault = [&](const std::string& what) {
      throw RequestError((one.name.empty() ? "collective " + std::to_string(c) : one.name) + ": " + what);
    };
    if (!(one.weight > 0) || std::isinf(one.weight)) fault("a weight must be a number above zero");
    try {
      traffic_.push_back(counter.count(one.collective, one.algorithm, one.ranks));
    } catch (const RequestError& e) {
      fault(e.what());
    }
    weights_.push_back(one.weight);
  }
  capacities_ = detail::capacities_of(machine, traffic_, options.balancing);
  const auto carries = [&](int link) { return capacities_[static_cast<std::size_t>(link)]; };
  for (const Traffic& one : traffic_) {
    double alone = one.loads.empty() ? 0 : std::numeric_limits<double>::infinity();
    for (const LinkLoad& l : one.loads) alone = std::min(alone, carries(l.link) / l.bytes);
    if (std::any_of(one.between.begin(), one.between.end(), [&](const LinkLoad& l) { return alone * l.bytes > carries(l.link); })) {
      detail::Detours detours{machine};
      for (detours.send(one, alone); detours.follow(); detours.send(one, alone)) {
        alone = std::numeric_limits<double>::infinity();
        for (const LinkUse& l : detours.uses(one, 1)) alone = std::min(alone, carries(l.link) / l.share);
      }
    }
    alone_.push_back(alone);
  }
}

ConcurrentFlows::Shared ConcurrentFlows::shared_by(std::span<const int> running) const {
  Shared out;
  detail::Detours detours{*machine_};
  do {
    out.uses.clear();
    out.whose.clear();
    out.rates.assign(running.size(), 0);
    for (std::size_t i = 0; i < running.size(); ++i) {
      const Traffic& one = traffic_[static_cast<std::size_t>(running[i])];
      if (one.loads.empty()) continue;
      out.uses.push_back(detours.uses(one, one.sent_by_rank));
      out.whose.push_back(static_cast<int>(i));
    }
    std::vector<Flow> flows;
    for (std::size_t f = 0; f < out.uses.size(); ++f)
      flows.push_back({.uses = out.uses[f], .weight = weights_[static_cast<std::size_t>(running[static_cast<std::size_t>(out.whose[f])])]});
    out.sharing = share_max_min(capacities_, flows);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      const auto i = static_cast<std::size_t>(out.whose[f]), c = static_cast<std::size_t>(running[i]);
      out.rates[i] = std::min(alone_[c], out.sharing.rates[f] / traffic_[c].sent_by_rank);
      detours.send(traffic_[c], out.rates[i]);
    }
  } while (detours.follow());
  out.detoured = detours.share();
  return out;
}

std::vector<double> ConcurrentFlows::slow_downs(std::span<const int> running) const {
  std::vector<double> out = shared_by(running).rates;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = ConcurrentOutcome{.alone = alone_[static_cast<std::size_t>(running[i])], .shared = out[i]}.slow_down();
  return out;
}

Contention ConcurrentFlows::contention() const {
  std::vector<int> all(traffic_.size());
  std::iota(all.begin(), all.end(), 0);
  const Shared shared = shared_by(all);
  Contention out;
  out.detoured = shared.detoured;
  for (std::size_t c = 0; c < all.size(); ++c) out.outcomes.push_back({.alone = alone_[c], .shared = shared.rates[c]});
  std::vector<int> place(capacities_.size(), -1);  // in the list of links that limit any
  for (std::size_t f = 0; f < shared.whose.size(); ++f) {
    const int link = shared.sharing.bottlenecks[f];
    const auto l = static_cast<std::size_t>(link);
    if (place[l] < 0) {
      place[l] = static_cast<int>(out.links.size());
      out.links.push_back(
          {.link = link, .name = name_of(*machine_, link), .capacity = capacities_[l], .load = shared.sharing.loads[l], .sharers = {}});
    }
    out.outcomes[static_cast<std::size_t>(shared.whose[f])].bottleneck = place[l];
  }
  for (std::size_t f = 0; f < shared.whose.size(); ++f)
    for (const LinkUse& use : shared.uses[f])
      if (const int at = place[static_cast<std::size_t>(use.link)]; at >= 0)
        out.links[static_cast<std::size_t>(at)].sharers.push_back(shared.whose[f]);
  return out;
}

Contention contention(const Topology& machine, std::span<const ConcurrentCollective> collectives, const ConcurrentOptions& options) {
  return ConcurrentFlows{machine, collectives, options}.contention();
}

}  // namespace fabricost::plan
