#pragma once
/// A machine with the kernel efficiencies of inference and the costs of an engine's collectives.
///
///   all-reduce   the engine's own kernel below its hand-over size, else NCCL's choice (choice/engine_kernels.hpp); called from
///                Python where it is not replayed from a CUDA graph
///   experts      the cheapest option of the engine: its kernels of dispatch and combine (experts.hpp), or a gather of all
///                tokens and a scatter of their sums; NCCL's all_to_all where neither is available
///
/// The kernels of each engine are listed in data/workloads/serving-stacks.yaml.

#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/kernels/groups.hpp>
#include <fabricost/plan/model/model.hpp>
#include <fabricost/plan/serving/constants.hpp>
#include <fabricost/plan/serving/experts.hpp>

#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>

namespace fabricost::plan {

/// The format in which weights are stored and multiplied; `int4`: stored in 4 bits, multiplied in 16.
enum class WeightFormat : unsigned char { bf16, fp8, fp4, int4 };
inline constexpr std::array<std::string_view, 4> weight_format_names{"bf16", "fp8", "fp4", "int4"};
[[nodiscard]] constexpr std::string_view name(WeightFormat f) { return weight_format_names[static_cast<std::size_t>(f)]; }
/// Bytes per weight with block scales; int4 has as many as fp4.
[[nodiscard]] constexpr double weight_bytes(WeightFormat f) {
  return f == WeightFormat::bf16 ? bytes_of(Precision::bf16) : f == WeightFormat::fp8 ? bytes_of(Precision::fp8) : bytes_in_4_bit;
}

/// A machine as an engine uses it. The system must outlive it. Keeps compiled curves; not thread-safe.
class ServingMachine {
 public:
  /// \throws RequestError when its GPU's 16-bit peak is unknown
  ServingMachine(const System& system, const ServingConstants& reached, ServingKernels engine = {})
      : constants(reached),
        engine_(std::move(engine)),
        gpu_(Processor::of(system)),
        nccl_(system),
        reduce_(system, {.inference = engine_.reduce}),
        has_fp4_(system.gpu.fp4.value.value() > 0) {}

  ServingConstants constants;
  KernelCounts kernels;

  [[nodiscard]] const System& system() const { return nccl_.system(); }
  [[nodiscard]] const ServingKernels& engine() const { return engine_; }
  [[nodiscard]] const Processor& gpu() const { return gpu_; }
  /// Other constants than its system's, as a fit tries them.
  void reach(const ComputeConstants& c) { gpu_.use(c); }
  [[nodiscard]] double memory() const { return gpu_.memory; }
  [[nodiscard]] GroupCosts& costs() { return nccl_; }
  /// FLOP/s of large products.
  [[nodiscard]] double product_rate(WeightFormat f) const { return fabricost::plan::product_rate(gpu_, multiplied_in(f)); }
  [[nodiscard]] bool multiplies_in_4_bit(WeightFormat f) const { return multiplied_in(f) == Precision::fp4; }
  /// The most that any product reaches.
  [[nodiscard]] double peak(WeightFormat f) const { return gpu_.peak(multiplied_in(f)); }

  /// All-reduce of `bytes` over `ranks` neighbouring GPUs, by the engine's kernel or NCCL. An engine's kernel
  /// called from Python copies its buffer first (host_call). \throws RequestError when the machine
  /// cannot join the ranks
  [[nodiscard]] double all_reduce_seconds(int ranks, double bytes, Launch launch = Launch::graph);

  /// Exchange of one layer's tokens with the experts and back, for `tokens` tokens per rank. The dispatch has
  /// the precision of the weights where the kernel supports it, the combine has 16 bits. \throws RequestError
  /// when the machine cannot join the ranks
  [[nodiscard]] double exchange_seconds(const Model& m, int ranks, int ep, double tokens, WeightFormat weights, ServingPhase phase);

  /// Rows of the fullest of `ep` expert ranks over the mean, for `tokens` tokens each; 1 for balanced
  /// choices, and where every rank has a part of every expert.
  [[nodiscard]] double fullest(const Model& m, int ep, double tokens) { return loads(m, ep)(tokens); }
  /// Experts of a layer that all ranks together hold, copies included.
  [[nodiscard]] int held_experts(const Model& m, int ep) const { return (m.experts + engine_.copies + ep - 1) / ep * ep; }
  /// Share of a layer's experts that `tokens` tokens touch together.
  [[nodiscard]] double touched_share(const Model& m, double tokens);

 private:
  /// The available ways for a group of ranks to exchange tokens.
  struct ExchangeWays {
    Placement at;
    std::vector<ExpertRoundTrip> kernels;
    bool gathers = true;
    const ExpertCurve* messages = nullptr;  ///< NCCL's, where no other is available
    double narrow = 1;                      ///< bytes of the dispatch over those of the combine
  };
  [[nodiscard]] Precision multiplied_in(WeightFormat f) const {
    return f == WeightFormat::fp8 ? Precision::fp8 : f == WeightFormat::fp4 && has_fp4_ ? Precision::fp4 : Precision::bf16;
  }
  using WaysKey = std::tuple<int, int, int, int, int, int, int, WeightFormat, ServingPhase>;

  [[nodiscard]] const ExchangeWays& ways_of(const Model& m, int ranks, int ep, WeightFormat weights, ServingPhase phase);
  [[nodiscard]] ExchangeWays find_ways(const Model& m, int ranks, int ep, WeightFormat weights, ServingPhase phase);
  /// The gate with as many experts as the ranks hold.
  [[nodiscard]] Gate divided_gate(const Model& m, int ep) const;
  /// Of the experts in the order of the ranks that hold them, copies included.
  [[nodiscard]] const Popularity& popularity(const Model& m, int ep);
  /// Rows of the fullest rank over the mean, by the tokens of a rank.
  [[nodiscard]] const Imbalance& loads(const Model& m, int ep);

  ServingKernels engine_;
  Processor gpu_;
  GroupCosts nccl_, reduce_;
  bool has_fp4_ = false;
  std::map<WaysKey, std::unique_ptr<ExchangeWays>> ways_;
  std::array<std::pair<WaysKey, const ExchangeWays*>, 2> last_ways_{};
  std::map<std::pair<int, int>, std::unique_ptr<TouchedExperts>> touched_;
  std::map<std::tuple<int, int, int>, Imbalance> copied_;  ///< with copies, by experts, choices and ranks
  std::map<std::tuple<int, int, int>, Popularity> chosen_;
};

}  // namespace fabricost::plan
