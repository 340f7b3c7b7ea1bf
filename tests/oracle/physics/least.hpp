#pragma once
/// The physical minimum time of an operation, computed independently of the model: bytes that must cross,
/// over the rates in a machine's file, without constants, latencies, algorithms or choices.
///
///   inside     bytes that a rank must send or receive for its part of the result, at least (n-1)/n S (twice that for all-reduce
///              without switches that add; S for broadcast and reduce), over its links into the domain and its share of the NICs
///   across     bytes that must leave or enter a domain of g ranks of n, over the NICs of that domain; for all-reduce without
///              switches that add 2 (d-1)/d S on d domains, for an exchange g (n-g)/n S
///
/// Bounds are deliberately low where machines differ (several NICs for one rank, links used both ways): a
/// model below them is wrong on any machine.

#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/model/model.hpp>
#include <fabricost/operation.hpp>

#include <algorithm>
#include <cmath>

namespace physics {

/// Bytes per second, one direction.
struct Rates {
  double links = 0;                        ///< of one GPU into its scale-up domain
  double nics = 0;                         ///< of all NICs of one domain; 0: none
  bool adds = false, adds_across = false;  ///< switches inside a domain, or between them, add or copy
};

/// GPUs that a domain's own links join: of a pod, as many as a job may get as one slice.
inline int joined_by(const fabricost::core::System& system) { return std::max(system.domain, system.pod); }

inline Rates rates_of(const fabricost::core::System& system) {
  Rates out;
  if (const auto* up = system.tier(fabricost::core::TierRole::scale_up)) {
    out.links = up->bandwidth.value.value();
    out.adds = up->reduces_in_network || up->multicasts;
  }
  if (const auto* nic = system.tier(fabricost::core::TierRole::nic)) {
    const double nodes = static_cast<double>(joined_by(system)) / system.gpus_per_node;
    out.nics = nic->bandwidth.value.value() * nic->endpoints * std::max(1.0, nodes);
    out.adds_across = nic->sharp;
  }
  return out;
}

/// \param ranks, nodes as counted by the prediction
inline double min_seconds(const fabricost::core::System& system, const fabricost::core::Operation& op, int ranks, int nodes) {
  using fabricost::core::Collective;
  const Rates rate = rates_of(system);
  const double bytes = op.bytes.value(), n = ranks;
  if (bytes <= 0 || ranks < 2) return 0;
  if (fabricost::core::is_host_path(op.path)) {
    const auto* host = fabricost::core::host_tier(system);
    return host == nullptr ? 0 : bytes / host->bandwidth.value.value();
  }
  const int joined = joined_by(system), nodes_of_domain = std::max(1, joined / system.gpus_per_node);
  const double d = std::max(std::ceil(n / joined), std::floor(static_cast<double>(nodes) / nodes_of_domain));
  const double g = std::min<double>(joined, n / std::max(1.0, d));  // ranks of a domain
  const bool across = ranks > joined || nodes > nodes_of_domain || op.path == fabricost::core::Path::nic;
  if (op.collective == Collective::send_recv) return bytes / std::max(rate.links + rate.nics, 1.0);
  const double one = rate.links + (across ? rate.nics : 0);
  double inside = bytes * (n - 1) / n;
  if (op.collective == Collective::all_reduce && !rate.adds && !rate.adds_across) inside *= 2;
  double out = one > 0 ? inside / one : 0;
  if (across && rate.nics > 0) {
    const double through = op.collective == Collective::all_to_all   ? g * bytes * (n - g) / n
                           : op.collective == Collective::all_reduce ? (rate.adds_across ? 1 : 2) * bytes * (d - 1) / d
                                                                     : bytes * (d - 1) / d;
    out = std::max(out, through / rate.nics);
  }
  return out;
}

/// Bytes of tokens that must leave a rank: with uniform or forced choices at least one copy of all but the
/// n-th part that stays, at least one byte per value (four bits: half).
inline double min_exchange(const fabricost::core::System& system, double tokens, double hidden, int ranks) {
  const Rates rate = rates_of(system);
  const double one = rate.links + rate.nics;
  return one > 0 && ranks > 1 ? tokens * hidden / 2 * (1 - 1.0 / ranks) / one : 0;
}

/// Floating-point operations of one training sequence that no kernel can avoid: three passes of two per
/// parameter a token is multiplied with, counted from the shape's matrices alone, and for dense attention the
/// scores of earlier tokens (half of all).
inline double min_training_flops(const fabricost::plan::Model& m, double tokens, double context) {
  double per_token = 0;
  const double h = m.hidden;
  const double attention = m.latent() ? 0 : h * m.head_dim * (2.0 * m.heads + 2.0 * m.kv_heads) * (m.shared_kv ? 0.7 : 1);
  per_token += attention * (m.layers - m.window_layers);
  per_token += m.dense_layers() * h * m.ffn * m.ffn_matrices();
  per_token += m.expert_layers() * (m.expert_hidden > 0 ? m.expert_hidden : h) * m.expert_ffn * m.ffn_matrices() * m.top_k;
  const bool dense = !m.latent() && m.index_heads == 0;
  if (dense) per_token += 0.5 * context * m.full_layers() * m.heads * (m.head_dim + m.value_head_dim());
  return 6 * per_token * tokens;
}

}  // namespace physics
