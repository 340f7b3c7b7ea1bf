#pragma once
/// Every probe of `fabricost measure`, one row each: its word, its group, its useful sizes, the bytes it
/// moves, and its texts for the page. The plan, the titles, the rows of the file, the rates in the command's
/// table, the readers of points, the simulated machine of the tests and the tables of
/// docs/reference/probes.md are generated from these rows.

#include <fabricost/collective.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace fabricost::core {

/// The quantity that is timed; one row of `probe_table` each, in this order.
enum class ProbeKind : unsigned char {
  memory_copy,
  memory_read,
  memory_write,
  memory_scale,
  local_copy,
  pointer_chase,
  kernel_launch,
  kernel_sync,
  graph_launch,
  graph_node,
  event_record,
  stream_wait,
  host_to_device,
  device_to_host,
  host_both_ways,
  host_read,
  host_write,
  host_load,
  peer_copy,
  peer_read,
  peer_write,
  peer_load,
  peer_store,
  peer_atomic,
  collective,
  compute,
  compute_overlap,
};

/// Probes of one group have the same kind of case: a GPU, a GPU and its host, pairs of GPUs, a communicator.
enum class ProbeGroup : unsigned char { memory, launch, host, peer, collectives, overlap };

/// The words that `--only` accepts besides a probe's word and a collective's name.
inline constexpr std::array<std::string_view, 6> probe_groups{"memory", "launch", "host", "peer", "collectives", "overlap"};
[[nodiscard]] constexpr std::string_view name(ProbeGroup group) { return probe_groups[static_cast<std::size_t>(group)]; }

/// Range of sizes over which a probe is measured.
enum class ProbeSizes : unsigned char {
  none,       ///< it has no size
  memory,     ///< 256 KiB to 4 GiB
  caches,     ///< 16 KiB to sixteen times L2
  transfers,  ///< 4 KiB to 1 GiB, 256 MiB in a quick plan
  calls,      ///< those of the collective
};

struct ProbeType {
  ProbeKind kind;
  std::string_view word;  ///< in the column `operation` of the file
  ProbeGroup group;
  ProbeSizes sizes;
  bool quick = false;         ///< its curve over size is also worth its time in a quick plan
  double traffic = 0;         ///< bytes moved per `bytes`; 0: its rows are only times
  std::string_view mover{};   ///< of a transfer between two ends, whose rows are those of a send_recv; empty: not a transfer
  std::string_view timed{};   ///< docs/reference/probes.md: what is timed,
  std::string_view bytes{};   ///< what `bytes` counts,
  std::string_view remark{};  ///< what is excluded, or good to know
};

inline constexpr std::string_view copy_engine = "copy engine", by_kernel = "kernel";

