#pragma once
/// A ring inside one NVLink-like domain, per protocol (what it was fitted on: docs/model/price.md).
///
/// V = S/n, k steps, c = clamp(S/T, 1, C) channels in use of the C that NCCL opens, w = V/c bytes per channel and step:
///
/// Other letters: hardware/constant_sets.hpp; c0 = launch, B = rate_share of Simple x B1; W, V in bytes; ka, kr: steps that forward,
/// that reduce; d: 1 for reductions of 8-bit types, else 0; mu: mrs2, mar or 1 by operation; rho = 1 - (1 - rl) kr / k; zr: rack_hop_power.
///
///   LL      c0 + h k + F^2 (m0 + mag ka + (mrs + i8L d) kr) + mc (1 - 1/c) + (k+1) W / bL
///           T = 4096 n, bL a share of B1/C, B1 the one-way rate
///           F = min(1, w/4096), W = ce 4096 max(0, ceil(w/4096)-1) + (1-ce) max(0, w-4096)
///   LL128   c0 + h k + norm_1.4( f1 , (k+1.4) V (1 + i8 d) / (0.83 B) )
///   Simple  c0 + norm_q( rho (f + hs k z) , [(k+x) V + y min(V, C MiB)] (1 + i8 d) / (mu B) )     z = (8/n)^zr beyond 8 ranks, else 1
///
/// Before NCCL 2.19 (hardware/tuner.hpp): c0 is shorter, every channel in use takes a time of its own instead of mc (1 - 1/c), forwarding
/// under LL takes longer, Simple has no local copies. Back to back, a rank of a broadcast or reduction waits for one step, not for k: it
/// starts the next call while ranks further on still work on this one.
///
/// From 2.19 to 2.25 an all_gather and a reduce_scatter take G = 1.13 times as long, but for the bytes of LL128 and Simple.
///
/// A broadcast or reduction passes all of S through every rank, so that x and y count S/8 of it, as on servers of 8, however many ranks
/// there are; of two no rank keeps what it passes on: x = y = 0 (pairs of 4 GH200 and of 4 A100).
///
/// x V, the copies inside a GPU, moves over B of all of its links, also where only some of them lead to ranks: y V waits for the link itself
/// (one row of 2 MI300X, 47.7 GB/s; runs of 2 and 4 MI350X).
///
/// z: racks of 16 to 72 GB200, whose pipelines hide more of a step than hs says.

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/protocol.hpp>

namespace fabricost::core {

/// Minimum share of a fitted latency that remains where a tier's own latency is lower than the fitted one:
/// not a fit but a guard that keeps prices above zero.
inline constexpr double min_of_latency = 0.1;
inline constexpr double server_ranks = 8;  ///< of the machines that the forms inside a domain were first fitted on
/// A fitted latency per step, shifted by the tier's difference, but at least a tenth of it.
[[nodiscard]] inline double with_latency(double fitted, double beyond) { return std::max(min_of_latency * fitted, fitted + beyond); }

/// \param channels  C, the channels NCCL opens \param byte_wide elements are 8 bits wide
[[nodiscard]] Line price_ring(const Schedule& schedule, const Fabric& fabric, const ScaleUpConstants& c, Protocol protocol,
                              int channels, bool byte_wide);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/ring-inl.hpp>
#endif
