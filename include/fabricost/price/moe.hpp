#pragma once
/// Cost of the kernels of expert exchange: T tokens of a rank, C copies of each with w bytes, s SMs.
///
///   volume      norm( work , wire ),  wire = norm_12( inside bytes / (share B) , across bytes / Bn )
///   DeepEP normal       work = T tau / s^,  tau = norm( token + token_kib w , skew C (copy + copy_kib w) ),  s^ = 4 (s/4)^spread
///                       t = start + start_copy w sqrt(C) + network step + fill tau x/(1+x) + norm_12(work, wire),  x = T/(s fill_tokens)
///   DeepEP low latency  work = T (token + token_kib w) / SMs the experts occupy
///                       t = start + expert E + start_copy w sqrt(C) + network step + norm(work, wire)
///   TensorRT-LLM, MORI  work = T token;  t = start + copy C + step log2 n + norm_2( floor , norm(work, wire) )
///                       one-sided: copy and floor times (w / KiB)^(3/4), since one block reads or writes a token's copies
///   prepare             t = start + step log2 n + T token
///
/// The orders 12 and 2, the 4 SMs that do not slow each other down, the root of C and the 3/4 are in MoeForm
/// (data/priors/moe.yaml). Fitted to DeepEP on 8 H100 and 8 B200 (SGLang 0.5.12) and TensorRT-LLM 1.3 on 2 to
/// 16 GPUs of a GB200 NVL72. SMs of the low-latency kernels: experts are assigned to warp groups, ceil(E /
/// SMs) of them per SM (deepseek-ai/DeepEP, csrc/kernels/internode_ll.cu), so that few experts leave most of
/// the GPU idle. TensorRT-LLM's latency grows with the ranks a token is sent to, which top-k limits, and
/// hardly with the group size: from 8 ranks to 16 it rises by 0.5 to 1.3 us, from 4 to 8 by 2 to 8 (top 8).

#include <fabricost/hardware/constant_sets.hpp>
#include <fabricost/price/line.hpp>

#include <cmath>

namespace fabricost::core {

/// The work of one rank and its resources.
struct MoeWork {
  double tokens = 0;        ///< T, that the rank sends
  double copies = 0;        ///< C per token, including the copy that stays
  double bytes = 0;         ///< w of one copy
  double skew = 1;          ///< copies that the fullest rank receives over those of even choices
  double inside_bytes = 0;  ///< sent by T tokens to other GPUs of the domain, times the skew
  double across_bytes = 0;  ///< to other domains
  double ranks = 1, experts = 1;
  double sms = 0;           ///< the kernel may use
  double all_sms = 0;       ///< the GPU has
  double rate = 0;          ///< one way inside the domain, bytes/s
  double across_rate = 0;   ///< one way of this rank's share of the NICs
  double network_step = 0;  ///< seconds of one crossing; 0 inside a domain
};

/// Resources that work concurrently, each alone, and how they overlap, in seconds:
/// norm_floor_order( floor , norm_order( work , norm_wire_order( inside , across ) ) ).
struct MoeVolume {
  double work = 0, inside = 0, across = 0;
  double order = 1, wire_order = 1;
  double floor = 0;  ///< 0: there is none
  double floor_order = 1;
};

/// Decomposition of the time; the parts sum to `seconds`.
struct MoeCost {
  double start = 0, steps = 0, network = 0, growth = 0, work = 0, inside = 0, across = 0;
  MoeVolume alone{};  ///< standalone times of which work, inside and across (and a floor in `start`) are shares
  [[nodiscard]] double seconds() const { return start + steps + network + growth + work + inside + across; }
};

namespace detail {

/// Share of x in t = norm_q(x, .): x (x/t)^(q-1) / t (Euler).
[[nodiscard]] inline double share_in(double x, double t, double q) { return t > 0 ? std::pow(x / t, q) : 0; }

/// Divides norm_q(work, norm_w(inside, across)) into shares; `visible`: the share of the total not hidden.
void share_volume(MoeCost& c, double work, double inside, double across, double q, double w, double visible = 1);

}  // namespace detail

/// SMs that E experts occupy on a GPU of n: ceil(E / ceil(E/n)).
[[nodiscard]] double sms_of_experts(double experts, double all_sms);

[[nodiscard]] MoeCost price_moe(const MoeWork& w, const ChannelKernelConstants& k, const MoeForm& form);

[[nodiscard]] MoeCost price_moe(const MoeWork& w, const MessageKernelConstants& k, const MoeForm& form);

/// \param power of the bytes of a copy, with which `copy` and `floor` grow from those of 1 KiB
[[nodiscard]] MoeCost price_moe(const MoeWork& w, const DomainKernelConstants& k, const MoeForm& form, double power = 0);

[[nodiscard]] MoeCost price_moe(const MoeWork& w, const PrepareConstants& k);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/moe-inl.hpp>
#endif
