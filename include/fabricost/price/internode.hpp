#pragma once
/// Collectives over several domains. What the form was fitted on: docs/model/price.md.
///
/// N domains of g ranks, n = N g, V = S/n, u = V/devices and U = S/devices in kB (a device: all NICs of one GPU); k = kI + kN steps, kN of
/// them between domains: under Simple the N borders of each round, under LL and LL128 N - 1 of them (crossing); j = 2(g-1), d = 2 log2 N;
/// E = eff path W with W the summed NIC rate of a domain; Br = min(B, E); Br of a ring = min(B g/(g-1), E), as one hop of g leaves the
/// domain; At = softmin(B/2, E w), w by tree_share. Rings and trees use the NICs that their channels ride: 16 devices at most on
/// Hopper and later, so W of a rack is theirs (devices_with_channels). r = (g/8)^.74 in a rack, else 1; i = 1 + 2.17 min(1, 7/(g-1)). A tree's d
/// is times 1 + .04 log2(N/8) beyond 8 domains. The numbers written out are those of
/// TransportForm and ScaleUpForm (hardware/constant_sets.hpp), the same for all
/// transports; their values and sources are in data/priors. Other letters: hardware/constant_sets.hpp; ht = tree_hop,
/// rv = ll_rendezvous, tiny = exchange_tiny, path = nic_path_share, eff = efficiency.
///
///   ring LL      c0 + h kI + kN (RL + 0.52 L1 u^2/(u^2 + 1.7)) + k V / (bll Br)
///   ring LL128   c0 + i h kI + norm_1.1( kN L2 , k V / min(B g/(g-1), .94 E) )                     of 128 bytes 120 are data
///   ring Simple  c0 + norm_q( f + hs kI + kN RS (.25 + .75 u/(u+52)) , k V / Br )             RS x 3 without GPUDirect
///   tree LL      c0 + ht j min(1, j/14)^1.1 2.54 + d (L0 + L1 (U^2/(U^2 + 1.7) + (rv-1) U^2/(U^2 + 66^2))) + S / (bll At)
///   tree LL128   c0 + i h j + d L2 (.5 + U/(U+400)) + S / (.77 At)
///   tree Simple  c0 + f + .18 hs j + d LS (.26 + U/(U+2000)) + S / At
///   tree Simple of 8 GPUs a node and fewer: S at most at T n/(2(n-1)) a network device, T the busbw that the tuner gives a channel
///   NVLSTree     r (floor + d LV (.07 + .93 U/(U+2000))) + S / min(BN g/(2(g-1)), H K n/(2(n-1)), E w)
///                (H heads of K each: the busbw that NCCL's tuner gives its kernels between two domains, where each byte leaves once and
///                NICs of 400 Gbit/s a GPU do not bind. H100s: 462 GB/s; p5 and Nebius reach 468 to 487)
///                (d was measured: 2 and 20 racks of one cluster take 1.2 and 5.2 ms beside the wire, 4.3 = log2 20 times as much)
///   all-to-all   c0 + Ca + (n-g)(La + LaS [V > 16 KiB] + (tiny-1) La [V < 128]) + norm_2( S g (1-1/N) / (ea path W) , S g/n / B )
///   send-recv    c0 + RS/2 + S / min(.98 path W, P Bc)         (P channels of a peer, which carry Bc each; W of the sender's NICs)
///
/// Broadcast and reduce: under LL a ring has one channel up to S = 4 KiB n, which carries bL; under Simple the network carries a chunk of
/// all C channels whole before the next rank passes it on, min(C 512 KiB, S) / Br in each of the N - 1 other domains (of those of one GPU
/// the last passes nothing on). Inside a domain no such wait shows: 8 A100 take 60 to 90 us beside the wire from 2 to 64 MiB, where seven
/// chunks of all channels would take 320 us from 12 MiB on. Back to back, under LL, a rank waits for one step and .42 h of each slice of
/// 512 bytes, n slices at most; with a second channel, whose ring leaves by another device in another order, for all steps.

#include <fabricost/elementary.hpp>
#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/exchange.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/in_switch.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/pcie.hpp>
#include <fabricost/price/ring.hpp>

