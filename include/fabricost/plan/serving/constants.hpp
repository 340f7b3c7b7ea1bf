#pragma once
/// Kernel efficiencies of a GPU generation in inference, relative to its datasheet, and the overheads of a
/// serving framework.
///
/// Values are in data/workloads/serving.yaml, fitted by `fabricost calibrate` to published serving runs;
/// data/workloads/serving-stacks.yaml lists the published versions that a stack describes. Before a fit, the
/// values of data/priors/serving-*.yaml are used.

#include <fabricost/choice/engine_kernels.hpp>
#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <string>
#include <vector>

namespace fabricost::plan {

/// Constants of one GPU generation, besides its ComputeConstants.
struct ServingConstants {
  double kv = prior::serving_gpu::kv;            ///< share of the memory rate at which attention reads cached keys and values
  double experts = prior::serving_gpu::experts;  ///< share of `gemm` that products of many experts with few rows each reach (expert_share)
  double experts4 = prior::serving_gpu::experts4;  ///< the same of experts in 4 bits that the GPU multiplies so
  double weights8 = prior::serving_gpu::weights8,
         weights4 = prior::serving_gpu::weights4;  ///< rate at which weights of 8 and 4 bits outside of
                                                   ///< experts are read, over that of 16 bits
};

/// Rows of one expert in the fullest passes that `experts` was fitted to: 8,192 tokens of Qwen3 over 128 experts, 8 each.
inline constexpr double fitted_expert_rows = 512;
/// Share of `gemm` that the products of experts reach with so many rows each. Beyond the fitted ones the rows' worth that an expert loses
/// (tiles half filled, its own start) is the same for any number of them: m / (m + lost).
[[nodiscard]] constexpr double expert_share(double experts, double rows) {
  if (rows <= fitted_expert_rows) return experts;
  const double lost = fitted_expert_rows * (1 / experts - 1);
  return rows / (rows + lost);
}

/// Kernels of one layer: effective counts. The comments list the kernels that each stands for.
struct KernelCounts {
  double attention = prior::serving_kernels::attention;  ///< input product, rotary and cache write, attention, output product
  double latent = prior::serving_kernels::latent;  ///< two products down, two up, norms, rotary, cache write, the products folded into
                                                   ///< queries and outputs, attention
  double norms = prior::serving_kernels::norms;    ///< of queries and keys, where a model has them
  double index = prior::serving_kernels::index;    ///< of an indexer: products, norm, rotary, rotations, casts, cache write, scores, top-k
  double mixer = prior::serving_kernels::mixer;    ///< products, convolution, gates, the recurrence, norm
  double dense = prior::serving_kernels::dense;    ///< two products and the activation
  double experts4 = prior::serving_kernels::experts4;  ///< of experts in 4 bits that the GPU multiplies so: router, top-k and sort, two
                                                       ///< grouped products, the first with gather and activation, weighted sum
  double experts = prior::serving_kernels::experts;    ///< router, top-k, sort, two grouped products, activation, weighted sum
};

enum class ServingPhase : unsigned char { prefill, decode };
/// The way in which kernels are launched: replayed from a CUDA graph, or one by one by the host.
enum class Launch : unsigned char { graph, eager };

/// The kernels that move data while serving, and how tokens choose experts.
struct ServingKernels {
  Inference reduce{.library = InferenceLibrary::vllm};  ///< of all-reduces, in the version of the runs that the stack describes
  std::vector<MoeKernel> experts_prefill{MoeKernel::deepep_normal}, experts_decode{MoeKernel::deepep_low_latency};
  bool gathers = true;           ///< can gather all tokens and scatter their sums instead
  bool divides_experts = false;  ///< can distribute experts over some of the ranks and split each over the rest
  Routing routing{};
  int copies = 0;  ///< of the busiest experts of a layer, beside one of each
  double scale = 1;  ///< factor on all kernels but exchanges
};

/// What the published runs had that a stack was fitted to: the largest of each load, 0 if unknown, and the models, none if unknown.
struct MeasuredRuns {
  double sequences = 0;           ///< running, of a GPU
  double prompt = 0, answer = 0;  ///< tokens
  std::vector<std::string> models{};
  bool apart = false;  ///< prompts were read by workers of their own in some of them
};

/// Standard deviations, in log, around the model.
struct ServingSpread {
  double tpot = 0, ttft = 0;
};

/// Constants of one serving framework.
struct ServingStack {
  std::string name = "vllm";
  std::string title{};
  std::vector<std::string> vendors{};  ///< of the GPUs that it runs on; empty: any

