#pragma once
/// The cache of keys and values in serving: bytes per rank, sequences per GPU, and the transfer of a prompt's
/// cache to another GPU.
///
///   MHA, GQA   2 g d w per token and layer, divided over tensor ranks up to one head per rank:  g / min(t, g)
///   MLA        (kv_rank + rope) w, complete on every tensor rank (DeepSeek-V2, arXiv 2405.04434); attention data
///              parallelism divides sequences
///   window     at most the window; mixing layers have a state of fixed size
///   transfer   start + bytes / rate; where each layer's cache is sent as soon as it is computed, only the last layer's part is exposed
///
/// Rate over NICs, between prefill and decode workers with the cache in scattered blocks: 0.38 ms + bytes /
/// 146 GB/s on 8 x 400 Gbit/s, within 7 % of every published point (Mooncake's benchmark of vLLM with
/// disaggregated prefill, 128 to 16,384 tokens).

#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/model/model.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <algorithm>

namespace fabricost::plan {

/// Fraction of the cache on one of `tp` tensor ranks: 1 / min(t, KV heads).
[[nodiscard]] inline double kv_share(const Model& m, int tp) { return m.latent() ? 1.0 : 1.0 / std::min(tp, std::max(1, m.kv_heads)); }

/// Bytes of one sequence of `context` tokens on one tensor rank, one pipeline stage. \param width bytes of a cached value
[[nodiscard]] double kv_bytes_per_rank(const Model& m, double context, double width, int tp = 1, int pp = 1);

/// The cost of a transfer between workers.
struct KvLink {
  double start = 0;  ///< s
  double rate = 0;   ///< bytes/s of all GPUs that hold a sequence's cache, on the side where they are fewer

  /// Seconds from the end of a prompt until its `bytes` have arrived. \param layers above 1: each layer's part is sent when computed, and
  /// only the last, or what the link has not sent yet, is waited for \param read s in which the prompt is read
  [[nodiscard]] double seconds(double bytes, int layers = 1, double read = 0) const {
    return start + std::max(bytes / layers / rate, bytes / rate - (layers - 1) * read / layers);
  }
};

/// A prompt's cache on its way to a decode worker.
struct KvTransfer {
  double waited = 0;  ///< s from the end of the prompt until it has arrived
  double taken = 0;   ///< s for which it takes its link
};

/// Measured fractions of the links' rates; sources: see above.
struct KvLinkConstants {
  double start = prior::kv_transfer::start;              ///< s, over NICs: looking up the blocks, posting, notifying the other side
  double nic_share = prior::kv_transfer::nic_share;      ///< of the NICs' one-way rate
  double local_start = prior::kv_transfer::local_start;  ///< s, inside a domain: launch of a copy kernel on mapped blocks; assumed
  double local_share = prior::kv_transfer::local_share;  ///< of the scale-up link's one-way rate
};

/// The link between two workers that keep a sequence's cache on `ranks` GPUs each (the fewer of the two).
/// \param inside both in one scale-up domain
/// \throws RequestError when the machine has no such link
[[nodiscard]] KvLink kv_link(const System& system, int ranks, bool inside, const KvLinkConstants& c = {});
/// The link from `senders` GPUs of one machine to `takers` of another, by both machines' NICs.
[[nodiscard]] KvLink kv_link(const System& from, int senders, const System& to, int takers);

}  // namespace fabricost::plan