namespace fabricost::core {

/// Share of the NIC rate that the path between GPU and NIC leaves; one-directional operations are not limited
/// at the host bridge.
[[nodiscard]] double nic_path_share(const Fabric& fabric, const TransportConstants& t, Collective op);

namespace detail {
/// Network devices NCCL sees and splits messages over: the rails of one GPU are one device (aws-ofi-nccl on
/// p5: 32 NICs are 8).
[[nodiscard]] inline double net_devices(const Fabric& fabric) { return std::max(1.0, std::min(fabric.nics, fabric.local())); }

/// The rate of a ring or tree inside a domain: B; over PCIe that of PCIe; no limit with one rank.
[[nodiscard]] double inner_ring_rate(const Fabric& fabric, const Constants& c);
/// Devices that the channels of rings and trees ride (price/channels.hpp).
[[nodiscard]] double devices_with_channels(const Fabric& fabric);
/// The rate of those devices.
[[nodiscard]] double channels_rate(const Fabric& fabric);
/// Share of their rate that trees keep. Both ways of two trees bring a domain S of two, 1.5 S of three, nearly 2 S of more, which the
/// channels of both trees share where they ride the same devices. With a device for each channel, one of the tree in which the domain is no
/// leaf carries its share for up to two children and the parent.
[[nodiscard]] double tree_share(const Fabric& fabric, bool crowds);

/// The rate of one GPU's send to another domain as its part of the NICs lets it.
[[nodiscard]] double send_link_rate(const Fabric& fabric, const TransportConstants& t, double path);
/// Channels of a peer in another domain (NVIDIA/nccl, src/graph/paths.cc: ncclTopoComputeP2pChannels): from 2.29 on as many as carry the rate
/// of the GPU's NICs by NCCL's estimate of a channel, before two; halved while the ranks, eight in a round, need more channels than there are.
[[nodiscard]] double send_channels(const Fabric& fabric);
/// Bytes per second that one send's channels carry; of NCCL, as no run shows how many another library opens.
[[nodiscard]] double send_kernel_rate(const Fabric& fabric, const TransportConstants& t);

struct Crossing {
  double inner = 0, outer = 0;  ///< steps
  double bytes = 0, message = 0;
};
/// Steps of a ring between domains. Simple waits for the block with the longest path, which crosses all N borders each time around, as the
/// schedule counts them: with it p5 from 2 to 32 nodes and Alps from 2 to 128 grow as measured. LL and LL128 fit better with the block that
/// crosses fewest, N - 1: their flags let a rank pass on the data it has.
[[nodiscard]] Crossing crossing(const Schedule& schedule, Protocol protocol);
}  // namespace detail

[[nodiscard]] Line price_internode_ring(const Schedule& schedule, const Fabric& fabric, const Constants& c, Protocol protocol);

/// Also for one domain, where the network part vanishes.
[[nodiscard]] Line price_tree(const Schedule& schedule, const Fabric& fabric, const Constants& c, Protocol protocol);

/// Bytes per second of S that the kernels of a Simple tree carry: the busbw that NCCL's tuner gives a channel, one for each network device.
/// 8 B200s a node reach 340, 193 and 193 GB/s of 342, 192 and 192 on 2, 4 and 8 nodes of two sites.
[[nodiscard]] double tree_kernels(const Fabric& fabric);

/// A step among racks over one among servers of 8: it waits for the chunks of more GPUs. Domains of more than 72 were never measured between
/// two of them, and count as 72.
[[nodiscard]] double rack_step_factor(double g, const ScaleUpForm& form);

/// Bytes per second of S that the kernels of an NVLSTree carry. The tuner's rates beyond two domains are those of the NICs.
[[nodiscard]] double nvls_tree_kernels(const Fabric& fabric);

[[nodiscard]] Line price_nvls_tree(const Schedule& schedule, const Fabric& fabric, const Constants& c);

/// Messages of 128 bytes were slow and those of 256 were not; between the two nobody measured.
/// \param n partners that S is divided over \param seconds of all messages
[[nodiscard]] UnmeasuredEnd tiny_messages(const TransportConstants& t, double n, double seconds);

[[nodiscard]] Line price_internode_exchange(const Schedule& schedule, const Fabric& fabric, const Constants& c);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/internode-inl.hpp>
#endif
