#pragma once
/// NCCL's all-to-all inside one NVLink-like domain: point-to-point sends over 32 channels in LL and, for larger messages, in Simple.
/// A send_recv is the same with one peer, which gets all of S, and no part of its own.
///
///   LL      b + norm_6( e - b + ma min(1, V/16 KiB) , ceil(n p/32) V/p / (la bL) )     b = ca + ha (log2 n - 1), V = S/n
///   Simple  b + norm_qS( e - b + fS + mS min(1, V/64 KiB) ,
///                        [(n-1 + xS p0/p) V + yS (n-1) min(V, 16 MiB / n)] / min(BS, n p Bk / ceil(n p/32)) )
///
/// Other letters: hardware/constant_sets.hpp.
///
///   p   channels of a peer: p0 = 32/n and a power of two; twice as many while each has more than 16 MiB. They are dealt in turn, so
///       with n no power of two some channels have one message more than others, and all wait for those: 18 ranks at 1 channel a
///       peer leave 14 of 32 idle. A send_recv has p0 of its communicator: 1 channel of 32 among 32 and more ranks. Beyond the size that fills
///       p channels the bytes take as long as there until 2 p are as full: 64 and 128 MiB of 8 H100s take 0.84 and 0.82 ms, and no size
///       between them was run. By the rule they would be faster there, which the interval holds
///   xS  over BS of all links of a GPU, also where only some of them lead to ranks: it stays inside the GPU
///   bL  LL rate of one of the 32 channels, a share of the link's rate: threads set it, not how many channels rings open
///   Bk  max(chunk / ck, BS / 32), ck the time a channel was measured to take for a chunk of 512 KiB: channels of faster links are faster
///   e   the least time of n ranks, 105 ns n (min(n, 72))^(1/2): beyond some 24 peers more than b
///
/// Fitted together with ring.hpp on 8 GPUs of three generations and on racks of 4 to 72 GB200. The rule of p: NVIDIA/nccl src/enqueue.cc;
/// measured send_recvs of H100 and GB200 step at its sizes. Up to NCCL 2.28 LL goes on to 16 KiB a channel of a peer, 512 KiB, not 16.
///
/// Before NCCL 2.19 (hardware/tuner.hpp): ca is longer, every channel that a peer's messages use takes a time of its own instead of mS, and
/// there are no local copies.

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/protocol.hpp>
#include <fabricost/price/ring.hpp>

namespace fabricost::core {

/// Bytes per peer up to which the library uses LL.
[[nodiscard]] inline double exchange_ll_limit(const Fabric& fabric) { return tables_of(fabric.tuner).exchange_ll_limit; }

/// The least time of an exchange of n ranks; beyond the ranks it was measured with, each further rank adds as much as the last.
[[nodiscard]] double exchange_least(double n, const ScaleUpForm& form);

namespace detail {

/// Channels of one peer for small messages: as many as all ranks together find, a power of two.
[[nodiscard]] double first_channels(double ranks, double channels);

}  // namespace detail

[[nodiscard]] Line price_exchange(const Schedule& schedule, const Fabric& fabric, const ScaleUpConstants& c, Protocol protocol);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/exchange-inl.hpp>
#endif
