#pragma once
/// \file exchange.hpp
/// NCCL's all-to-all inside one NVLink-like domain: point-to-point sends, LL up to 16 KiB per peer, Simple above.
///
///   LL      ca + ha (log2 n - 1) + max( ma V / 16 KiB , 2 (n-1) V / BS )     V = S/n; only used up to 16 KiB
///   Simple  ca + ha (log2 n - 1) + norm_qS( fS + mS min(1, V/64 KiB) , [(n-1+xS) V + yS (n-1) min(V, 16 MiB / n)] / BS )
///
/// Before NCCL 2.19 (hardware/tuner.hpp): ca is longer, every channel that a peer's messages use takes a time of its own, and there are no
/// local copies. A send_recv is the same with one peer, which gets all of S, and no part of its own. Fitted together with
/// ring.hpp, on the same 8 A100, H100 and B200 (NCCL 2.23 to 2.29): 378 of the 1,512 points are all-to-alls.

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/protocol.hpp>
#include <fabricost/price/ring.hpp>

namespace fabricost {

/// Bytes per peer up to which the library uses LL.
[[nodiscard]] inline double exchange_ll_limit(const Fabric& fabric) { return tables_of(fabric.tuner).exchange_ll_limit; }

[[nodiscard]] inline Line price_exchange(const Schedule& schedule, const Fabric& fabric, const ScaleUpConstants& c, Protocol protocol) {
  const auto& x = c.all_to_all;
  const double n = std::max(2.0, fabric.local());
  const double bytes = schedule.bytes(0);
  const double message = schedule.begin()->message;
  const double peers = bytes / message;
  const bool alone = schedule.collective == Collective::send_recv;
  const TunerTables& version = tables_of(fabric.tuner);
  Line line;
  line.base_part(TermKind::launch, 0, version.exchange_base_share, with_latency(x.base, fabric.inner_latency));
  // doublings of ranks beyond a pair; a slower or faster tier affects each of them, including the pair
  line.base_part(TermKind::steps, 0, std::log2(n) - 1, with_latency(x.hop, fabric.inner_latency));
  if (protocol == Protocol::ll) {
    // half of what LL stores is flags: at most half of the Simple rate, which limits beyond some 28 peers
    const double limit = exchange_ll_limit(fabric);
    const double at_limit = std::max(x.ll_ramp, 2 * peers * limit / (x.rate_share * fabric.inner_rate));
    line.ramp({.shape = Ramp::Shape::unbounded, .amplitude = at_limit, .per_byte = message / limit});
    return line;
  }
  const double rate = x.rate_share * fabric.inner_rate * (alone ? 1 : fabric.inner_exchanges);
  line.latency_part(TermKind::floor, 0, 1, x.floor);
  line.ramp({.shape = Ramp::Shape::linear, .inside = true, .amplitude = x.ramp, .per_byte = message / c.form.exchange_ramp_size});
  line.ramp({.shape = Ramp::Shape::linear,
             .inside = true,
             .amplitude = version.exchange_channels * version.exchange_channel_start,
             .per_byte = message / (version.exchange_channels * version.exchange_channel_size)});
  line.overlap = std::max(x.overlap, version.exchange_overlap);
  line.rate_part(TermKind::wire, 0, bytes, 1 / rate);
  if (!alone) line.rate_part(TermKind::copy, 0, version.local_copies * x.self_copy * message, 1 / rate);
  line.early_rate = version.local_copies * x.cold_copy * peers * message / rate;
  line.early = c.form.exchange_cold_size / (n * message);
  return line;
}

}  // namespace fabricost
