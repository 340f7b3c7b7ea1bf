#pragma once
/// NCCL's choice: its own time model, evaluated as in its tuner, selects the pair. The model only selects;
/// prices come from elsewhere. Form: NVIDIA/nccl graph/tuning.cc and topo.h; numbers: a version's tables
/// (hardware/tuner.hpp). Corrections measured on public runs:
///
///   one domain  in-switch reduction has as many channels as ranks, at most 32; so it loses to rings below 5 ranks of Hopper, 7 of
///               Blackwell (H200: measured from 5 ranks on; B200, with Amazon's tuner: from 6); in-switch all_gather and
///               reduce_scatter of 9 to 32 ranks run at the full rate of their channels, without the efficiency that the tuner gives
///               all_reduce; over PCIe, GPUs that write to each other have one channel for a peer
///   many nodes  on 2 nodes a tree's bus runs at the speed inside the node, the ring's at the NICs'; no LL128 over a host bridge,
///               transports that say so, nor (assumed) on Pascal; ring Simple without the tuner's latency factor 1.4, the tree bus
///               times 0.92 from 3 nodes on; LL's limit by CPU: Arm as Intel; channels counted by devices, as price/internode.hpp does
///
///   t = latency + S / bandwidth,  bus bandwidth = channels x speed by protocol and algorithm, to algorithm bandwidth by n / steps
///   (ring, in-switch) or 0.5
///
/// RCCL inside one node does not follow that model: it changes at fixed sizes (ScaleUpForm::rccl_*), all_reduce of 8 GPUs of a full mesh
/// to two steps in which each sends to all.

#include <fabricost/algorithms/schedule.hpp>
#include <fabricost/choice/candidates.hpp>
#include <fabricost/price/channels.hpp>
#include <fabricost/price/exchange.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace fabricost::core {

namespace detail {

/// floor(log2(S / 64)), from 0 to 23, read from the exponent: bytes are never subnormal.
[[nodiscard]] inline std::size_t octave_of(double bytes) {
  if (bytes < 64) return 0;
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(bytes) >> 52) - 1023;
  return static_cast<std::size_t>(std::min(23, exponent - 6));
}
[[nodiscard]] inline double correction_at(const double* correction, double bytes) {
  return correction == nullptr ? 1 : correction[octave_of(bytes)];
}
/// floor(log2(n)) of a whole number from 1 on.
[[nodiscard]] inline int whole_doublings(double n) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))) - 1; }

}  // namespace detail

/// One row of the tuner's model.
struct TunerRow {
  Candidate candidate;
  double latency = 0;                  ///< seconds
  double per_byte = 0;                 ///< seconds
  const double* correction = nullptr;  ///< of the bandwidth, by octave; null: none
};

/// The tuner's table for one (collective, fabric): small, filled once, evaluated at any size.
struct TunerTable {
  static constexpr int capacity = 12;
  FixedList<TunerRow, capacity> rows;
  double exchange_limit = 0;  ///< bytes per peer up to which point-to-point sends use LL; 0: not point to point
  double peers = 1;

  [[nodiscard]] Candidate pick(double bytes) const;
  /// The tuner's estimate for a row, in seconds.
  [[nodiscard]] double believed(const TunerRow& row, double bytes) const;
  /// The part of it spent on bytes; `octave` is that of the bytes.
  [[nodiscard]] static double believed_volume(const TunerRow& row, double bytes, std::size_t octave) {
    const double volume = bytes * row.per_byte;
    return row.correction == nullptr ? volume : volume / row.correction[octave];
  }
  void add(Candidate c, double latency, double algorithm_rate, const double* correction = nullptr) {
    if (algorithm_rate > 0) rows.add({c, latency, 1 / algorithm_rate, correction});
  }
};

namespace detail {

/// The tuner's choice at one size; rows are compared as they are created.
struct TunerPick {
  double bytes = 0;
  std::size_t octave = octave_of(bytes);
  bool any = false;
  Candidate best{};
  double min = 0;
  double exchange_limit = 0;
  double peers = 1;

