#pragma once
/// \file compute.hpp
/// Time of a transformer's kernels on one GPU, in training and in serving: matrix products, attention, element-wise traffic.
///
///   product(M, N, K)  start + norm_q(x, y),  x = 2 M N K (1 + mis [a side of the rank is no multiple of 64]) / (e P),
///                     y = w (M K + K N + M N) / (em BW);  fp8: e of its own peak, one byte
///   attention         fused: 2 a d s^2 b (causal half of both products) / (ea P); backward 2.5 times that
///                     unfused: 4 a d s^2 b / (0.7 e P) + 13 bytes per score / (em BW); backward twice that
///   element-wise      ce x 16-bit traffic / (em BW); backward twice that
///   cast              to fp8 or fp4 of a product's inputs, row by row and, where weights are trained, column by column: w bytes a value
///                     for each copy, read once in fp8, in fp4 once for each copy and once for the scale of the whole tensor
///
/// GPUs of one generation run the same code at the clock that their power allows: e, ea and the rate of element-wise kernels grow with
/// (W / (gemm_watts P))^power.
///
/// P peak, BW memory rate; e, ea, em, ce are in hardware/compute_constants.hpp. Form and constants are fitted
/// to 1,200 published training steps on A100, H100 and B200 (docs/training-accuracy.md). All in SI units.

#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/compute_constants.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/kernels/stack.hpp>
#include <fabricost/model/layout.hpp>
#include <fabricost/price/line.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace fabricost {

/// The GPU's capabilities, in plain numbers.
struct Processor {
  double peak16 = 0;  ///< dense FLOP/s in 16 bit
  double peak8 = 0;   ///< in fp8; = peak16 where the GPU has none
  double peak4 = 0;
  double memory_rate = 0;             ///< bytes/s
  double memory = 0;                  ///< bytes
  double watts = 0;                   ///< of the board per 16-bit TFLOP/s; 0: not published
  double most = 1;                    ///< share of the peak that no product exceeds; below 1 where a stack's factor shortens it after that
  double sustained = 1;               ///< clock that its power allows, over that of the GPU its constants were measured on
  double memory_latency = 0;          ///< s of a load from memory; 0: not measured
  bool old_attention_is_own = false;  ///< before Hopper, the kernels of Triton and FlashAttention-2 are the generation's best
  ComputeConstants constants;

  /// \throws RequestError when the GPU's 16-bit peak is unknown
  [[nodiscard]] static Processor of(const System& system) {
    detail::check_parts(system, {.gpu = true, .compute = true});
    const Gpu& g = system.gpu;
    Processor out;
    out.peak16 = std::max(g.bf16.value.value(), g.fp16.value.value());
    if (!(out.peak16 > 0)) throw RequestError(system.name + ": its GPU states no fp16 or bf16 rate; give compute.fp16 in data/gpus");
    out.peak8 = std::max(out.peak16, g.fp8.value.value());
    out.peak4 = std::max(out.peak8, g.fp4.value.value());
    out.memory_rate = g.hbm_bandwidth.value.value();
    out.memory = g.memory.value.value();
    out.memory_latency = g.hbm_latency.value.value();
    constexpr double tera = 1e12;
    out.watts = g.power.value.value() / (out.peak16 / g.turned_arithmetic / tera);
    out.use(system.constants.compute);
    const Generation made = g.generation;
    out.old_attention_is_own = made == Generation::volta || made == Generation::turing || made == Generation::ampere;
    return out;
  }
  /// Other kernel efficiencies.
  void use(const ComputeConstants& measured) {
    constants = measured;
    sustained = watts > 0 && constants.gemm_watts > 0 ? std::pow(watts / constants.gemm_watts, constants.form.power) : 1;
  }
  [[nodiscard]] double peak(Precision p) const { return p == Precision::fp8 ? peak8 : p == Precision::fp4 ? peak4 : peak16; }
};

/// Whether no processor of this generation has been measured, so that kernel efficiencies are assumed.
[[nodiscard]] inline bool kernels_assumed(const System& system) { return system.constants.compute_basis == Basis::datasheet; }

