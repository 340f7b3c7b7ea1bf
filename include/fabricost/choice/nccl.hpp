#pragma once
/// \file nccl.hpp
/// What NCCL will run: its own time model, evaluated as its tuner does, picks the pair. The model is only used to choose; the
/// price comes from elsewhere. Source: NVIDIA/nccl 2.30 graph/tuning.cc and topo.h, with corrections measured on public runs:
///
///   one node    no in-switch reduction below 8 ranks; Blackwell's ring LL128 at 36 GB/s per channel instead of 40
///   many nodes  on 2 nodes a tree's bus runs at the speed inside the node, the ring's at the NICs'; no LL128 over a host bridge,
///               transports that say so, nor on Volta (nor, which is assumed, Pascal); ring Simple without the tuner's latency
///               factor 1.4, the tree bus times 0.92 from 3 nodes on; LL's limit by CPU: Arm as Intel
///
///   t = latency + S / bandwidth,  bus bandwidth = channels x speed by protocol and algorithm, to algorithm bandwidth by n / steps
///   (ring, in-switch) or 0.5

#include <fabricost/choice/candidates.hpp>
#include <fabricost/price/channels.hpp>
#include <fabricost/price/exchange.hpp>
#include <fabricost/algorithms/schedule.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace fabricost {

/// One row of the tuner's model.
struct TunerRow {
  Candidate candidate;
  double latency = 0;   ///< seconds
  double per_byte = 0;  ///< seconds
  int correction = -1;  ///< row of the tree table, or none
};

/// The tuner's table for one (collective, fabric): small, filled once, asked for any size.
struct TunerTable {
  static constexpr int capacity = 12;
  FixedList<TunerRow, capacity> rows;
  double exchange_limit = 0;  ///< bytes per peer up to which point-to-point sends use LL; 0: not point to point
  double peers = 1;

  [[nodiscard]] Candidate pick(double bytes) const;
  /// Seconds the tuner believes a row takes.
  [[nodiscard]] double believed(const TunerRow& row, double bytes) const;
  /// Of them, those spent on bytes; `octave` is theirs.
  [[nodiscard]] static double believed_volume(const TunerRow& row, double bytes, std::size_t octave);
  void add(Candidate c, double latency_us, double algorithm_rate, int correction = -1) {
    if (algorithm_rate > 0) rows.add({c, latency_us * 1e-6, 1 / algorithm_rate, correction});
  }
};

namespace detail {

/// By floor(log2(S / 64)), tree all-reduce: LL, LL128, Simple.
inline constexpr std::array<std::array<double, 24>, 3> tree_correction{{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};
/// floor(log2(S / 64)), from 0 to 23. The exponent is read off the number: bytes are never subnormal.
[[nodiscard]] inline std::size_t octave_of(double bytes) {
  if (bytes < 64) return 0;
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(bytes) >> 52) - 1023;
  return static_cast<std::size_t>(std::min(23, exponent - 6));
}
[[nodiscard]] inline double correction_at(int row, double bytes) {
  return row < 0 ? 1 : tree_correction[static_cast<std::size_t>(row)][octave_of(bytes)];
}
/// floor(log2(n)) of a whole number from 1 on.
[[nodiscard]] inline int whole_doublings(double n) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))) - 1; }

/// Volta, Ampere, Hopper, Blackwell: rows of the tuner's per-generation tables.
[[nodiscard]] inline std::size_t tuner_generation(Generation g) {
  if (!is_nvidia(g)) return 1;
  return g >= Generation::blackwell ? 3 : g >= Generation::hopper ? 2 : g >= Generation::ampere ? 1 : 0;
}

// microseconds, LL / LL128 / Simple
inline constexpr std::array<double, 3> tree_base{6.8, 14.0, 8.4}, ring_base{6.6, 14.0, 8.4};
inline constexpr std::array<double, 3> tree_nvlink{0.6, 1.25, 4.0}, ring_nvlink{0.6, 1.9, 3.4};
inline constexpr std::array<double, 3> tree_pcie{1.0, 1.9, 4.0}, ring_pcie{1.0, 2.5, 5.7};
inline constexpr std::array<double, 3> tree_network{5.0, 8.5, 14.0}, ring_network{2.7, 4.0, 14.0};

