#pragma once
/// \file kv_cache.hpp
/// The cache of keys and values while serving: bytes per rank, how many sequences a GPU holds, and moving a prompt's cache to another GPU.
///
///   MHA, GQA   2 g d w per token and layer, over tensor ranks until every rank has one head:  g / min(t, g)
///   MLA        (kv_rank + rope) w, on every tensor rank whole (DeepSeek-V2, arXiv 2405.04434); attention data parallelism divides
///              sequences
///   window     no more than the window; mixing layers a state of fixed size
///   transfer   start + bytes / rate; when a layer's cache leaves as soon as it is made, the last layer's share alone is seen
///
/// Rates: over NICs, what prefill and decode workers of one model reach with its cache in scattered blocks: 0.38 ms + bytes / 146 GB/s of
/// 8 x 400 Gbit/s, every published point within 7 % (Mooncake's benchmark of vLLM with prefill and decode apart, 128 to 16,384 tokens).

#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/model/model.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <algorithm>

namespace fabricost {

/// Share of the whole cache that lies on one of `tp` tensor ranks: 1 / min(t, heads that can be told apart).
[[nodiscard]] inline double kv_share(const Model& m, int tp) { return m.latent() ? 1.0 : 1.0 / std::min(tp, std::max(1, m.kv_heads)); }

/// Bytes of one sequence of `context` tokens on one tensor rank, one pipeline stage. \param width bytes of a cached value
[[nodiscard]] inline double kv_bytes_per_rank(const Model& m, double context, double width, int tp = 1, int pp = 1) {
  const Mixer& x = m.mixer;
  const double states = x.layers == 0 ? 0 : kv_bytes(m, 0, width) / tp;
  return ((kv_bytes(m, context, width) - kv_bytes(m, 0, width)) * kv_share(m, tp) + states) / pp;
}

/// What a transfer between workers costs.
struct KvLink {
  double start = 0;  ///< s
  double rate = 0;   ///< bytes/s, of all ranks of the smaller worker together

  /// Seconds until `bytes` have arrived. \param layers above 1: each layer's part leaves when it is made, only the last one is waited for
  [[nodiscard]] double seconds(double bytes, int layers = 1) const { return start + bytes / layers / rate; }
};

/// Measured shares of what links offer; where the figures come from stands above.
struct KvLinkConstants {
  double start = prior::kv_transfer::start;              ///< s, over NICs: looking the blocks up, posting, and telling the other side
  double nic_share = prior::kv_transfer::nic_share;      ///< of the NICs' one-way rate
  double local_start = prior::kv_transfer::local_start;  ///< s, inside a domain: a copy kernel launched on blocks already mapped; assumed
  double local_share = prior::kv_transfer::local_share;  ///< of the scale-up link's one-way rate
};

/// The link between two workers of `ranks` GPUs each (the smaller of the two). \param inside both in one scale-up domain
/// \throws RequestError when the machine has no such link
[[nodiscard]] inline KvLink kv_link(const System& system, int ranks, bool inside, const KvLinkConstants& c = {}) {
  detail::check_parts(system, {});
  if (inside) {
    const Tier* link = system.tier(TierRole::scale_up);
    if (link == nullptr) throw RequestError(system.name + ": has no scale-up links to send a cache over; put the workers on two nodes");
    return {c.local_start, c.local_share * ranks * link->bandwidth.value.value()};
  }
  const Tier* nic = system.tier(TierRole::nic);
  if (nic == nullptr) throw RequestError(system.name + ": has no NICs to send a cache over; prefill and decode need one domain");
  const double each = nics_rate(system) / system.gpus_per_node;
  return {c.start, c.nic_share * each * ranks};
}

}  // namespace fabricost
