#pragma once
/// \file constants.hpp
/// What a GPU generation reaches in the two kernels that training has not, and what a serving framework adds around all of them.
///
/// Values live in data/workloads/serving.yaml, fitted by `fabricost calibrate` on published serving runs; which published versions a stack
/// speaks for stands in data/workloads/serving-stacks.yaml. Until then those of data/priors/serving-*.yaml hold.

#include <fabricost/choice/inference.hpp>
#include <fabricost/kernels/moe_kernels.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <string>
#include <vector>

namespace fabricost {

/// Of one GPU generation, besides its ComputeConstants.
struct ServingConstants {
  double kv = prior::serving_gpu::kv;            ///< share of the memory rate at which attention reads cached keys and values
  double experts = prior::serving_gpu::experts;  ///< share of `gemm` that products of many experts with few rows each reach
};

/// Kernels of one layer: effective counts, named by what they stand for.
struct KernelCounts {
  double attention = prior::serving_kernels::attention;  ///< input product, rotary and cache write, attention, output product
  double latent = prior::serving_kernels::latent;    ///< two products down, two up, norms, rotary, cache write, the products folded into
                                                     ///< queries and outputs, attention
  double mixer = prior::serving_kernels::mixer;      ///< products, convolution, gates, the recurrence, norm
  double dense = prior::serving_kernels::dense;      ///< two products and the activation
  double experts = prior::serving_kernels::experts;  ///< router, top-k, sort, two grouped products, activation, weighted sum
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
  std::vector<std::string> published{};  ///< prefixes of the `backend` column (engine and version) that this stack describes

  double stretch = prior::serving_stack::stretch;            ///< factor on the kernels of a decode step or a prompt
  double step = prior::serving_stack::step;                  ///< s of every decode step besides: scheduling, sampling
  double sequence = prior::serving_stack::sequence;          ///< s of it per running sequence
  double interference = prior::serving_stack::interference;  ///< of a prompt's prefill, what running sequences wait for
  double host_launch = prior::serving_stack::host_launch;    ///< s of host time per kernel of a prefill, which runs outside CUDA graphs
  double first = prior::serving_stack::first;              ///< s from a request's arrival to its first token besides: HTTP, tokens to text
  double first_steps = prior::serving_stack::first_steps;  ///< decode steps that pass before a new prompt's turn and until its token is out
  double bunching = prior::serving_stack::bunching;        ///< prompts of all others a new one waits for, as a share
  double handover = prior::serving_stack::handover;  ///< s a request takes from a prefill worker to a decode worker besides the cache's
                                                     ///< way, where they are apart
  double bunching_apart = prior::serving_stack::bunching_apart;  ///< the same of those at one prefill worker, where prefill is apart:
                                                                 ///< nothing else spreads arrivals out
  double chunk = prior::serving_stack::chunk;                    ///< tokens of prompts a step takes at most
  double poll = 1;                                               ///< decode steps between two looks at what arrived
  double hold_steps = 0;                                         ///< decode steps prompts are held back for company, at most
  double hold_tokens = 0;                                        ///< and until so many of their tokens wait
  double memory_share =
      prior::serving_stack::memory_share;  ///< of the GPU's memory that weights and cache may fill (vLLM's --gpu-memory-utilization)
  double cache_share = 1;  ///< of what weights leave of that, what the cache may fill (TensorRT-LLM's free_gpu_memory_fraction)
  int drafts = 0;          ///< tokens guessed per step (multi-token prediction)
  double acceptance = prior::serving_stack::acceptance;  ///< of the guesses, those kept
  bool overlaps = false;  ///< two halves of a batch take turns: one computes while the other's tokens travel to experts and back
  ServingKernels kernels{};
  Launch decode_launch = Launch::graph, prefill_launch = Launch::eager;
  double length = 1;  ///< mean length of its published runs' prompts and answers over the nominal one

  double spread_tpot = prior::serving_stack::spread_tpot,
         spread_ttft = prior::serving_stack::spread_ttft;  ///< standard deviation, in log, of what the form leaves
  bool assumed_kernels = false;  ///< nobody measured what kernels of inference reach on this generation; the spreads hold that

  /// Tokens a step yields per sequence: 1 + A + A^2 ... of d drafts, each kept only if those before it are.
  [[nodiscard]] double tokens_per_step() const {
    double out = 1, kept = 1;
    for (int d = 0; d < drafts; ++d) out += kept *= acceptance;
    return out;
  }
};

}  // namespace fabricost
