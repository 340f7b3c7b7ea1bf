#pragma once
/// The properties of a job's software that affect its time: kernels, fusion, overlap of communication and
/// work. Named stacks are in data/stacks; `scale` is the one number that users calibrate for their own stack.

#include <fabricost/experts/routing.hpp>
#include <fabricost/hardware/kinds.hpp>
#include <fabricost/parameters/interval.hpp>
#include <fabricost/plan/kernels/own.hpp>
#include <fabricost/plan/memory/stack.hpp>
#include <fabricost/plan/model/layout.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// Attention kernels: cuDNN's, and on other makers' processors their own library's; FlashAttention-3 and 2; scores written to memory.
enum class AttentionKernel : unsigned char { cudnn, flash3, flash2, math };
inline constexpr std::array<std::string_view, 4> attention_kernel_names{"cudnn", "flash3", "flash2", "math"};

/// The stack of processors that none was fitted on, and of published steps whose software is not told.
inline constexpr const char* unfitted_stack = "megatron-core";
/// The stack where none is named: on each maker's GPUs that of the most published steps that users run today.
[[nodiscard]] constexpr const char* usual_stack(Generation g) {
  if (g == Generation::tpu) return "maxtext-tpu";
  if (g == Generation::blackwell) return "nemo-2025-09";
  if (is_nvidia(g)) return "nemo";
  return g < Generation::tpu ? "rocm-mlperf" : unfitted_stack;
}

/// Which steps a fit saw.
struct StepsSeen {
  /// On GPUs of one generation.
  struct On {
    Generation generation{};
    double spread = 0;  ///< standard deviation, in log, of these steps around the model
    bool operator==(const On&) const = default;
  };
  std::vector<On> on{};
  bool experts = false, fp4 = false;  ///< some were of models with experts, or with products in fp4

  [[nodiscard]] const On* find(Generation g) const {
    const auto at = std::find_if(on.begin(), on.end(), [g](const On& one) { return one.generation == g; });
    return at == on.end() ? nullptr : &*at;
  }
  [[nodiscard]] bool of(Generation g) const { return find(g) != nullptr; }
  /// The larger spread counts where the generation was seen already.
  void add(On there) {
    const auto at = std::find_if(on.begin(), on.end(), [&](const On& one) { return one.generation == there.generation; });
    if (at == on.end())
      on.push_back(there);
    else
      at->spread = std::max(at->spread, there.spread);
  }
  bool operator==(const StepsSeen&) const = default;
};

/// Layers that a program can recompute in full: any number, as many of each chunk of a stage (Megatron-Core's block), or all.
enum class Recomputes : unsigned char { layers, chunks, all };
inline constexpr std::array<std::string_view, 3> recomputes_names{"layers", "chunks", "all"};

/// What a search proposes because the program can run it; a request may name any other layout.
struct StackRuns {
  std::vector<int> zero{0, 1, 2, 3};  ///< with stages 2 is 1
  Recomputes recomputes = Recomputes::layers;
  bool divides_any = true;  ///< modules are recomputed by name, end stages hold other numbers of layers, states wait in host memory
  bool any_rank_order = true;  ///< stages or data innermost, context ranks by heads; else data, and rings
};