  double stretch = prior::serving_stack::stretch;          ///< factor on the kernels of every pass
  double prefill = prior::serving_stack::prefill;          ///< further factor on the kernels of a prefill
  double starts = prior::serving_stack::starts;            ///< further factor on the minimum times of kernels
  double step = prior::serving_stack::step;                ///< further s of every decode step: scheduling, sampling
  double sequence = prior::serving_stack::sequence;        ///< the same per running sequence
  double host_launch = prior::serving_stack::host_launch;  ///< s of host time per kernel of a prefill, which runs outside CUDA graphs
  double first = prior::serving_stack::first;              ///< further s from a request's arrival to its first token: HTTP, detokenization
  double first_steps = prior::serving_stack::first_steps;  ///< decode steps before a new prompt's turn and until its first token
  double bunching = prior::serving_stack::bunching;        ///< share of the prompts of all others that a new one waits for
  double handover = prior::serving_stack::handover;  ///< s from a prefill worker to a decode worker, without the transfer of the cache, for
                                                     ///< disaggregated prefill
  double bunching_apart = prior::serving_stack::bunching_apart;  ///< `bunching` where prefill is apart: clients that start at once
  double chunk = prior::serving_stack::chunk;                    ///< maximum prompt tokens of a step
  double captured = 0;                                           ///< most tokens of a step that also reads prompts in a CUDA graph
  double poll = 1;                                               ///< decode steps between two checks for arrivals
  double hold_steps = 0;                                         ///< maximum decode steps for which prompts are held back to be batched
  double hold_tokens = 0;                                        ///< waiting prompt tokens that end the hold
  double together = 0;  ///< most decode steps for which replicas of attention read no prompt until each of them has one
  double memory_share =
      prior::serving_stack::memory_share;  ///< fraction of the GPU's memory for weights and cache (vLLM's --gpu-memory-utilization)
  double cache_share = 1;  ///< fraction of the memory left by weights that the cache may use (TensorRT-LLM's free_gpu_memory_fraction)
  int drafts = 0;          ///< draft tokens per step (multi-token prediction)
  double acceptance = prior::serving_stack::acceptance;  ///< fraction of the drafts that is accepted
  bool overlaps = false;  ///< two half batches alternate: one computes while the other's tokens travel to experts and back
  ServingKernels kernels{};
  Launch decode_launch = Launch::graph, prefill_launch = Launch::eager;

  double spread_tpot = prior::serving_stack::spread_tpot,
         spread_ttft = prior::serving_stack::spread_ttft;  ///< standard deviation, in log, around the model
  MeasuredRuns measured{};
  ServingSpread unseen_model{}, unseen_apart{};  ///< further ones of a model that no run had, and of prefill apart where none had it
  bool assumed_kernels = false;                  ///< inference kernels of this generation were not measured; the spreads include that

  /// Tokens per step and sequence: 1 + A + A^2 ... of d drafts, each accepted only if all before it are.
  [[nodiscard]] double tokens_per_step() const {
    double out = 1, kept = 1;
    for (int d = 0; d < drafts; ++d) out += kept *= acceptance;
    return out;
  }
  /// All that is no exchange takes `factor` times as long.
  void scale(double factor) {
    kernels.scale *= factor;
    for (double* one : {&step, &sequence, &host_launch}) *one *= factor;
  }
  /// Drafts `tokens` a step, each of which takes `each` of a pass longer; the module reads prompts once.
  void draft(int tokens, double each) {
    drafts = tokens;
    const double longer = 1 + tokens * each;
    stretch *= longer;
    prefill *= (1 + each) / longer;
  }
};

}  // namespace fabricost::plan