// clang-format off
inline constexpr auto probe_table = [] {
  using enum ProbeKind;
  using Group = ProbeGroup;
  using Sizes = ProbeSizes;
  return std::to_array<ProbeType>({
      {memory_copy, "memory_copy", Group::memory, Sizes::memory, false, 2, {},
       "loaded and stored elsewhere", "read; as many written", "traffic is twice `bytes`"},
      {memory_read, "memory_read", Group::memory, Sizes::memory, true, 1, {},
       "every 16-byte vector loaded and added up", "read", "loads go past L1, so a set that fits L2 measures L2"},
      {memory_write, "memory_write", Group::memory, Sizes::memory, false, 1, {},
       "words computed from their index and stored", "written"},
      {memory_scale, "memory_scale", Group::memory, Sizes::memory, false, 2, {},
       "floats multiplied in place", "read; as many written", "traffic is twice `bytes`; whole floats only"},
      {local_copy, "local_copy", Group::memory, Sizes::memory, false, 2, {},
       "the runtime's copy from one place to another of the same GPU", "copied", "traffic is twice `bytes`"},
      {pointer_chase, "pointer_chase", Group::memory, Sizes::caches, true, 0, {},
       "one dependent 8-byte load, from a ring of 128-byte lines in random order", "of the ring",
       "one thread; misses of the TLB are part of it in large rings"},
      {kernel_launch, "kernel_launch", Group::launch, Sizes::none, false, 0, {},
       "an empty kernel, launched one after another by the host", {}, "until the next can start"},
      {kernel_sync, "kernel_sync", Group::launch, Sizes::none, false, 0, {},
       "an empty kernel and the host waiting for it"},
      {graph_launch, "graph_launch", Group::launch, Sizes::none, false, 0, {},
       "a graph of one empty kernel", {}, "its upload"},
      {graph_node, "graph_node", Group::launch, Sizes::none, false, 0, {},
       "(129 empty kernels in a graph - 1) / 128", {}, "the launch"},
      {event_record, "event_record", Group::launch, Sizes::none, false, 0, {}, "recording an event with timing"},
      {stream_wait, "stream_wait", Group::launch, Sizes::none, false, 0, {},
       "record on one stream, wait on the other, in turns", {}, "one hop is one repetition"},
      {host_to_device, "host_to_device", Group::host, Sizes::transfers, true, 1, copy_engine,
       "the copy engine, to the GPU", "one way", "pageable memory: what the driver stages through is part of it"},
      {device_to_host, "device_to_host", Group::host, Sizes::transfers, true, 1, copy_engine,
       "the copy engine, from the GPU", "one way", "pageable memory: what the driver stages through is part of it"},
      {host_both_ways, "host_both_ways", Group::host, Sizes::transfers, true, 1, copy_engine,
       "one stream each way (pageable: one thread each)", "each way", "until both are done"},
      {host_read, "host_read", Group::host, Sizes::transfers, false, 1, {},
       "the read kernel, from pinned host memory", "one way", "at once with the other way: until both are done"},
      {host_write, "host_write", Group::host, Sizes::transfers, false, 1, {},
       "the write kernel, to pinned host memory", "one way", "at once with the other way: until both are done"},
      {host_load, "host_load", Group::host, Sizes::none, false, 0, {},
       "one dependent load from pinned host memory, past L1", "of the ring; 1 MiB unless said",
       "over NVLink-C2C the GPU's L2 may answer"},
      {peer_copy, "peer_copy", Group::peer, Sizes::transfers, true, 1, copy_engine,
       "copy engine, from the first of each pair to the second", "of one pair, one way",
       "without peer access the runtime copies through the host, and that is timed"},
      {peer_read, "peer_read", Group::peer, Sizes::transfers, false, 1, by_kernel,
       "the read kernel on the first, from the second's memory", "of one pair, one way", "needs peer access"},
      {peer_write, "peer_write", Group::peer, Sizes::transfers, false, 1, by_kernel,
       "the write kernel on the first, to the second's memory", "of one pair, one way", "needs peer access"},
      {peer_load, "peer_load", Group::peer, Sizes::none, false, 0, {},
       "one dependent load from the second's memory, past L1", "of the ring; 1 MiB unless said",
       "the second's L2 answers"},
      {peer_store, "peer_store", Group::peer, Sizes::none, false, 0, {}, "one store and a fence for the system"},
      {peer_atomic, "peer_atomic", Group::peer, Sizes::none, false, 0, {},
       "one atomic add that returns the old value", {}, "needs native atomics between the two"},
      {collective, "collective", Group::collectives, Sizes::calls, true, 1, {},
       "NCCL's call on every rank, in one group per process", "as nccl-tests counts them",
       "communicators, connections and the first call"},
      {compute, "compute", Group::overlap, Sizes::calls, false, 0, {},
       "fused multiply-adds that alone take as long as the collective alone", "of the collective",
       "no memory traffic"},
      {compute_overlap, "compute_overlap", Group::overlap, Sizes::calls, false, 0, {},
       "both at once, the collective on a stream of high priority", "of the collective", "until both are done"},
  });
}();
// clang-format on

static_assert(
    [] {
      for (std::size_t i = 0; i < probe_table.size(); ++i)
        if (static_cast<std::size_t>(probe_table[i].kind) != i) return false;
      return true;
    }(),
    "rows stand in the order of ProbeKind");

[[nodiscard]] constexpr const ProbeType& type_of(ProbeKind kind) { return probe_table[static_cast<std::size_t>(kind)]; }

/// "memory_read"
[[nodiscard]] constexpr std::string_view word(ProbeKind kind) { return type_of(kind).word; }

/// The probe of that word in any spelling; nullptr: unknown.
[[nodiscard]] inline const ProbeType* probe_named(std::string_view text) {
  const std::string wanted = folded(text);
  const auto* found =
      std::find_if(probe_table.begin(), probe_table.end(), [&](const ProbeType& p) { return folded(p.word) == wanted; });
  return found == probe_table.end() ? nullptr : found;
}

/// Why rows with a probe's own word are not priced. Transfers between two ends do not have it.
[[nodiscard]] constexpr std::string_view why_not_priced(const ProbeType& probe) {
  switch (probe.group) {
    case ProbeGroup::memory: return "probe of one GPU's memory, not of a transfer";
    case ProbeGroup::launch: return "probe of launches, not of a transfer";
    case ProbeGroup::host:
      return probe.mover.empty() ? "loads or stores of host memory by a kernel, not a copy"
                                 : "copy from or to pageable host memory, which goes through a buffer, or of several GPUs at once";
    case ProbeGroup::peer:
      return probe.mover.empty() ? "latency of single loads, stores or atomics, not of a transfer" : "several pairs of GPUs at once";
    case ProbeGroup::collectives: return "a collective nobody named";
    case ProbeGroup::overlap: break;
  }
  return "arithmetic, not a transfer";
}

}  // namespace fabricost::core