struct Stack {
  std::string name = unfitted_stack;
  std::string title{};
  AttentionKernel attention = AttentionKernel::cudnn;
  bool fp8_attention = false; ///< the products of fused attention run in fp8 where those of the layer are narrow
  bool old_kernels = false;   ///< element-wise kernels of stacks before fused attention
  bool eager_loss = false;    ///< cross entropy in separate kernels
  double tensor_exposed = 1;  ///< share of tensor-parallel communication that is not hidden by matrix products
  double data_exposed = 1;    ///< without stages: share of the gradient exchange not hidden, of what would fit behind the last backward
  double context_exposed =
      prior::stack::context_exposed;  ///< share of the ring exchange of keys and values that is not hidden by attention
  double expert_exposed = 1;          ///< share of the token exchange that is not hidden
  double gradient_bytes = 4;          ///< per parameter, in the exchange of gradients
  double accumulation_bytes = 4;      ///< memory traffic of adding up gradients, per local parameter and microbatch
  double shard_exposed = prior::stack::shard_exposed;  ///< share of gathering the weights per microbatch (ZeRO-3, FSDP) that is not hidden
  double elementwise = 1;    ///< time of element-wise kernels of layers with RMS norms and gates over that of fused ones; layer norms
                             ///< and plain activations are single kernels everywhere
  double update_cycles = 0;  ///< cycles of a processor (SM) that the optimizer's kernel takes for a parameter; 0: its bytes alone
  double launches = 1;       ///< the host's time for a layer's launches over that of current programs (layer_floor)
  double input = 0;       ///< seconds of a step that wait for data
  double evaluation = 0;  ///< passes over data held out, as a share of the time of training steps
  double compute_share = 1;  ///< share of the GPU's processors that remains for kernels while others drive the exchange behind them
  bool deduplicated = false;             ///< expert exchange sends a token once per node (DeepEP), not once per expert
  bool fused_experts = false;  ///< dispatch sorts rows by expert; activation, casts and sums run inside the experts' products
  double scale = 1;                      ///< factor on kernels and the host's launches
  double release = 1;  ///< time of its kernels over that of the release that its program's fitted factor is of
  bool scale_given = false;              ///< by a user: one that beats the peak is refused then, a fitted one bounds the products
  bool offloads_inputs = false;          ///< a search also keeps the inputs of recomputed layers in host memory
  bool prunes_recompute = false;         ///< full recomputation leaves out what no backward reads: a layer's last product
  std::string factor_of{};  ///< the stack whose factor it has, fitted to the steps of both; empty: its own
  double spread = prior::stack::spread;  ///< standard deviation, in log, of this stack's steps around the model
  RoutingKind routing = RoutingKind::balanced;  ///< how tokens choose experts: balanced, as benchmarks force it; zipf; uniform
  double zipf_exponent = 1;                     ///< of zipf
  double capacity = 0;   ///< rows per expert over the mean, above which choices are dropped; 0: all rows are kept
  MemoryStack memory{};  ///< its memory use
  std::vector<PipelineSchedule> schedules{PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved};  ///< that it can run
  StackRuns runs{};
  StepsSeen seen{};  ///< what its steps were fitted on
  std::vector<OwnKernel> kernels{};  ///< as they were timed, on the GPUs that they were timed on
};

/// The name that its factor was fitted under.
[[nodiscard]] inline const std::string& fitted_name(const Stack& stack) { return stack.factor_of.empty() ? stack.name : stack.factor_of; }

/// The name under which a fit says what the factors of programs have in common: the factor of a program that it saw no step of.
inline constexpr const char* unseen_program = "unseen";

/// What a fit found of a stack, whose factor others of the same program (`factor`) have too.
struct FittedStack {
  std::string name, factor{};
  double scale = 1, deviation = 0;  ///< the factor and its standard deviation in log
  double spread = prior::stack::spread;  ///< standard deviation, in log, of what is left of its own steps
  int rows = 0;
  StepsSeen seen{};
  bool operator==(const FittedStack&) const = default;
};

/// Gives a stack what was fitted: the factor of its program, the spread of its own steps, and on generations that only variants of the
/// program ran the larger of both spreads. One without steps of its own keeps the spread of unseen software, or its file's, and of a program
/// without any has the factor that the others have in common.
void take_fitted(Stack& stack, const std::vector<FittedStack>& all);

/// The properties of a step, besides its stack, that its spread depends on.
struct StepKind {
  Generation generation{};
  Precision precision = Precision::bf16;
  bool experts = false;  ///< the model has experts
  bool assumed = false;  ///< kernel efficiencies of this generation were not measured
  bool other_kind = false;  ///< no step of such a model was fitted: not a decoder, beside an encoder of images, or with layers that keep a state
  bool sibling = false;  ///< they were, on other processors of it, as the stack's steps were
};

/// Standard deviation, in log, of a step: of the steps that were fitted on its generation, else the stack's own and, where its steps were
/// on others, that of a program without steps; of experts and of fp4 where none of its program's steps had any; of kinds of models that no fit saw; of assumed kernels (data/priors/stack.yaml).
[[nodiscard]] double spread_of(const Stack& stack, const StepKind& step);

}  // namespace fabricost::plan