/// "measured" on processors built like these, "kin": on others of their generation, or "assumed".
[[nodiscard]] inline const char* kernels_known(const System& system) {
  return kernels_assumed(system) ? "assumed" : system.constants.compute_kin ? "kin" : "measured";
}
/// The phrase for this word, for the end of a sentence.
[[nodiscard]] constexpr std::string_view kernels_words(std::string_view known) {
  return known == "measured" ? "measured on processors of this kind"
         : known == "kin"    ? "measured on others of this generation, not on this processor"
                             : "assumed: no processor of this generation was measured";
}
/// Standard deviation, in log, of a step of this stack on this machine. \param experts the model has experts
[[nodiscard]] inline double spread_on(const Stack& stack, const System& system, Precision precision, bool experts = false) {
  return spread_of(stack, {system.gpu.generation, precision, experts, kernels_assumed(system), system.constants.compute_kin});
}

/// The 5-95 % interval around the predicted time of a step: low, high. \param experts the model has experts
[[nodiscard]] inline std::pair<double, double> interval_of(double seconds, const Stack& stack, const System& system, Precision precision,
                                                           bool experts = false) {
  return interval_around(seconds, spread_on(stack, system, precision, experts));
}

namespace detail {
/// (a^q + b^q)^(1/q), without pow for the most frequent orders.
[[nodiscard]] inline double p_norm(double a, double b, double q) {
  if (q == 2) return std::sqrt(a * a + b * b);
  if (q == 4) {
    const double a2 = a * a, b2 = b * b;
    return std::sqrt(std::sqrt(a2 * a2 + b2 * b2));
  }
  const double larger = std::max(a, b), smaller = std::min(a, b);
  return larger > 0 ? larger * std::pow(1 + std::pow(smaller / larger, q), 1 / q) : 0;
}
[[nodiscard]] inline bool odd_size(double n, const ComputeForm& form) { return std::fmod(n, form.tile) != 0; }
}  // namespace detail

/// Seconds of streaming `bytes` through memory.
[[nodiscard]] inline double stream_seconds(const Processor& gpu, double bytes) { return bytes / (gpu.constants.memory * gpu.memory_rate); }

/// Seconds of element-wise kernels that move at least `bytes`.
[[nodiscard]] inline double element_seconds(const Processor& gpu, double bytes) {
  return gpu.constants.elementwise / gpu.sustained * stream_seconds(gpu, bytes);
}
/// Seconds of casting `values` to the precision of products. \param copies by rows, and by columns where weights are trained
[[nodiscard]] inline double cast_seconds(const Processor& gpu, Precision precision, double values, int copies = 2) {
  const int reads = precision == Precision::fp4 ? 1 + copies : precision == Precision::fp8 ? 1 : 0;
  return reads == 0 ? 0 : element_seconds(gpu, (2 * reads + copies * bytes_of(precision)) * values);
}

/// The share of the peak that kernels reach at the clock that the GPU's power allows. A GPU whose arithmetic is slow beside its power runs
/// at its full clock, where they reach form.full_clock and no more, after the stack's factor as well.
[[nodiscard]] inline double at_clock(const Processor& gpu, double share) {
  const double raised = share * gpu.sustained, full = gpu.constants.form.full_clock;
  return std::min(gpu.most, raised > full && gpu.sustained > 1 ? std::max(share, full * gpu.most) : raised);
}

/// FLOP/s large, aligned products reach.
[[nodiscard]] inline double product_rate(const Processor& gpu, Precision p) {
  const ComputeConstants& c = gpu.constants;
  const double narrow = p == Precision::fp8 ? c.gemm_fp8 : p == Precision::fp4 ? c.gemm_fp4 : 1;
  return at_clock(gpu, c.gemm * narrow) * gpu.peak(p);
}

/// Seconds of arithmetic of `flops` at `rate` and of moving `bytes`, which hide behind each other in part.
[[nodiscard]] inline double roofline(const Processor& gpu, double flops, double rate, double bytes) {
  return detail::p_norm(flops / rate, stream_seconds(gpu, bytes), gpu.constants.gemm_overlap);
}

