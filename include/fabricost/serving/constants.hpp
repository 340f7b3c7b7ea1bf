#pragma once
/// \file constants.hpp
/// What a GPU generation reaches of its datasheet in the kernels of inference, and what a serving framework adds around them.
///
/// Values live in data/workloads/serving.yaml, fitted by `fabricost calibrate` on published serving runs; which published versions a stack
/// speaks for stands in data/workloads/serving-stacks.yaml. The defaults are the middle of what was fitted on Hopper and Blackwell.

#include <fabricost/choice/inference.hpp>
#include <fabricost/kernels/moe_kernels.hpp>

#include <string>
#include <vector>

namespace fabricost {

/// Of one GPU generation.
struct ServingConstants {
  double kernel = 5e-6;      ///< s a kernel takes in a CUDA graph beyond its work: launch, prologue, tail
  double memory = 0.92;      ///< share of the memory rate weights stream at: 7.35 of 8 TB/s measured on a GB200 (Azure ND GB200 v6)
  double kv = 0.65;          ///< the same of attention reading cached keys and values
  double gemm = 0.65;        ///< share of the dense peak of products
  double gemm_fp8 = 0.7;     ///< of the fp8 peak, as a share of `gemm`
  double gemm_fp4 = 0.7;     ///< of the fp4 peak, as a share of `gemm`
  double experts = 0.25;     ///< share of `gemm` that products of many experts with few rows each reach
  double attention = 0.5;    ///< share of the 16-bit peak of fused attention
  double elementwise = 4.5;  ///< 16-bit reads and writes of the hidden width per token and layer, in units of 8
};

/// Kernels of one layer: effective counts. A free fit of the same published runs gave 4.1, 10.8, 14.0, 3.1 and 6.9; rounded, and named by
/// what they stand for. They were not counted in any trace.
struct KernelCounts {
  double attention = 4;  ///< input product, rotary and cache write, attention, output product
  double latent = 11;    ///< two products down, two up, norms, rotary, cache write, the products folded into queries and outputs, attention
  double mixer = 14;     ///< products, convolution, gates, the recurrence, norm
  double dense = 3;      ///< two products and the activation
  double experts = 7;    ///< router, top-k, sort, two grouped products, activation, weighted sum
};

enum class ServingPhase : unsigned char { prefill, decode };
/// How kernels reach the GPU: replayed from a CUDA graph, or each called by the host.
enum class Launch : unsigned char { graph, eager };

/// Whose kernels move data while serving, and how experts are chosen.
struct ServingKernels {
  Inference reduce{.library = InferenceLibrary::vllm};  ///< of all-reduces; its version is that of the runs the stack speaks for
  std::vector<MoeKernel> experts_prefill{MoeKernel::deepep_normal}, experts_decode{MoeKernel::deepep_low_latency};
  bool gathers = true;  ///< can gather all tokens and scatter their sums instead
  Routing routing{};
};

/// Of a serving framework.
struct ServingStack {
  std::string name = "vllm";
  std::string title{};
  std::vector<std::string> published{};  ///< beginnings of `backend` cells it speaks for

  double stretch = 1;          ///< factor on a decode step's kernels
  double step = 0.4e-3;        ///< s of every decode step besides: scheduling, sampling
  double sequence = 4e-6;      ///< s of it per running sequence
  double interference = 0.7;   ///< of a prompt's prefill, what running sequences wait for
  double host_launch = 90e-6;  ///< s of host time per kernel of a prefill, which runs outside CUDA graphs
  double first = 0.03;         ///< s from a request's arrival to its first token besides: HTTP, tokens to text
  double first_steps = 2;      ///< decode steps that pass before a new prompt's turn and until its token is out
  double bunching = 0.07;      ///< prompts of all others a new one waits for, as a share
  double handover = 0.03;      ///< s a request takes from a prefill worker to a decode worker besides the cache's way, where they are apart
  double bunching_apart = 0.15;  ///< the same of those at one prefill worker, where prefill is apart: nothing else spreads arrivals out
  double chunk = 8192;           ///< tokens of prompts a step takes at most
  double poll = 1;               ///< decode steps between two looks at what arrived
  double hold_steps = 0;         ///< decode steps prompts are held back for company, at most
  double hold_tokens = 0;        ///< and until so many of their tokens wait
  double memory_share = 0.9;     ///< of the GPU's memory that weights and cache may fill (vLLM's --gpu-memory-utilization)
  double cache_share = 1;        ///< of what weights leave of that, what the cache may fill (TensorRT-LLM's free_gpu_memory_fraction)
  int drafts = 0;                ///< tokens guessed per step (multi-token prediction)
  double acceptance = 0.8;       ///< of the guesses, those kept
  bool overlaps = false;         ///< two halves of a batch take turns: one computes while the other's tokens travel to experts and back
  ServingKernels kernels{};
  Launch decode_launch = Launch::graph, prefill_launch = Launch::eager;
  double length = 1;  ///< mean length of its published runs' prompts and answers over the nominal one

  double spread_tpot = 0.15, spread_ttft = 0.3;  ///< standard deviation, in log, of what the form leaves
  bool assumed_kernels = false;  ///< nobody measured what kernels of inference reach on this generation; the spreads hold that

  /// Tokens a step yields per sequence: 1 + A + A^2 ... of d drafts, each kept only if those before it are.
  [[nodiscard]] double tokens_per_step() const {
    double out = 1, kept = 1;
    for (int d = 0; d < drafts; ++d) out += kept *= acceptance;
    return out;
  }
};

}  // namespace fabricost
