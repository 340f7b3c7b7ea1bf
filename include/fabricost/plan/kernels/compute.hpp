#pragma once
/// Time of a transformer's kernels on one GPU, in training and in serving: matrix products, attention, element-wise traffic.
///
///   product(M, N, K)  start + norm_q(x, y),  x = 2 M N K (1 + mis [a side of the rank is no multiple of 64]) / (e P),
///                     y = w (M K + K N + M N) / (em BW);  fp8: e of its own peak, one byte
///   attention         cudnn, flash3, flash2: 2 a d (b s^2 + B U s / a) / (k ea P) + (a b s / B) tb / U, k of each kind: the causal half of
///                     both products, half of the longest block of B = 128 queries for the U processors that wait for the last ones, and
///                     tb for filling and draining each block's pipeline; backward 2.87 times that
///                     math: 4 a d s^2 b / (0.7 e P) + 13 bytes per score / (em BW); backward twice that
///   element-wise      ce x 16-bit traffic / (em BW); backward twice that
///   cast              to fp8 or fp4 of a product's inputs, row by row and, where weights are trained, column by column: w bytes a value
///                     for each copy, read once in fp8, in fp4 once for each copy and once for the scale of the whole tensor
///
/// GPUs of one generation run the same code at the clock that their power allows, whatever the clock of their peak. With W watts and U
/// processors (SMs) the rate of each grows with (W / U)^power, so that e, ea and the rate of element-wise kernels are multiplied by
///   (W / (gemm_watts P))^power (gemm_peak U / P)^(1 - power)
///
/// P peak, BW memory rate; e, ea, em, ce are in hardware/constant_sets.hpp. Form and constants are fitted
/// to 1,200 published training steps on A100, H100 and B200 (docs/training-accuracy.md). All in SI units.

#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/constant_sets.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/kernels/stack.hpp>
#include <fabricost/plan/model/layout.hpp>
#include <fabricost/price/line.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::plan {

/// The GPU's capabilities, in plain numbers.
struct Processor {
  double peak16 = 0;  ///< dense FLOP/s in 16 bit
  double peak8 = 0;   ///< in fp8; = peak16 where the GPU has none
  double peak4 = 0;
  double memory_rate = 0;             ///< bytes/s
  double memory = 0;                  ///< bytes
  double watts = 0;                   ///< of the board per 16-bit TFLOP/s; 0: not published
  double unit_peak = 0;               ///< 16-bit TFLOP/s of one of its processors; 0: their number is not published
  double most = 1;                    ///< share of the peak that no product exceeds; below 1 where a stack's factor shortens it after that
  double sustained = 1;               ///< clock that its power allows, over that of the GPU its constants were measured on
  double memory_latency = 0;          ///< s of a load from memory; 0: not measured
  double cycles = 0;                  ///< of all its processors (SMs) a second; 0: their number or clock is not published
  double units = 0;                   ///< its processors
  std::string name{};                 ///< of data/gpus
  KernelRates own{};                  ///< of the stack that runs on it, where it states them for this GPU
  bool old_attention_is_own = false;  ///< before Hopper, the kernels of Triton and FlashAttention-2 are the generation's best
  ComputeConstants constants;

  /// \throws RequestError when the GPU's 16-bit peak is unknown
  [[nodiscard]] static Processor of(const System& system);
  /// Other kernel efficiencies.
  void use(const ComputeConstants& measured) {
    constants = measured;
    sustained = 1;
    if (watts <= 0 || constants.gemm_watts <= 0) return;
    const double power = constants.form.power;
    sustained = std::pow(watts / constants.gemm_watts, power);
    if (unit_peak > 0 && constants.gemm_peak > 0) sustained *= std::pow(constants.gemm_peak / unit_peak, 1 - power);
  }
  /// Kernels as a stack timed them on this GPU.
  void use(const std::vector<OwnKernel>& kernels) {
    for (const OwnKernel& one : kernels)
      if (one.gpu == name) own.of(one.kind, one.precision) = one.rate;
    if (const KernelRate& stream = own.of(KernelKind::memory); stream.known()) constants.memory = stream.memory;
  }
  /// Products in 8 bit with a scale for each block of values.
  void use_block_scales() {
    constants.gemm_fp8 *= constants.block_scales;
    for (const KernelKind kind : {KernelKind::gemm, KernelKind::experts}) {
      KernelRate& scaled = own.of(kind, KernelPrecision::fp8);
      const KernelRate& blocks = own.of(kind, KernelPrecision::fp8_block);
      if (blocks.known())
        scaled = blocks;
      else
        scaled.share *= constants.block_scales;
    }
  }
  /// Whether fp8 products are faster than those in 16 bits.
  [[nodiscard]] bool has_fp8_units() const { return peak8 > peak16; }
  [[nodiscard]] double peak(Precision p) const { return p == Precision::fp8 ? peak8 : p == Precision::fp4 ? peak4 : peak16; }
};

/// Whether no processor of this generation has been measured, so that kernel efficiencies are assumed.
[[nodiscard]] inline bool kernels_assumed(const System& system) { return system.constants.compute_basis == Basis::datasheet; }

/// "measured" on processors built like these, "sibling": on others of their generation, or "assumed".
[[nodiscard]] const char* kernels_known(const System& system);
/// The phrase for this word, for the end of a sentence.
[[nodiscard]] constexpr std::string_view kernels_words(std::string_view known) {
  return known == "measured"  ? "measured on processors of this kind"
         : known == "sibling" ? "measured on others of this generation, not on this processor"
                              : "assumed: no processor of this generation was measured";
}
/// Standard deviation, in log, of a step of this stack on this machine. \param experts the model has experts \param other_kind of a kind that
/// no fit saw
[[nodiscard]] double spread_on(const Stack& stack, const System& system, Precision precision, bool experts = false, bool other_kind = false);