// GB/s; columns 1 / 2 / more domains
inline constexpr std::array<double, 4> ll_limit_one_node{39, 87.7, 141, 282};
inline constexpr std::array<double, 4> ring_ll128_per_channel{20, 20, 36.7, 36};
inline constexpr std::array<std::array<double, 3>, 4> tree_ll128_per_channel{
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
inline constexpr std::array<std::array<double, 3>, 4> tree_per_channel{
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
inline constexpr std::array<std::array<double, 3>, 4> nvls_tree_per_channel{{{0, 0, 0}, {0, 0, 0}, {0, 57.7, 45.5}, {0, 96, 80}}};

}  // namespace detail

inline double TunerTable::believed_volume(const TunerRow& row, double bytes, std::size_t octave) {
  const double volume = bytes * row.per_byte;
  return row.correction < 0 ? volume : volume / detail::tree_correction[static_cast<std::size_t>(row.correction)][octave];
}

namespace detail {

/// What the tuner's table picks at one size, its rows compared as they are made.
struct TunerPick {
  double bytes = 0;
  std::size_t octave = octave_of(bytes);
  bool any = false;
  Candidate best{};
  double least = 0;
  double exchange_limit = 0;
  double peers = 1;

  void add(Candidate c, double latency_us, double algorithm_rate, int correction = -1) {
    if (!(algorithm_rate > 0)) return;
    const TunerRow row{c, latency_us * 1e-6, 1 / algorithm_rate, correction};
    const double t = row.latency + TunerTable::believed_volume(row, bytes, octave);
    if (any && !(t < least)) return;
    any = true;
    least = t;
    best = c;
  }
};

/// \param table a TunerTable or a TunerPick
template <class Table>
void make_tuner_rows(Table& table, Collective op, const Fabric& f, bool byte_wide) {
  const double n = f.ranks(), N = f.domains(), g = f.local();
  if (f.library == Library::oneccl) {  // one kernel at all sizes: its measured curves have no step
    table.add({is_exchange(op) ? Algorithm::direct : Algorithm::ring, Protocol::simple}, 0, 1);
    return;
  }
  if (is_exchange(op)) {
    table.peers = op == Collective::send_recv ? 1 : n;
    table.exchange_limit = f.over_pcie && N <= 1 ? (n <= 2 ? 64 : 32) * kibibyte : exchange_ll_limit;
    return;
  }
  const double doublings = N > 1 ? detail::whole_doublings(N) : 0;  // whole ones: NCCL's log2i
  const std::size_t gen = tuner_generation(f.generation);
  const std::size_t column = N <= 1 ? 0 : N <= 2 ? 1 : 2;
  const bool all_reduce = op == Collective::all_reduce;
  const double steps = all_reduce ? 2 * (n - 1) : op == Collective::broadcast || op == Collective::reduce ? n : n - 1;
  const double ratio = n / steps;
  const Channels& inside = f.channels;
  // between nodes a channel per NIC, two from Hopper on: what public runs change algorithm by; no document says so
  const double per_nic = detail::hopper_or_later(f.generation) ? 2 : 1;
  const double count = N > 1 ? std::clamp(per_nic * f.nics, 2.0, 32.0) : inside.count;
  const double network = 0.96 * f.outer_rate;  // the search's speeds between nodes are 12, 24, 48 for NICs of 12.5, 25, 50 GB/s
  const double ring_bus = N > 1 ? (g > 1 ? std::min(inside.total(), network) : network) : inside.total();
  const double tree_bus = N > 2 || g <= 1 ? 0.92 * ring_bus : (N > 1 ? 1 : 0.92) * inside.total();
  const double post = f.cpu == Cpu::amd ? 2 : 1;
  const bool ll128 = has_ll128(f);
  const double ll_limit = 1e9 * (N <= 1 ? detail::ll_limit_one_node[gen] : f.cpu == Cpu::amd ? (N <= 2 ? 22.5 : 19) : (N <= 2 ? 39 : 20.4));

  const auto& ring_inner = f.over_pcie ? detail::ring_pcie : detail::ring_nvlink;
  const auto& ring_outer = g <= 1 ? detail::tree_network : detail::ring_network;
  const double crossing = N <= 1 ? 0 : all_reduce ? 2 * (N - 1) : N - 1;
  for (std::size_t p = 0; p < 3; ++p) {
    if (p == 1 && !ll128) continue;
    const double bus = p == 0   ? std::min(ll_limit, 0.5 * ring_bus)
                       : p == 1 ? std::min(0.92 * ring_bus, 1e9 * count * detail::ring_ll128_per_channel[gen])
                                : ring_bus;
    double hop = ring_inner[p];
    if (N > 1) hop = std::max(hop, p == 2 ? 3 * post : post);
    table.add({Algorithm::ring, static_cast<Protocol>(p)}, detail::ring_base[p] + (steps - crossing) * hop + crossing * ring_outer[p],
              bus * ratio);
  }
  if (all_reduce) {
    const auto& tree_inner = f.over_pcie ? detail::tree_pcie : detail::tree_nvlink;
    for (std::size_t p = 0; p < 3; ++p) {
      if (p == 1 && !ll128) continue;
      double bus = std::min(0.92 * tree_bus, 1e9 * count * detail::tree_per_channel[gen][column]);
      if (p == 0) bus = std::min(bus / 3.8, ll_limit);
      if (p == 1) bus = std::min(bus * (N <= 1 ? 7.0 / 9.0 : 120.0 / 128.0), 1e9 * count * detail::tree_ll128_per_channel[gen][column]);
      table.add({Algorithm::tree, static_cast<Protocol>(p)},
                detail::tree_base[p] + 2 * ((g - 1) * tree_inner[p] + doublings * detail::tree_network[p]), bus * 0.5, static_cast<int>(p));
    }
  }
  if (all_reduce && f.in_switch && !byte_wide && g >= 8) {
    const Channels nvls = in_switch_channels(f.usable_per_gpu, 8, f.generation);  // a rack opens no more of them
    const double heads = nvls.count;
    const double efficiency = gen >= 3 ? 0.74 : 0.85;
    const double inner = nvls.rate * efficiency * (heads - 1) / heads * 2;
    if (N <= 1) {
      table.add({Algorithm::nvls, Protocol::simple}, 25, inner * heads * ratio);
    } else {
      const double nic = network / heads * (N <= 2 ? 2 : 1);
      const bool corrected = gen >= 3 && (f.cpu == Cpu::intel || f.cpu == Cpu::amd);
      table.add({Algorithm::nvls_tree, Protocol::simple}, 25 + 2 * doublings * 20.9,
                std::min({inner, nic, 1e9 * detail::nvls_tree_per_channel[gen][column]}) * heads * ratio, corrected ? 2 : -1);
    }
  }
  const bool gather_or_scatter = op == Collective::all_gather || op == Collective::reduce_scatter;
  if (f.sharp && N > 1 && all_reduce) {
    const double fan = g / count;
    const double factor = fan - (fan - 1) / 2;
    if (f.switched)
      table.add({Algorithm::collnet_direct, Protocol::simple}, 2 * (std::min(1.0, g - 1) * 3.7 + 0.4 * (g - 1)) + 31,
                inside.total() / factor * (gen >= 2 ? 0.85 : 1) * 0.5);
    table.add({Algorithm::collnet_chain, Protocol::simple}, 2 * (g - 1) * 2.8 + 30, inside.total() * 0.5);
  }
  if (gather_or_scatter && g <= 1 && N > 1)
    table.add({Algorithm::pat, Protocol::simple}, 8 + doublings * 14 / 3.5 + 2.8 * n, 0.75 * ring_bus);
}

}  // namespace detail

/// \param op any collective; \param byte_wide 8-bit elements
[[nodiscard]] inline TunerTable tuner_table(Collective op, const Fabric& f, bool byte_wide) {
  TunerTable table;
  detail::make_tuner_rows(table, op, f, byte_wide);
  return table;
}

inline double TunerTable::believed(const TunerRow& row, double bytes) const {
  return row.latency + believed_volume(row, bytes, detail::octave_of(bytes));
}

inline Candidate TunerTable::pick(double bytes) const {
  if (exchange_limit > 0) return {Algorithm::direct, bytes / peers <= exchange_limit ? Protocol::ll : Protocol::simple};
  const std::size_t octave = detail::octave_of(bytes);
  const TunerRow* best = nullptr;
  double least = 0;
  for (const TunerRow& row : rows) {
    const double t = row.latency + believed_volume(row, bytes, octave);
    if (best == nullptr || t < least) {
      least = t;
      best = &row;
    }
  }
  return best != nullptr ? best->candidate : Candidate{};
}

}  // namespace fabricost
