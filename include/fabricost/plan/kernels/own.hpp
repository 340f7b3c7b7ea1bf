#pragma once
/// Kernels as somebody timed them on one GPU: a roofline for each kind and precision, which a stack may hold beside its recipe (`kernels:`
/// of its file). Where it does, steps on that GPU are priced with them in place of the generation's constants.
///
///   gemm                start + norm_q(flops / (share P), bytes / (memory BW), depth K)
///   experts             the same without K, for each of the two products of all experts
///   attention           start + (flops + those of 128 more queries on each processor) / (share P) + bytes / (memory BW) + tb for each block of
///                       128 queries of a processor (form.attention_block)
///   attention_backward  the same with five products for two
///   decode              start + norm_2(bytes / (memory BW), depth context): attention of one token to its context
///   optimizer, memory   start + bytes / (memory BW)
///
/// depth: a block of the result goes along the side that it sums over step by step, however few blocks there are.
/// The 128 queries: blocks of so many are handed to processors, and one in the middle of a sequence is half done when the others are.

#include <fabricost/hardware/kinds.hpp>
#include <fabricost/plan/model/layout.hpp>

#include <array>
#include <string>
#include <string_view>

namespace fabricost::plan {

enum class KernelKind : unsigned char { gemm, experts, attention, attention_backward, decode, optimizer, memory };
inline constexpr std::array<std::string_view, 7> kernel_kind_names{"gemm",   "experts",   "attention", "attention_backward",
                                                                   "decode", "optimizer", "memory"};
/// fp8_block: a scale for each block of values, rather than each tensor.
enum class KernelPrecision : unsigned char { bf16, fp8, fp8_block, fp4 };
inline constexpr std::array<std::string_view, 4> kernel_precision_names{"bf16", "fp8", "fp8_block", "fp4"};

[[nodiscard]] constexpr KernelPrecision kernel_precision(Precision p) {
  return p == Precision::fp8 ? KernelPrecision::fp8 : p == Precision::fp4 ? KernelPrecision::fp4 : KernelPrecision::bf16;
}
[[nodiscard]] constexpr Precision precision_of(KernelPrecision p) {
  return p == KernelPrecision::bf16 ? Precision::bf16 : p == KernelPrecision::fp4 ? Precision::fp4 : Precision::fp8;
}

/// One roofline.
struct KernelRate {
  double share = 0;   ///< of the dense peak of its precision; of kernels that only move bytes 1
  double memory = 1;  ///< of the memory's rate
  double start = 0;   ///< seconds
  double depth = 0;   ///< seconds for each value of the side that a product or decode sums over
  bool operator==(const KernelRate&) const = default;
  [[nodiscard]] bool known() const { return share > 0; }
};

/// A roofline of a GPU, as a stack's file has it.
struct OwnKernel {
  std::string gpu;
  KernelKind kind{};
  KernelPrecision precision{};
  KernelRate rate{};
  double spread = 0;  ///< standard deviation, in log, of times around it
  int rows = 0;       ///< times that it was fitted to
  bool operator==(const OwnKernel&) const = default;
};

/// Those of one GPU; kinds that were not timed are not known.
struct KernelRates {
  std::array<std::array<KernelRate, kernel_precision_names.size()>, kernel_kind_names.size()> at{};

  [[nodiscard]] const KernelRate& of(KernelKind kind, Precision p = Precision::bf16) const {
    return at[static_cast<std::size_t>(kind)][static_cast<std::size_t>(kernel_precision(p))];
  }
  [[nodiscard]] KernelRate& of(KernelKind kind, KernelPrecision p) {
    return at[static_cast<std::size_t>(kind)][static_cast<std::size_t>(p)];
  }
};

/// Products of attention's backward over those of its forward: five for two.
inline constexpr double backward_products = double{5} / 2;
/// Queries that a processor takes at a time in fused attention.
inline constexpr double attention_block = 128;

}  // namespace fabricost::plan