/// Seconds of `count` products of M x K by K x N together, rows M in all (experts: M / count each).
[[nodiscard]] inline double product_seconds(const Processor& gpu, Precision precision, double M, double N, double K, double count = 1) {
  const ComputeConstants& c = gpu.constants;
  const double penalty = detail::odd_size(N, c.form) || detail::odd_size(K, c.form) ? 1 + c.misaligned : 1;
  const double bytes = bytes_of(precision) * (M * K + count * K * N) + 2 * M * N;
  return c.gemm_start * std::min(count, c.form.start_products) +
         roofline(gpu, 2 * M * N * K * penalty, product_rate(gpu, precision), bytes);
}

/// FLOP/s of fused attention, whose products run at `peak`: 16 bit, or fp8.
[[nodiscard]] inline double attention_rate(const Processor& gpu, AttentionKernel kernel, double peak) {
  const ComputeConstants& c = gpu.constants;
  const double own = kernel == AttentionKernel::fused_old && !gpu.old_attention_is_own ? c.attention_old : 1;
  return at_clock(gpu, c.attention * own) * peak;
}
[[nodiscard]] inline double attention_rate(const Processor& gpu) { return attention_rate(gpu, AttentionKernel::fused, gpu.peak16); }

/// Seconds of attention forward: b sequences of s tokens, of which this rank has s/c as queries.
/// \param scores b a s^2 / c of this rank \param width query + value widths of one head \param precision of the layer's products
[[nodiscard]] inline double attention_seconds(const Processor& gpu, const Stack& stack, double scores, double width, Precision precision) {
  const AttentionKernel kernel = stack.attention;
  const ComputeConstants& c = gpu.constants;
  if (kernel == AttentionKernel::unfused)
    return 2 * scores * width / (c.scores * c.gemm * gpu.peak16) + c.score_bytes * scores / (c.memory * gpu.memory_rate);
  const bool narrow = stack.fp8_attention && (precision == Precision::fp8 || precision == Precision::fp4);
  return scores * width / attention_rate(gpu, kernel, narrow ? gpu.peak8 : gpu.peak16);
}
[[nodiscard]] inline double attention_backward(const Processor& gpu, AttentionKernel kernel) {
  return kernel == AttentionKernel::unfused ? 2 : gpu.constants.attention_backward;
}

/// Bytes the element-wise kernels of a layer move around attention: `rows` of norms and residuals, T tokens of `width` (queries, keys,
/// values, results).
[[nodiscard]] inline double attention_traffic(const Processor& gpu, double rows, double hidden, double T, double width) {
  return 2 * (gpu.constants.form.hidden_traffic * rows * hidden + 2 * T * width);
}
/// The same inside a feed-forward block of `width` (matrices x f of the rank).
[[nodiscard]] inline double block_traffic(double T, double width) { return 4 * T * width; }
/// The same of `routed` tokens' way into their experts, through them and out.
[[nodiscard]] inline double routed_traffic(const Processor& gpu, double routed, double hidden, double width) {
  return block_traffic(routed, width) + 2 * gpu.constants.form.routed_traffic * routed * hidden;
}

/// Bytes that biases of experts add: they are scaled by the gate's weight, row by row, in kernels of their own.
[[nodiscard]] inline double biased_traffic(const Processor& gpu, double routed, double hidden, double width) {
  return 2 * gpu.constants.form.biased_traffic * routed * (hidden + width);
}
/// The same where dispatch writes them in the order of experts and the products take activation and sums into their own kernels: a
/// copy of the rows.
[[nodiscard]] inline double fused_routed_traffic(double routed, double hidden) { return 2 * routed * hidden; }

/// Seconds of an element-wise kernel on its own, with one block of 1,024 threads per row of `width` values.
/// The block loads twice per 1,024 values (two inputs of an activation; two passes of a norm), so a few rows
/// take as long as one: norm_4(width / 512 latency, row_traffic bytes / (em BW)). Source: kernels of vLLM, as
/// timed by vidur's profiles.
[[nodiscard]] inline double row_kernel_seconds(const Processor& gpu, double width, double bytes) {
  const ComputeForm& form = gpu.constants.form;
  const double traffic = gpu.constants.row_traffic * stream_seconds(gpu, bytes);
  return detail::p_norm(width / form.row_step * gpu.memory_latency, traffic, form.row_overlap);
}

}  // namespace fabricost
