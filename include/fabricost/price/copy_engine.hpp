#pragma once
/// Collectives by copy engines (NCCL from 2.28, NCCL_CTA_POLICY_ZERO, buffers in symmetric windows, one NVLink domain): the stream copies
/// every rank's part to its peers and waits for theirs, so that no thread block works for it. S bytes over n ranks:
///
///   copies       F + h n + (n-1)/n S / (.87 B)      all_to_all; all_gather
///   multicast    G + k n +         S / (.87 B)      all_gather where the switches multicast: one copy for all peers
///
/// F and h hold the batch of copies, the barriers before and after, and, in a CUDA graph, the resetting of their flags, a memory operation
/// for each peer: four times NCCL's kernel for small messages. NCCL takes the smaller of its own estimates of the two; form and numbers are
/// that estimate (NVIDIA/nccl, src/tuning/ce_model.cc), GPUs before Blackwell as Hopper. No public run shows them beside a kernel. That
/// all_to_all starts as all_gather's copies do, as many of them, is assumed. Drivers before CUDA 13.4 slow down multicast on x86.

#include <fabricost/hardware/kinds.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/protocol.hpp>
#include <fabricost/shipped_numbers.hpp>

namespace fabricost::core {

/// Time of an empty message: `start`, and `rank` for each rank.
struct CopyStart {
  double start = 0, rank = 0;
};
/// \param captured in a CUDA graph
[[nodiscard]] constexpr CopyStart copy_start(Generation generation, bool multicast, bool captured) {
  namespace k = prior::ways;
  constexpr CopyStart starts[2][2][2]{  // of generations, ways, launches
      {{{k::ce_copy, k::ce_copy_rank}, {k::ce_copy_graph, k::ce_copy_graph_rank}},
       {{k::ce_cast, k::ce_cast_rank}, {k::ce_cast_graph, k::ce_cast_graph_rank}}},
      {{{k::ce_new_copy, k::ce_new_copy_rank}, {k::ce_new_copy_graph, k::ce_new_copy_graph_rank}},
       {{k::ce_new_cast, k::ce_new_cast_rank}, {k::ce_new_cast_graph, k::ce_new_cast_graph_rank}}}};
  return starts[generation >= Generation::blackwell ? 1 : 0][multicast ? 1 : 0][captured ? 1 : 0];
}

[[nodiscard]] inline Line price_copy_engine(const Fabric& f, bool multicast, bool captured) {
  const double n = f.ranks(), others = (n - 1) / n;
  const CopyStart own = copy_start(f.generation, multicast, captured);
  Line line;
  line.add_base_part(TermKind::launch, 0, 1, own.start);
  line.add_base_part(TermKind::peers, 0, n, own.rank);
  line.add_rate_part(TermKind::wire, 0, multicast ? 1 : others, 1 / (prior::ways::ce_share * f.full_rate));
  line.min = others / f.full_rate;
  return line;
}

}  // namespace fabricost::core