/// The 5-95 % interval around the predicted time of a step: low, high. \param experts the model has experts
[[nodiscard]] std::pair<double, double> interval_of(double seconds, const Stack& stack, const System& system, Precision precision,
                                                    bool experts = false);

/// (a^q + b^q)^(1/q), without pow for the most frequent orders.
[[nodiscard]] double p_norm(double a, double b, double q);

/// Seconds of streaming `bytes` through memory.
[[nodiscard]] inline double stream_seconds(const Processor& gpu, double bytes) { return bytes / (gpu.constants.memory * gpu.memory_rate); }

/// Seconds of element-wise kernels that move at least `bytes`.
[[nodiscard]] double element_seconds(const Processor& gpu, double bytes);
/// Seconds of casting `values` to the precision of products. \param copies by rows, and by columns where weights are trained
[[nodiscard]] double cast_seconds(const Processor& gpu, Precision precision, double values, int copies = 2);

/// The share of the peak that kernels reach at the clock that the GPU's power allows. A GPU whose arithmetic is slow beside its power runs
/// at its full clock, where they reach form.full_clock and no more, after the stack's factor as well.
[[nodiscard]] double at_clock(const Processor& gpu, double share);

/// FLOP/s large, aligned products reach.
[[nodiscard]] double product_rate(const Processor& gpu, Precision p);

/// Seconds of arithmetic of `flops` at `rate` and of moving `bytes`, which hide behind each other in part.
[[nodiscard]] double roofline(const Processor& gpu, double flops, double rate, double bytes);

/// Seconds of `count` products of M x K by K x N together, rows M in all (experts: M / count each).
[[nodiscard]] double product_seconds(const Processor& gpu, Precision precision, double M, double N, double K, double count = 1);

/// FLOP/s of fused attention, whose products run at `peak`: 16 bit, or fp8.
[[nodiscard]] double attention_rate(const Processor& gpu, AttentionKernel kernel, double peak);
[[nodiscard]] inline double attention_rate(const Processor& gpu) { return attention_rate(gpu, AttentionKernel::cudnn, gpu.peak16); }

/// Widths of queries and values of one head.
struct HeadWidth {
  double query, value;
  [[nodiscard]] double sum() const { return query + value; }
};

/// Attention of one rank: b sequences of s tokens, of which it has s/c as queries.
struct AttentionWork {
  double queries;      ///< b a s / c, of all its heads
  double keys;         ///< that a query may see
  HeadWidth head;      ///< each filled up to a tile of the matrix units (flash kernels: half of one)
  bool masked = true;  ///< causal: fused kernels leave out the half that the mask covers
  double bytes = 0;    ///< of queries, keys, values and results; they count in a stack's own kernels alone
};

/// Seconds of attention forward. \param precision of the layer's products
[[nodiscard]] double attention_seconds(const Processor& gpu, const Stack& stack, const AttentionWork& work, Precision precision);
[[nodiscard]] double attention_backward(const Processor& gpu, AttentionKernel kernel);

/// Bytes the element-wise kernels of a layer move around attention: `rows` of norms and residuals, T tokens of `width` (queries, keys,
/// values, results).
[[nodiscard]] double attention_traffic(const Processor& gpu, double rows, double hidden, double T, double width);
/// The same inside a feed-forward block of `width` (matrices x f of the rank).
[[nodiscard]] inline double block_traffic(double T, double width) { return 4 * T * width; }
/// The same of `routed` tokens' way into their experts, through them and out.
[[nodiscard]] double routed_traffic(const Processor& gpu, double routed, double hidden, double width);

/// Bytes that biases of experts add: they are scaled by the gate's weight, row by row, in kernels of their own.
[[nodiscard]] double biased_traffic(const Processor& gpu, double routed, double hidden, double width);
/// The same where dispatch writes them in the order of experts and the products take activation and sums into their own kernels: a
/// copy of the rows.
[[nodiscard]] inline double fused_routed_traffic(double routed, double hidden) { return 2 * routed * hidden; }

/// Seconds of an element-wise kernel on its own, with one block of 1,024 threads per row of `width` values.
/// The block loads twice per 1,024 values (two inputs of an activation; two passes of a norm), so a few rows
/// take as long as one: norm_4(width / 512 latency, row_traffic bytes / (em BW)). Source: kernels of vLLM, as
/// timed by vidur's profiles.
[[nodiscard]] double row_kernel_seconds(const Processor& gpu, double width, double bytes);

// The update of a rank's parameters by Adam: what it reads and writes, and the time of the kernel.
//
//   bytes     g + 2 o + w (2 w where the weights themselves are updated): gradient, states and weight are read, states and weight written
//   seconds   norm_2(n bytes / (em BW), n c / (SMs clock)): c cycles of a processor a parameter, which conversions, root and division
//             take beside the memory (Stack::update_cycles, of each software)
//
// g, o, w bytes of gradient, states with master weights, and weight (memory/stack.hpp); n parameters that the rank updates. With the
// remainders of master weights the 16-bit weight is half of the master: it is read too.

/// Bytes of memory traffic of one parameter's update.
[[nodiscard]] double update_bytes(const MemoryStack& stack);

/// Seconds of the update of `parameters`; never less than its bytes over the memory's rate.
[[nodiscard]] double update_seconds(const Processor& gpu, const Stack& stack, double parameters);

}  // namespace fabricost::plan
