#pragma once
/// The tables from which a communication library chooses: its tuner's estimates of latencies and rates, and
/// the channel speeds of its search. They are taken from the source code of a version (data/tuners/NAME.yaml,
/// one enumerator of Tuner per file) and compiled in at configuration.

#include <fabricost/hardware/kinds.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace fabricost::core {

/// Seconds, bytes, bytes per second. Index [3]: LL, LL128, Simple; [4]: Volta, Ampere, Hopper, Blackwell;
/// [4][3]: the generation, then 1, 2 or more domains.
struct TunerTables {
  double tree_base[3], ring_base[3];                                  ///< of a kernel
  double tree_nvlink[3], ring_nvlink[3], tree_pcie[3], ring_pcie[3];  ///< of a step inside a domain
  double tree_network[3], ring_network[3];                            ///< between domains
  double network_post[2];                                             ///< minimum time of a step with a network; [1]: with AMD processors
  double simple_posts;                                                ///< number of them in a Simple step
  double nvls_base, nvls_tree_network;
  double collnet_direct_step, collnet_direct_peer, collnet_direct_network, collnet_chain_step, collnet_chain_network;
  double pat_base, pat_network, pat_rank;

  double ll_limit_one_domain[4];
  double ll_limit[2][2];  ///< other processors, AMD's; 2 domains, more
  double ll_share[2];     ///< rate of an LL ring over a Simple one's; of all_reduce and reduce
  double ring_ll128[4];   ///< of a channel
  double ring_ll128_share, tree_share;
  double tree_ll;                       ///< rate of a Simple tree over an LL one's
  double tree_ll128_share[2];           ///< rate of an LL128 tree over a Simple one's: one domain, more
  double tree_ll128[4][3], tree[4][3];  ///< of a channel
  double nvls_efficiency[4], nvls_tree[4][3];
  double nvls_gather_efficiency[4];  ///< of in-switch all_gather and reduce_scatter
  double nvls_channels[4];           ///< of an in-switch algorithm
  double nvls_heads;                 ///< ranks that gather a part each, at most
  double nvls_chunk[4];              ///< bytes of a chunk, from small messages to large ones
  double nvls_rounds[3];             ///< rounds of the next chunk size that a message must fill for it
  double collnet_share[4], pat_share;
  double tree_correction[3][24];  ///< by floor(log2(S / 64)), of all-reduce

  double speeds[4][16];             ///< of a channel, in descending order, terminated by 0
  double split_from[4];             ///< channels of at least this speed are split in two
  double split_above[4], split_to;  ///< if there are more than split_above and at most split_to
  double max_channels;
  double running_factor;       ///< channels of a collective inside a domain over those found by the search
  double network_share;        ///< fraction of the NICs' rate that the search plans with
  double network_channels[4];  ///< per NIC
  double min_network_channels;
  double exchange_ll_limit;          ///< bytes per peer up to which point-to-point sends use LL
  double exchange_ll_limit_pcie[2];  ///< the same over PCIe: 2, more ranks
  double send_channel_rate;          ///< that a channel is taken to carry to a peer in another domain; 0: a peer has two, whatever its rate
  double rooted_steps;               ///< share of a ring's steps that the tuner counts for broadcast and reduce, beyond one

  // Costs of the version's kernels inside one NVLink domain, beside the constants of the machine (price/ring.hpp, exchange.hpp).
  double launch_share;            ///< of c0
  double channel_start;           ///< of each channel that a ring uses
  double ll_forward_share;        ///< of an LL ring's cost per forwarding step with all threads
  double local_copies;            ///< of the local copies of Simple rings and exchanges
  double exchange_base_share;     ///< of an exchange's base
  double exchange_channel_start;  ///< of each channel that a peer's messages use
  double exchange_channel_size;   ///< bytes per peer and channel from which on a peer has more channels
  double exchange_channels;       ///< at most for a peer
  double exchange_overlap;        ///< least order of the norm between an exchange's latency and its volume
  double gather_share;            ///< of an all_gather's or reduce_scatter's ring, but for the bytes of LL128 and Simple
  double kernel_width;            ///< half width, in log, of what these costs leave; in quadrature
  double kernels_seen[4];         ///< 1: they were measured on GPUs of that generation
  double first_version[2];        ///< the first release with these tables: major, minor
  double first_release[4];        ///< the first release, 2.x, that runs on a generation; 0: any
};

}  // namespace fabricost::core

#include <fabricost/hardware/shipped_tuners.inc>

namespace fabricost::core {

[[nodiscard]] constexpr std::string_view name(Tuner t) { return tuner_names[static_cast<std::size_t>(t)]; }
[[nodiscard]] constexpr const TunerTables& tables_of(Tuner t) { return tuner_tables[static_cast<std::size_t>(t)]; }

/// The tables of release `series`.`release`, as in 2.18: the newest that are not later, else the oldest.
[[nodiscard]] constexpr Tuner tuner_of_version(int series, int release) {
  std::size_t out = 0;
  for (std::size_t i = 1; i < tuner_tables.size(); ++i) {
    const auto& [first_series, first_release] = tuner_tables[i].first_version;
    if (series > first_series || (series == first_series && release >= first_release)) out = i;
  }
  return static_cast<Tuner>(out);
}

/// Whether the version's kernels take other times than those behind the constants of data/calibrations.
[[nodiscard]] constexpr bool has_own_kernels(const TunerTables& t) { return t.channel_start > 0; }

/// Row of the tables by generation: Volta, Ampere, Hopper, Blackwell. GPUs of other makers take Ampere's.
[[nodiscard]] constexpr std::size_t tuner_generation(Generation g) {
  if (!is_nvidia(g)) return 1;
  return g >= Generation::blackwell ? 3 : g >= Generation::hopper ? 2 : g >= Generation::ampere ? 1 : 0;
}

}  // namespace fabricost::core
