/// \file kernel_names.cpp
/// The limit of a kernel that computes, by its name: cuBLAS (gemm, nvjet, xmma, s16816...), CUTLASS, rocBLAS and hipBLASLt (Cijk_),
/// MIOpen (igemm), Composable Kernel, FlashAttention, cuDNN's and AITER's attention, PyTorch's own (at::native), Triton as inductor names
/// it (triton_poi, triton_red, triton_per), Apex, TransformerEngine, Liger, vLLM. The first part that a name has counts.

#include "readings/traces/traced.hpp"
#include "text/ascii.hpp"

#include <algorithm>
#include <string>

namespace fabricost::observe {

namespace {

struct NamedWork {
  std::string_view words;
  Work work;
};

/// Small letters. Operations fused with a product do not count; kernels around attention move data.
constexpr std::array<NamedWork, 75> works{{{"splitkreduce", Work::memory}, {"preprocess", Work::memory}, {"postprocess", Work::memory},
                                           {"dot_do_o", Work::memory}, {"convertdq", Work::memory}, {"convert_dq", Work::memory},
                                           {"::utils::", Work::memory}, {"fbgemm_gpu", Work::memory}, {"gemv", Work::memory},
                                           {"pytorch_flash", Work::attention_old},
                                           {"flash_fwd_kernel", Work::attention_old},
                                           {"flash_bwd_dq", Work::attention_old},
                                           {"fmha_cutlass", Work::attention_old},
                                           {"_attn_fwd", Work::attention_old},
                                           {"_attn_bwd", Work::attention_old},
                                           {"flash", Work::attention}, {"fmha", Work::attention}, {"attn", Work::attention},
                                           {"attention", Work::attention}, {"sdpa", Work::attention}, {"gemm", Work::product},
                                           {"nvjet", Work::product}, {"cijk_", Work::product}, {"xmma", Work::product},
                                           {"matmul", Work::product}, {"_mm_", Work::product}, {"triton_mm", Work::product},
                                           {"triton_tem", Work::product}, {"convolve", Work::product}, {"conv_fwd", Work::product},
                                           {"conv_bwd", Work::product}, {"grouped_conv", Work::product}, {"conv2d", Work::product},
                                           {"winograd", Work::product}, {"dgrad", Work::product}, {"wgrad", Work::product},
                                           {"fprop", Work::product}, {"memset", Work::memory}, {"transpose", Work::memory},
                                           {"quantize", Work::memory}, {"cast", Work::memory}, {"elementwise", Work::memory},
                                           {"reduce", Work::memory}, {"norm", Work::memory}, {"softmax", Work::memory},
                                           {"triton_poi", Work::memory}, {"triton_red", Work::memory}, {"triton_per", Work::memory},
                                           {"multi_tensor", Work::memory}, {"adam", Work::memory}, {"dropout", Work::memory},
                                           {"embedding", Work::memory}, {"embs", Work::memory}, {"cross_entropy", Work::memory},
                                           {"copy", Work::memory}, {"swiglu", Work::memory}, {"silu", Work::memory},
                                           {"gelu", Work::memory}, {"rope", Work::memory}, {"rotary", Work::memory},
                                           {"index", Work::memory}, {"indices", Work::memory}, {"gather", Work::memory},
                                           {"scatter", Work::memory}, {"permute", Work::memory}, {"sort", Work::memory},
                                           {"topk", Work::memory}, {"scan", Work::memory}, {"pool", Work::memory},
                                           {"concat", Work::memory}, {"fill", Work::memory}, {"bias", Work::memory},
                                           {"subtensor", Work::memory}, {"nll_loss", Work::memory}, {"at::native", Work::memory}}};

/// Products of numbers of one byte name them.
constexpr std::array<std::string_view, 5> narrow{"fp8", "e4m3", "e5m2", "f8f8", "_f8"};

}  // namespace

Work work_of_kernel(std::string_view kernel) {
  constexpr std::size_t enough = 600;  // CUTLASS spells whole programs in its templates
  std::string text(kernel.substr(0, enough));
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return lower(c); });
  const std::string_view own = std::string_view(text).substr(0, text.find('('));
  const std::string_view head = own.empty() ? std::string_view(text) : own;
  const auto has = [&](std::string_view words) { return head.find(words) != std::string_view::npos; };
  for (const NamedWork& one : works) {
    if (!has(one.words)) continue;
    if (one.work != Work::product) return one.work;
    return std::any_of(narrow.begin(), narrow.end(), has) ? Work::product_8 : Work::product;
  }
  return Work::unknown;
}

Work work_of_copy(std::string_view name) {
  return name.find("DtoD") != std::string_view::npos || name.find("emset") != std::string_view::npos ? Work::memory : Work::host_copy;
}

}  // namespace fabricost::observe
