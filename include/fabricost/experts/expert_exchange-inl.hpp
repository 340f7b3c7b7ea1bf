#pragma once
/// Bodies of expert_exchange.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/experts/expert_exchange.hpp>

namespace fabricost::core::detail {

FABRICOST_BODY System with_domains_as_nodes(System system) {
  const double trays = system.nodes_per_domain();
  for (Tier& tier : system.tiers) {
    if (tier.role == TierRole::nic) tier.endpoints = std::max(1, static_cast<int>(std::lround(tier.endpoints * trays)));
    if (tier.role == TierRole::network) tier.endpoints = std::max(1, static_cast<int>(std::lround(tier.endpoints / trays)));
    if (tier.role == TierRole::network) break;  // tiers above count children of the one below
  }
  system.nodes = std::max(1, static_cast<int>(std::lround(system.nodes / trays)));
  system.gpus_per_node = system.domain;
  system.pod = 0;
  return system;
}

FABRICOST_BODY double steps_of(const Line& line) {
  double out = line.latency;
  for (const Part& p : line.base_parts)
    if (p.kind != TermKind::launch) out += p.value();
  return out;
}

/// A bound on a line's price without its norm: norm_q(a, b) <= a + b.
FABRICOST_BODY double no_more_than(const Line& line, double bytes) {
  double out = line.base + line.latency + line.volume(bytes);
  for (const Ramp& r : line.ramps) out += r(bytes);
  return out;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY double ExpertCurve::seconds(double tokens, double scale) const {
  if (!inside_ && !across_) return 0;
  const double position = even_ ? 0 : TokenTable::position(tokens), all = tokens * scale;
  const double inside_size = all * inside_size_ * (even_ ? 1 : inside_imbalance_.at(position));
  if (!across_) return inside_->seconds(inside_size);
  const double out = across_->seconds(all * across_size_ * (even_ ? 1 : across_imbalance_.at(position)));
  if (!inside_) return out;
  if (!streamed_) return inside_->seconds(inside_size) + out;
  // the exact value cannot be larger than the other part
  if (detail::no_more_than(inside_->line(inside_size), inside_size) <= out) return out + fill_;
  return std::max(inside_->seconds(inside_size), out) + fill_;
}

FABRICOST_BODY ExpertTime ExpertCurve::terms(double tokens, double scale) const {
  ExpertTime t;
  const double inside = tokens * scale * inside_imbalance_(tokens), across = tokens * scale * across_imbalance_(tokens);
  t.inside_bytes = inside * inside_bytes_;
  t.across_bytes = across * across_bytes_;
  if (inside_) t.inside = inside_->seconds(inside * inside_size_);
  if (across_) t.across = across_->seconds(across * across_size_);
  t.fill = fill_;
  t.seconds = seconds(tokens, scale);
  return t;
}

FABRICOST_BODY void ExpertCurve::describe_imbalance(const ExpertExchange& x, bool forwarded) {
  const Popularity p = popularity_of(x.gate, x.routing, x.placement.ranks);
  const auto touched = [&](int sets) {
    const std::vector<double> means = touched_each(x.gate, x.routing, p, sets);
    std::vector<double> spread;
    for (const double m : means) spread.push_back(std::max(0.0, 1 - m));
    return Imbalance{classes_of(means, spread), static_cast<double>(x.placement.ranks), 1.0};
  };
  const int e = x.placement.ranks;
  inside_imbalance_ = x.copies == Copies::per_expert ? imbalance_of(x.gate, p, e) : touched(e);
  if (forwarded) across_imbalance_ = touched(x.placement.domains());
}

FABRICOST_BODY ExpertTime expert_exchange(const System& machine, const ExpertExchange& x, double tokens) {
  return ExpertCurve{machine, x}.terms(tokens);
}

}  // namespace fabricost::core
