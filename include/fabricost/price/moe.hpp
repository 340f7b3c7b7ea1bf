#pragma once
/// \file moe.hpp
/// Cost of the kernels of expert exchange: T tokens of a rank, C copies of each with w bytes, s SMs.
///
///   volume      norm( work , wire ),  wire = norm_12( inside bytes / (share B) , across bytes / Bn )
///   DeepEP normal       work = T tau / s^,  tau = norm( token + token_kib w , C (copy + copy_kib w) ),  s^ = 4 (s/4)^spread
///                       t = start + start_copy w sqrt(C) + network step + fill tau x/(1+x) + norm_12(work, wire),  x = T/(s fill_tokens)
///   DeepEP low latency  work = T (token + token_kib w) / SMs the experts occupy
///                       t = start + expert E + start_copy w sqrt(C) + network step + norm(work, wire)
///   TensorRT-LLM        work = T token;  t = start + copy C + step log2 n + norm_2( floor , norm(work, wire) )
///   prepare             t = start + step log2 n + T token
///
/// The orders 12 and 2, the 4 SMs that do not slow each other down and the root of C are in MoeForm
/// (data/priors/moe.yaml). Fitted to DeepEP on 8 H100 and 8 B200 (SGLang 0.5.12) and TensorRT-LLM 1.3 on 2 to
/// 16 GPUs of a GB200 NVL72. SMs of the low-latency kernels: experts are assigned to warp groups, ceil(E /
/// SMs) of them per SM (deepseek-ai/DeepEP, csrc/kernels/internode_ll.cu), so that few experts leave most of
/// the GPU idle. TensorRT-LLM's latency grows with the ranks a token is sent to, which top-k limits, and
/// hardly with the group size: from 8 ranks to 16 it rises by 0.5 to 1.3 us, from 4 to 8 by 2 to 8 (top 8).

#include <fabricost/hardware/moe_constants.hpp>
#include <fabricost/price/line.hpp>

#include <array>
#include <cmath>

namespace fabricost {

/// The work of one rank and its resources.
struct MoeWork {
  double tokens = 0;        ///< T
  double copies = 0;        ///< C per token, including the copy that stays
  double bytes = 0;         ///< w of one copy
  double inside_bytes = 0;  ///< sent by T tokens to other GPUs of the domain
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
inline void share_volume(MoeCost& c, double work, double inside, double across, double q, double w, double visible = 1) {
  c.alone.work = work, c.alone.inside = inside, c.alone.across = across, c.alone.order = q, c.alone.wire_order = w;
  const double wire = norm(inside, across, w);
  const double all = norm(work, wire, q);
  c.work += all * share_in(work, all, q) * visible;
  const double of_wire = all * share_in(wire, all, q) * visible;
  c.inside += of_wire * share_in(inside, wire, w);
  c.across += of_wire * share_in(across, wire, w);
}

[[nodiscard]] inline double inside_time(const MoeWork& w, double share) {
  return w.inside_bytes > 0 ? w.inside_bytes / (share * w.rate) : 0;
}
[[nodiscard]] inline double across_time(const MoeWork& w) { return w.across_bytes > 0 ? w.across_bytes / w.across_rate : 0; }
/// Factor by which a token's copies lengthen the first chunk's path.
[[nodiscard]] inline double longer_start(double copies, const MoeForm& form) {
  return form.copies_power == 0.5 ? std::sqrt(copies) : std::pow(copies, form.copies_power);
}

}  // namespace detail

/// SMs that E experts occupy on a GPU of n: ceil(E / ceil(E/n)).
[[nodiscard]] inline double sms_of_experts(double experts, double all_sms) {
  return std::ceil(experts / std::max(1.0, std::ceil(experts / all_sms)));
}

[[nodiscard]] inline MoeCost price_moe(const MoeWork& w, const ChannelKernelConstants& k, const MoeForm& form) {
  const double kib = w.bytes / 1024;
  const double tau = norm(k.token + k.token_kib * kib, w.copies * (k.copy + k.copy_kib * kib), k.overlap);
  const double sms = w.sms > form.few_sms ? form.few_sms * std::pow(w.sms / form.few_sms, k.spread) : w.sms;
  const double x = w.tokens / (w.sms * k.fill_tokens);
  MoeCost c{.start = k.start + k.start_copy * kib * detail::longer_start(w.copies, form),
            .network = w.network_step,
            .growth = k.fill * tau * x / (1 + x)};
  detail::share_volume(c, w.tokens * tau / sms, detail::inside_time(w, k.share), detail::across_time(w), form.rate_overlap,
                       form.rate_overlap);
  return c;
}

[[nodiscard]] inline MoeCost price_moe(const MoeWork& w, const MessageKernelConstants& k, const MoeForm& form) {
  const double kib = w.bytes / 1024;
  MoeCost c{.start = k.start + k.expert * w.experts + k.start_copy * kib * detail::longer_start(w.copies, form), .network = w.network_step};
  const double work = w.tokens * (k.token + k.token_kib * kib) / sms_of_experts(w.experts, w.all_sms);
  detail::share_volume(c, work, detail::inside_time(w, k.share), detail::across_time(w), k.overlap, form.rate_overlap);
  return c;
}

[[nodiscard]] inline MoeCost price_moe(const MoeWork& w, const DomainKernelConstants& k, const MoeForm& form) {
  MoeCost c{.start = k.start, .steps = k.copy * w.copies + k.step * std::log2(std::max(1.0, w.ranks))};
  const double work = w.tokens * k.token, wire = detail::inside_time(w, k.share);
  const double q = form.floor_overlap, volume = norm(work, wire, k.overlap), all = norm(k.floor, volume, q);
  c.start += all * detail::share_in(k.floor, all, q);
  c.alone.floor = k.floor, c.alone.floor_order = q;
  const double visible = volume > 0 ? all * detail::share_in(volume, all, q) / volume : 0;
  detail::share_volume(c, work, wire, 0, k.overlap, form.rate_overlap, visible);
  return c;
}

[[nodiscard]] inline MoeCost price_moe(const MoeWork& w, const PrepareConstants& k) {
  return {.start = k.start, .steps = k.step * std::log2(std::max(1.0, w.ranks)), .work = w.tokens * k.token};
}

}  // namespace fabricost
