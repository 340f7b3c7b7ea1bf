/// All-to-all traffic counted by groups: with m of n ranks below a link, m (n - m) messages each way.

#include <fabricost/plan/network/traffic.hpp>

namespace fabricost::plan {

/// Every pair of ranks exchanges `each` bytes in both directions.
void TrafficCounter::exchange(std::span<const int> ranks, double each) {
  const Domains domains = by_domain(ranks);
  const auto sink = add(each);
  for (const Group& d : domains.members) {
    const double others = static_cast<double>(d.size()) - 1;
    if (t_.trunk_up >= 0) {
      std::map<int, double> below;
      for (const int gpu : d) ++below[t_.stage_of(gpu)];
      for (const auto& [stage, m] : below) {
        const double crossing = m * (static_cast<double>(d.size()) - m);
        if (crossing <= 0) continue;
        sink(t_.link(t_.trunk_up, stage), crossing);
        sink(t_.link(t_.trunk_down, stage), crossing);
      }
    }
    for (const int gpu : d) {
      if (others < 1) continue;
      if (t_.gpu_out >= 0) {
        sink(t_.link(t_.gpu_out, gpu), others);
        sink(t_.link(t_.gpu_in, gpu), others);
      } else {
        for (const int to : d)
          if (to != gpu) for_route(t_, gpu, to, 1, options_, sink);
      }
    }
  }
  if (domains.members.size() > 1) exchange_across(ranks, domains, each);
}

/// The part between domains up to the NICs: per rank, how many messages leave by which GPU.
void TrafficCounter::exchange_across(std::span<const int> ranks, const Domains& domains, double each) {
  if (t_.nic_out < 0) throw RequestError(t_.name + ": no NIC tier to leave a domain by");
  const auto sink = add(each);
  const auto n = static_cast<double>(ranks.size());
  const bool relayed = t_.railed && options_.relay_on_rails && t_.joined;
  const auto places = static_cast<std::size_t>(t_.gpus_per_node);
  std::vector<double> all(places, 0), here(places, 0);
  for (const int gpu : ranks) ++all[static_cast<std::size_t>(gpu % t_.gpus_per_node)];
  for (const Group& d : domains.members) {
    std::fill(here.begin(), here.end(), 0);
    for (const int gpu : d) ++here[static_cast<std::size_t>(gpu % t_.gpus_per_node)];
    const double outside = n - static_cast<double>(d.size());
    for (const int gpu : d) {
      detail::nic_leg(t_, gpu, false, outside, sink);
      if (!relayed) {
        detail::nic_leg(t_, gpu, true, outside, sink);
        continue;
      }
      for (std::size_t place = 0; place < places; ++place) {
        const double messages = all[place] - here[place];
        if (messages <= 0) continue;
        const int peer = t_.node_of(gpu) * t_.gpus_per_node + static_cast<int>(place);
        const int exit = detail::rail_of(t_, peer) == detail::rail_of(t_, gpu) ? gpu : peer;
        if (exit != gpu) detail::inside(t_, gpu, exit, messages, sink);
        detail::nic_leg(t_, exit, true, messages, sink);
      }
    }
  }
  exchange_above(ranks, each, relayed);
}

/// The part above the NICs: with m ranks below one child of a tier, m (n - m) messages leave it.
void TrafficCounter::exchange_above(std::span<const int> ranks, double each, bool relayed) {
  const auto sink = add(each);
  const auto n = static_cast<double>(ranks.size());
  const auto places = static_cast<std::size_t>(t_.gpus_per_node);
  const int domain_nodes = std::max(1, t_.domain / t_.gpus_per_node);
  std::vector<double> all(places, 0);
  for (const int gpu : ranks) ++all[static_cast<std::size_t>(gpu % t_.gpus_per_node)];
  for (const NetworkLevel& level : t_.levels) {
    if (level.up < 0) continue;
    const int wide = std::max(level.span, domain_nodes);  // traffic inside a domain that spans several children stays on its own wires
    std::map<int, std::vector<double>> child, group;
    for (const int gpu : ranks) {
      const auto place = static_cast<std::size_t>(gpu % t_.gpus_per_node);
      for (auto* of : {&child, &group}) {
        std::vector<double>& counts = (*of)[t_.node_of(gpu) / (of == &child ? level.span : wide)];
        counts.resize(places, 0);
        ++counts[place];
      }
    }
    const auto sum = [](const std::vector<double>& v) {
      double out = 0;
      for (const double x : v) out += x;
      return out;
    };
    for (const auto& entry : child) {  // no structured binding: a lambda below reads it, which C++20 compilers disagree on
      const int c = entry.first;
      const std::vector<double>& counts = entry.second;
      const std::vector<double>& near = group[static_cast<int>(static_cast<long long>(c) * level.span / wide)];
      const double m = sum(counts), far = n - sum(near);
      if (far <= 0) continue;
      if (level.pairs >= 0)  // with adaptive routes these are no loads: count() keeps them apart
        for (const auto& [other, theirs] : child)
          if (other != c) sink(t_.link(level.pairs, c * level.children + other), m * sum(theirs));
      if (level.pairs >= 0 && !options_.adaptive) continue;
      if (level.lanes == 1) {
        sink(t_.link(level.up, c), m * far);
        sink(t_.link(level.down, c), m * far);
        continue;
      }
      for (std::size_t place = 0; place < places; ++place) {
        const double leaving = relayed ? m * (all[place] - near[place]) : counts[place] * far;
        const double entering = counts[place] * far;
        detail::for_nics(t_, static_cast<int>(place), [&](int nic, double share) {
          if (leaving > 0) sink(t_.link(level.up, c * level.lanes + nic), leaving * share);
          if (entering > 0) sink(t_.link(level.down, c * level.lanes + nic), entering * share);
        });
      }
    }
  }
}

}  // namespace fabricost::plan
