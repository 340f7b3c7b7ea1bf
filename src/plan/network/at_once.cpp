#include "text/named_refusal.hpp"

#include <fabricost/plan/network/at_once.hpp>

namespace fabricost::plan::detail {

/// The operation to predict for a group: its ranks, spread evenly over the domains (or the nodes of one domain) they lie on. Domains that
/// are not equally full are priced as predict prices such a number of nodes, as many ranks on each.
/// \throws RequestError when neither the domains nor the nodes have as many of them as each other
Operation placed(const System& system, const Topology& t, Operation op, const std::vector<int>& group) {
  std::map<int, int> nodes, domains;
  for (const int gpu : group) {
    ++nodes[t.node_of(gpu)];
    ++domains[t.domain_of(gpu)];
  }
  const auto uneven = [](const std::map<int, int>& of) {
    return std::any_of(of.begin(), of.end(), [&](const auto& one) { return one.second != of.begin()->second; });
  };
  op.ranks = static_cast<int>(group.size());
  if (domains.size() > 1 && uneven(domains)) {
    op.nodes = static_cast<int>(nodes.size());
    if (!uneven(nodes)) return op;
    throw RequestError(system.name + ": groups of " + std::to_string(group.size()) +
                       " have more ranks in one scale-up domain than in another, which has no price; take sizes that divide the domain's " +
                       std::to_string(system.domain) + " GPUs");
  }
  const int across = std::max(1, system.domain / std::max(1, system.gpus_per_node));
  op.nodes = static_cast<int>(domains.size() > 1 ? domains.size() * static_cast<std::size_t>(across) : nodes.size());
  return op;
}

/// The same GPUs on neighbours, where a prediction takes them to be.
std::vector<int> side_by_side(const Topology& t, const std::vector<int>& group) {
  const int together = std::max(t.domain, t.gpus_per_node);
  std::map<int, int> place;
  for (const int gpu : group) place.try_emplace(gpu / together, 0);
  int next = 0;
  for (auto& one : place) one.second = next++;
  std::vector<int> out;
  for (const int gpu : group) out.push_back(place[gpu / together] * together + gpu % together);
  return out;
}

/// Bytes of its size a second that a collective has when its routes are adaptive and even and its GPUs neighbours.
double rate_side_by_side(const Topology& t, const ConcurrentCollective& one, bool relay_on_rails) {
  ConcurrentCollective placed = one;
  placed.ranks = side_by_side(t, one.ranks);
  return contention(t, std::span{&placed, 1}, {.routes = {.relay_on_rails = relay_on_rails}}).outcomes[0].alone;
}

/// What its routes make of the wire time of a collective by itself, at least 1: their fullest link beside that of neighbours on adaptive
/// and even routes (of a torus, beside that of its schedule); and never less than their bytes take.
double by_routes(const Prediction& alone, double rate, double side_by_side, bool torus) {
  if (!(rate > 0)) return 1;
  const double routed = alone.operation.bytes.value() / rate;
  const AloneTime parts = alone_time_of(alone);
  const double longer = torus ? (alone.min > 0 ? routed / alone.min : 1) : side_by_side / rate;
  const double least = parts.wire > 0 ? (routed - parts.fixed) / parts.wire : 1;
  const double out = std::max(longer, least);
  return out > 1 + 1e-9 ? out : 1;
}

/// When they end, at once and one after the other.
/// \param by_routes of every group
void add_ends(ConcurrentGroups& all, const ConcurrentFlows& flows, const std::vector<double>& by_routes) {
  std::vector<AloneTime> alone;
  std::vector<int> everything;
  std::vector<std::vector<int>> own(all.outcomes.size());
  for (std::size_t f = 0; f < all.flat.size(); ++f) {
    const auto c = static_cast<std::size_t>(all.of[f]);
    alone.push_back(alone_time_of(all.outcomes[c].alone));
    alone.back().wire *= by_routes[f];
    own[c].push_back(static_cast<int>(f));
    everything.push_back(static_cast<int>(f));
  }
  const auto last_of = [](const std::vector<double>& ends, const std::vector<int>& of) {
    double out = 0;
    for (const int f : of) out = std::max(out, ends[static_cast<std::size_t>(f)]);
    return out;
  };
  const std::vector<double> ends = until_end(flows, alone, everything);
  for (std::size_t c = 0; c < own.size(); ++c) {
    GroupedOutcome& one = all.outcomes[c];
    one.end = last_of(ends, own[c]);
    one.by_itself = own.size() == 1 ? one.end : last_of(until_end(flows, alone, own[c]), own[c]);
    all.end = std::max(all.end, one.end);
    all.in_turn += one.by_itself;
  }
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

ConcurrentGroups at_once(const System& system, int nodes, std::span<const GroupedCollective> collectives,
                         const ConcurrentOptions& options) {
  check_size(system, static_cast<double>(nodes) * system.gpus_per_node);
  if (system.pod > 0) return at_once(slice_for(system, static_cast<long long>(nodes) * system.gpus_per_node), nodes, collectives, options);
  const Topology t = topology_of(system, nodes);
  ConcurrentGroups out;
  for (std::size_t c = 0; c < collectives.size(); ++c) {
    const GroupedCollective& one = collectives[c];
    with_name_in_errors(one.name, [&] {
      const std::vector<std::vector<int>> groups = strided_groups(t.gpus(), one.size > 0 ? one.size : t.gpus(), one.stride);
      GroupedOutcome outcome;
      outcome.groups = static_cast<int>(groups.size());
      outcome.size = static_cast<int>(groups.front().size());
      const Operation operation = detail::placed(system, t, one.operation, groups.front());
      outcome.alone = predict(system, operation, one.choice);
      // predict takes ranks to fill a block of a torus; those that do not write by ring, while messages of an exchange find their ways
      if (outcome.alone.ran.algorithm == Algorithm::torus_bucket && !one.choice.algorithm &&
          operation.collective != Collective::all_to_all && block_of(t, groups.front()).axes() < 2) {
        Choice by_ring = one.choice;
        by_ring.algorithm = Algorithm::ring;
        outcome.alone = predict(system, operation, by_ring);
      }
      for (std::size_t g = 0; g < groups.size(); ++g) {
        out.flat.push_back({.name = groups.size() > 1 ? one.name + " #" + std::to_string(g) : one.name,
                            .collective = one.operation.collective,
                            .algorithm = outcome.alone.ran.algorithm,
                            .ranks = groups[g],
                            .weight = one.weight});
        out.of.push_back(static_cast<int>(c));
      }
      out.outcomes.push_back(outcome);
    });
  }
  const ConcurrentFlows flows{t, out.flat, options};
  out.contention = flows.contention();
  std::vector<bool> seen(collectives.size(), false);
  std::vector<double> by_routes;  // of every group
  double side_by_side = 0;        // of the groups of one collective
  for (std::size_t f = 0; f < out.flat.size(); ++f) {
    const auto c = static_cast<std::size_t>(out.of[f]);
    GroupedOutcome& outcome = out.outcomes[c];
    const ConcurrentOutcome& shared = out.contention.outcomes[f];
    if (!seen[c]) side_by_side = detail::rate_side_by_side(t, out.flat[f], options.routes.relay_on_rails);
    by_routes.push_back(detail::by_routes(outcome.alone, shared.alone, side_by_side,
                                          t.shape == TierKind::torus && outcome.alone.nodes * system.gpus_per_node <= t.domain));
    const double slow_down = shared.slow_down() * by_routes.back();
    if (!seen[c] || slow_down > outcome.slow_down * (1 + 1e-12)) {
      outcome.slow_down = slow_down;
      outcome.worst = static_cast<int>(f);
    }
    outcome.least_slow_down = seen[c] ? std::min(outcome.least_slow_down, slow_down) : slow_down;
    seen[c] = true;
  }
  for (GroupedOutcome& outcome : out.outcomes) outcome.seconds = contended_time(outcome.alone, std::max(1.0, outcome.slow_down));
  detail::add_ends(out, flows, by_routes);
  return out;
}

}  // namespace fabricost::plan
