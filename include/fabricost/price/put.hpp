#pragma once
/// A one-sided message of S bytes from one GPU's memory into another's, through the NICs of the sending GPU at W one way:
///
///   by the GPU     P + S / (.97 W)                                     GPU-initiated networking, IBGDA
///   by the proxy   P + m p + S / (.97 W) + .85 min(S, 64 MiB) / W      m messages posted by a thread of the processor, IBRC
///
/// P until the other GPU sees a counter move; 5.5 us less until the message has left. A signal is a message of its own: m = 2. Measured
/// between GB200s over one NIC of 400 Gbit/s (data/priors/ways.yaml); a send_recv of NCCL is priced in internode.hpp.

#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <algorithm>

namespace fabricost::core {

/// \param by_gpu posted by the GPU itself \param messages that are posted \param seen the receiver's side is waited for
[[nodiscard]] inline Line price_put(const Fabric& f, bool by_gpu, double messages, bool seen) {
  namespace k = prior::ways;
  const double rate = f.outer_rate / std::max(1.0, f.local());
  Line line;
  line.wire_level = 1;
  line.add_base_part(TermKind::launch, 1, 1, k::put_start - (seen ? 0 : k::put_local));
  if (!by_gpu) {
    line.add_base_part(TermKind::steps, 1, messages, k::put_post);
    line.early_rate = k::proxy_extra / rate;
    line.early = k::proxy_until;
  }
  line.add_rate_part(TermKind::wire, 1, 1, 1 / (k::put_share * rate));
  line.min = 1 / rate;
  return line;
}

}  // namespace fabricost::core
