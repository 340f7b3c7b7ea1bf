#include <fabricost/plan/kernels/groups.hpp>
#include <fabricost/predict/by_ways.hpp>
#include <fabricost/predict/certainty.hpp>
#include <fabricost/predict/compile.hpp>
#include <fabricost/predict/fabric_of.hpp>

namespace fabricost::plan {

Placement place(int n, int stride, int domain) {
  if (static_cast<long long>(n) * stride <= domain) return {n, 1};
  int local = std::max(1, std::min(n, domain / stride));
  while (n % local != 0) --local;
  return {local, n / local};
}

int domain_for_data(const Layout& l, int domain) {
  if (l.placing == Placing::data_inside || l.pp == 1) return domain;
  const int near = l.tp * l.cp;
  return domain >= near * l.pp ? near * (domain / (near * l.pp)) : std::min(domain, near);
}

bool stages_cross_domains(const Layout& l, int domain) {
  const long long apart = l.placing == Placing::stages_inside ? static_cast<long long>(l.tp) * l.cp * l.pp : l.gpus();
  return apart > domain;
}

const Curve& GroupCosts::curve(Collective collective, Placement place, Path path) {
  const std::uint64_t key = (static_cast<std::uint64_t>(place.local) << 34) | (static_cast<std::uint64_t>(place.domains) << 10) |
                            (static_cast<std::uint64_t>(collective) << 4) | static_cast<std::uint64_t>(path);
  if (key == last_key_) return *last_;
  ask_to_go_on();
  std::unique_ptr<Curve>& at = curves_[key];
  if (!at) {
    // as few nodes as hold the ranks of a domain, in every domain
    const int nodes = place.domains > 1 ? place.domains * nodes_of(Levels{place.local}, system_.gpus_per_node) : 0;
    const Operation op{.collective = collective, .ranks = place.ranks(), .nodes = nodes, .path = path};
    const Levels levels = place.domains > 1 ? Levels{place.local, place.domains} : Levels{place.local};
    Fabric fabric = fabric_on(system_, op, levels);
    if (place.domains > 1) {
      fabric.outer_rate = std::min(fabric.outer_rate, domain_rate() * place.local / system_.domain);
      bound_by_host_memory(fabric, system_, static_cast<double>(place.local) / system_.gpus_per_node);
    }
    at = std::make_unique<Curve>(compiled(fabric, op));
  }
  last_key_ = key;
  last_ = at.get();
  return *at;
}

const ExpertCurve& GroupCosts::experts(const Gate& gate, const ExpertPlacement& at, Copies copies, double bytes_per_token,
                                       const Routing& routing) {
  const ExpertKey key{gate.experts,    gate.top_k,   gate.groups,     gate.group_limit, at.ranks, at.per_domain, static_cast<int>(copies),
                      bytes_per_token, routing.kind, routing.exponent};
  if (key == last_expert_key_) return *last_expert_;
  std::unique_ptr<ExpertCurve>& curve = experts_[key];
  if (!curve)
    curve = std::make_unique<ExpertCurve>(
        system_, ExpertExchange{.gate = gate, .routing = routing, .placement = at, .copies = copies, .bytes_per_token = bytes_per_token});
  last_expert_key_ = key;
  last_expert_ = curve.get();
  return *curve;
}

const Imbalance& GroupCosts::load(const Gate& gate, const Routing& routing, int ranks) {
  const ExpertKey key{gate.experts, gate.top_k, gate.groups, gate.group_limit, ranks, 0, 0, 0, routing.kind, routing.exponent};
  std::unique_ptr<Imbalance>& at = loads_[key];
  if (!at) at = std::make_unique<Imbalance>(imbalance_of(gate, popularity_of(gate, routing, ranks), ranks));
  return *at;
}

LinkTime GroupCosts::min(Collective collective, Placement place, double bytes) {
  if (place.ranks() < 2 || bytes <= 0) return {};
  const double least = curve(collective, place).min_seconds(bytes);
  return place.domains > 1 ? LinkTime{0, least} : LinkTime{least, 0};
}

double GroupCosts::half_width(Collective collective, Placement place, double bytes, Path path) {
  const Curve& at = curve(collective, place, path);
  return certainty_of(system_.constants, at.fabric(), collective, at.ran_at(bytes), at.line(bytes), bytes).half_width;
}

LinkTime GroupCosts::min_send(bool across, double bytes) {
  const double least = message(across).min_seconds(bytes * crowd(across));
  return across ? LinkTime{0, least} : LinkTime{least, 0};
}

Curve GroupCosts::compiled(const Fabric& fabric, const Operation& op) const {
  if (!choice_.ways.any()) return compile_on(fabric, system_, op, choice_);
  Choice choice = choice_;
  choice.ways.symmetric = choice.ways.symmetric && why_no_windows(fabric, op, choice) == nullptr;
  return compile_by_ways(fabric, system_, op, choice, [&](const Fabric& on) { return compile_on(on, system_, op, choice); });
}

}  // namespace fabricost::plan