  void add(Candidate c, double latency, double algorithm_rate, const double* correction = nullptr) {
    if (!(algorithm_rate > 0)) return;
    const TunerRow row{c, latency, 1 / algorithm_rate, correction};
    const double t = row.latency + TunerTable::believed_volume(row, bytes, octave);
    if (any && !(t < min)) return;
    any = true;
    min = t;
    best = c;
  }
};

/// Rows whose lower envelope changes at given sizes: each next line is half as steep and meets the last there.
template <class Table>
struct SizeRows {
  Table& table;
  double latency = 0, per_byte = 1;
  void add(Candidate c) { table.add(c, latency, 1 / per_byte); }
  void from(double bytes, Candidate c) {
    per_byte /= 2;
    latency += bytes * per_byte;
    add(c);
  }
};

template <class Table>
void make_rccl_rows(Table& table, Collective op, const Fabric& f) {
  SizeRows<Table> rows{table};
  rows.add({Algorithm::ring, Protocol::ll});
  if (changes_to_two_shot(op, f)) {
    rows.from(f.ring_until, {Algorithm::two_shot, Protocol::ll});
    rows.from(f.ll_until, {Algorithm::ring, Protocol::ll128});
    rows.from(f.ll128_until, {Algorithm::ring, Protocol::simple});
  } else {
    rows.from(f.ll_until, {Algorithm::ring, Protocol::simple});
  }
}

/// \param table a TunerTable or a TunerPick
template <class Table>
void make_tuner_rows(Table& table, Collective op, const Fabric& f, bool byte_wide) {
  const double n = f.ranks(), N = f.domains(), g = f.local();
  if (f.library == Library::oneccl) {  // one kernel at all sizes: its measured curves have no step
    table.add({is_exchange(op) ? Algorithm::direct : Algorithm::ring, Protocol::simple}, 0, 1);
    return;
  }
  const TunerTables& k = tables_of(f.tuner);
  if (is_exchange(op)) {
    table.peers = op == Collective::send_recv ? 1 : n;
    const bool staged = f.over_pcie && N <= 1 && !f.peer_to_peer;
    table.exchange_limit = staged ? k.exchange_ll_limit_pcie[n <= 2 ? 0 : 1] : k.exchange_ll_limit;
    return;
  }
  if (changes_by_size(f)) return make_rccl_rows(table, op, f);
  const double doublings = N > 1 ? detail::whole_doublings(N) : 0;  // whole: NCCL's log2i
  const std::size_t gen = tuner_generation(f.generation);
  const std::size_t column = N <= 1 ? 0 : N <= 2 ? 1 : 2;
  const std::size_t amd = f.cpu == Cpu::amd ? 1 : 0;
  const bool all_reduce = op == Collective::all_reduce;
  const bool rooted = is_rooted(op);
  const double steps = all_reduce ? 2 * (n - 1) : rooted ? n : n - 1;
  const double ratio = n / steps;
  const Channels& inside = f.channels;
  const double devices = std::max(1.0, std::min(f.nics, g));  // as in price/internode.hpp
  const double in_turn = N > 1 ? (devices > 1 ? 1 : 0) : k.rooted_steps;  // rings that leave by several devices differ in their order
  const double waits = rooted ? 1 + in_turn * (steps - 1) : steps;        // steps that its latency counts
  const double ll_share = k.ll_share[N > 1 || all_reduce || op == Collective::reduce ? 1 : 0];
  const double count = N > 1 ? network_channels(devices, f.generation, k) : inside.count;
  const double network = k.network_share * f.outer_rate * std::min(1.0, devices_with_channels(f.generation, k) / devices);
  const double ring_bus = N > 1 ? (g > 1 ? std::min(inside.total(), network) : network) : inside.total();
  const double tree_bus = N > 2 || g <= 1 ? k.tree_share * ring_bus : (N > 1 ? 1 : k.tree_share) * inside.total();
  const double post = k.network_post[amd];
  const bool ll128 = has_ll128(f);
  const double ll_limit = N <= 1 ? k.ll_limit_one_domain[gen] : k.ll_limit[amd][column - 1];

  const auto& ring_inner = f.over_pcie ? k.ring_pcie : k.ring_nvlink;
  const auto& ring_outer = g <= 1 ? k.tree_network : k.ring_network;
  const double crossing = N <= 1 ? 0 : rooted ? waits : all_reduce ? 2 * (N - 1) : N - 1;
  for (std::size_t p = 0; p < 3; ++p) {
    if (p == 1 && !ll128) continue;
    const double bus = p == 0   ? std::min(ll_limit, ll_share * ring_bus)
                       : p == 1 ? std::min(k.ring_ll128_share * ring_bus, count * k.ring_ll128[gen])
                                : ring_bus;
    double hop = ring_inner[p];
    if (N > 1) hop = std::max(hop, p == 2 ? k.simple_posts * post : post);
    const double outer = p == 2 && crossing > 1 && rooted ? k.tree_network[p] : ring_outer[p];  // a chunk fills the ring rank by rank
    table.add({Algorithm::ring, static_cast<Protocol>(p)}, k.ring_base[p] + (waits - crossing) * hop + crossing * outer,
              bus * ratio);
  }
  if (all_reduce) {
    const auto& tree_inner = f.over_pcie ? k.tree_pcie : k.tree_nvlink;
    for (std::size_t p = 0; p < 3; ++p) {
      if (p == 1 && !ll128) continue;
      double bus = std::min(k.tree_share * tree_bus, count * k.tree[gen][column]);
      if (p == 0) bus = std::min(bus / k.tree_ll, ll_limit);
      if (p == 1) bus = std::min(bus * k.tree_ll128_share[N <= 1 ? 0 : 1], count * k.tree_ll128[gen][column]);
      table.add({Algorithm::tree, static_cast<Protocol>(p)}, k.tree_base[p] + 2 * ((g - 1) * tree_inner[p] + doublings * k.tree_network[p]),
                bus * 0.5, k.tree_correction[p]);
    }
  }
  const bool gather_or_scatter = gathers_or_scatters(op);
  const bool in_switch = f.in_switch && !byte_wide && !lacks(f, nccl_from(N <= 1 ? Algorithm::nvls : Algorithm::nvls_tree));
  if (gather_or_scatter && in_switch && g > server_ranks && g <= k.nvls_heads && N <= 1) {
    const Channels nvls = in_switch_channels(f.planned_per_gpu, static_cast<int>(g), f.generation, k);
    table.add({Algorithm::nvls, Protocol::simple}, k.nvls_base,
              nvls.total() * k.nvls_gather_efficiency[gen] * (g - 1) / g * (g - 1) / g * ratio);
  }
  if (all_reduce && in_switch && (g >= 8 || N <= 1)) {
    const int opened = N <= 1 ? static_cast<int>(std::min(g, k.nvls_heads)) : heads_between(static_cast<int>(g), f.generation, k);
    const Channels nvls = in_switch_channels(f.planned_per_gpu, opened, f.generation, k);
    const double heads = nvls.count;
    const double inner = nvls.rate * k.nvls_efficiency[gen] * (heads - 1) / heads * 2;
    if (N <= 1) {
      table.add({Algorithm::nvls, Protocol::simple}, k.nvls_base, inner * heads * ratio);
    } else {
      const double nic = network / heads * (N <= 2 ? 2 : 1);
      const bool corrected = gen >= 3 && (f.cpu == Cpu::intel || f.cpu == Cpu::amd);
      table.add({Algorithm::nvls_tree, Protocol::simple}, k.nvls_base + 2 * doublings * k.nvls_tree_network,
                std::min({inner, nic, k.nvls_tree[gen][column]}) * heads * ratio, corrected ? k.tree_correction[2] : nullptr);
    }
  }
  if (f.sharp && N > 1 && all_reduce) {
    const double fan = g / count;
    const double factor = fan - (fan - 1) / 2;
    if (f.switched)
      table.add({Algorithm::collnet_direct, Protocol::simple},
                2 * (std::min(1.0, g - 1) * k.collnet_direct_step + k.collnet_direct_peer * (g - 1)) + k.collnet_direct_network,
                inside.total() / factor * k.collnet_share[gen] * 0.5);
    table.add({Algorithm::collnet_chain, Protocol::simple}, 2 * (g - 1) * k.collnet_chain_step + k.collnet_chain_network,
              inside.total() * 0.5);
  }
  if (gather_or_scatter && g <= 1 && N > 1 && !lacks(f, nccl_from(Algorithm::pat)))
    table.add({Algorithm::pat, Protocol::simple}, k.pat_base + doublings * k.pat_network + k.pat_rank * n, k.pat_share * ring_bus);
}

}  // namespace detail

/// \param op any collective; \param byte_wide 8-bit elements
[[nodiscard]] TunerTable tuner_table(Collective op, const Fabric& f, bool byte_wide);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/choice/nccl-inl.hpp>
#endif
