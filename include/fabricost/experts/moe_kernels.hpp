#pragma once
/// Dispatch and combine of one expert layer with the kernels of inference engines: DeepEP's normal and
/// low-latency ones, TensorRT-LLM's over NVLink, MORI's over xGMI, or NCCL's all_to_all. Derives the inputs of price/moe.hpp
/// from a request.
///
///   kernel              copies of a token    to other domains                       element types
///   deepep-normal       one per rank         one per domain, forwarded over NVLink  dispatch fp8, combine bf16
///   deepep-low-latency  one per expert       one per expert                         dispatch fp8, combine bf16
///   trtllm-*            one per rank         not supported                          bf16, fp8, nvfp4
///   mori                one per rank         not supported                          dispatch fp8, combine bf16
///   nccl                one per expert       one per expert                         any
///   data/exchanges      as the kernel whose form each has, with its own factor, start, time of a token and SMs: NCCL EP, NIXL EP, DeepEP V2
///
/// Copies are expectations over uniform choices (routing.hpp); `balanced` is the choice that benchmarks
/// force: each token goes to min(k, ranks) ranks. Skewed choices multiply bytes and the work of copies by the
/// fullest receiver's copies over those of uniform ones (experts/imbalance.hpp); a token sends one copy at most
/// to a rank or domain where copies are made for those. What a rank does for each token that it sends is the
/// same for all choices. Across domains, the NICs carry the
/// transport's efficiency times their rate, a network step is added, and both paths overlap.

#include <fabricost/experts/expert_exchange.hpp>
#include <fabricost/hardware/check.hpp>
#include <fabricost/predict/certainty.hpp>
#include <fabricost/predict/prediction.hpp>
#include <fabricost/price/moe.hpp>

#include <optional>

namespace fabricost::core {

enum class MoePhase : unsigned char { prepare, dispatch, combine };
inline constexpr std::array<std::string_view, 3> moe_phase_names{"prepare", "dispatch", "combine"};
[[nodiscard]] constexpr std::string_view name(MoePhase p) { return moe_phase_names[static_cast<std::size_t>(p)]; }

/// After nccl come those of data/exchanges.
enum class MoeKernel : unsigned char { deepep_normal, deepep_low_latency, trtllm_one_sided, trtllm_two_sided, mori, nccl };
inline constexpr std::size_t own_moe_kernels = static_cast<std::size_t>(MoeKernel::nccl) + 1;

/// A kernel priced as another: factor (its form's time) + start + token min(tokens, chunk).
struct ExchangeKernel {
  struct Phase {
    double factor = 1, start = 0, token = 0;
  };
  std::string_view name, notes;
  MoeKernel form = MoeKernel::deepep_normal;
  Precision sends = Precision::fp8;  ///< in dispatch
  Phase dispatch{}, combine{};
  double chunk = 0;
  int sms = 0;                       ///< 0: those of its form
  std::array<double, 2> tokens{};    ///< measured: fewest, most
  double spread = 0;                 ///< half width in log beside its form's
};

}  // namespace fabricost::core

#include <fabricost/experts/shipped_exchanges.inc>

namespace fabricost::core {

inline constexpr auto moe_kernel_names = [] {
  std::array<std::string_view, own_moe_kernels + exchange_kernels.size()> out{
      "deepep-normal", "deepep-low-latency", "trtllm-NVLinkOneSided", "trtllm-NVLinkTwoSided", "mori", "nccl"};
  for (std::size_t i = 0; i < exchange_kernels.size(); ++i) out[own_moe_kernels + i] = exchange_kernels[i].name;
  return out;
}();
[[nodiscard]] constexpr const ExchangeKernel* exchange_of(MoeKernel k) {
  const auto place = static_cast<std::size_t>(k);
  return place < own_moe_kernels ? nullptr : &exchange_kernels[place - own_moe_kernels];
}
/// The kernel whose form and constants it has; itself, unless it is one of data/exchanges.
[[nodiscard]] constexpr MoeKernel form_of(MoeKernel k) { return exchange_of(k) != nullptr ? exchange_of(k)->form : k; }
[[nodiscard]] constexpr std::string_view name(MoeKernel k) { return moe_kernel_names[static_cast<std::size_t>(k)]; }

/// Names in any case, with dashes or underscores; `deepep`, `nccl-ep` and `nixl-ep` mean their normal kernels, an engine of data/engines the one it names.
[[nodiscard]] std::optional<MoeKernel> parse_moe_kernel(std::string_view text);

inline constexpr int deepep_default_sms = 20;  ///< deepseek-ai/DeepEP, deep_ep/buffer.py
inline constexpr int assumed_sms = 132;        ///< for a GPU without a number of SMs: H100's

struct MoeQuestion {
  MoePhase phase = MoePhase::dispatch;
  MoeKernel kernel = MoeKernel::deepep_normal;
  Gate gate{};
  Routing routing{.kind = RoutingKind::uniform};
  int hidden = 0;
  double tokens = 0;                     ///< of every rank
  int ranks = 0;                         ///< 0: all GPUs of one scale-up domain
  std::optional<Precision> precision{};  ///< on the wire; empty: the kernel's own (see above)
  int sms = 0;                           ///< of deepep-normal and its like; 0: the default
};

struct MoePrediction {
  MoeQuestion question;
  ExpertPlacement placement;
  int nodes = 1;
  Precision precision = Precision::bf16;
  double copies = 0;                          ///< per token
  double bytes = 0;                           ///< sent for T tokens, including copies that stay, as kernels report
  double inside_bytes = 0, across_bytes = 0;  ///< that leave the rank, that leave the domain
  double seconds = 0, low = 0, high = 0;      ///< the interval contains nine of ten measurements
  double min = 0;                             ///< seconds of the bytes at the full rate of the links, a lower bound of `low`
  Terms terms;
  Basis basis = Basis::datasheet;
  Extrapolated extrapolated;
  MoeWork work;  ///< bytes and work of a rank, derived from the question
  MoeCost cost;  ///< its price; all zero for nccl, which is one all_to_all
  [[nodiscard]] double algorithm_bandwidth() const { return over(bytes, seconds); }
  [[nodiscard]] double bus_bandwidth() const { return over(inside_bytes + across_bytes, seconds); }  ///< of the bytes that leave the rank
  [[nodiscard]] const Term& bottleneck() const { return largest(terms); }
};

[[nodiscard]] inline bool is_trtllm(MoeKernel k) { return form_of(k) == MoeKernel::trtllm_one_sided || form_of(k) == MoeKernel::trtllm_two_sided; }

[[nodiscard]] Copies copies_of(MoeKernel k);

/// Copies of one token that ranks or domains receive.
struct Receivers {
  std::vector<LoadClass> classes;
  double max = 1;   ///< that one of them receives
  double mean = 0;  ///< of all of them
  [[nodiscard]] double fullest(double tokens) const { return mean * fullest_over_mean(classes, tokens, max); }
};
/// \param sets equal runs of experts
[[nodiscard]] Receivers receivers_of(const Gate& g, const Routing& r, const Popularity& p, Copies copies, int sets);

/// The bytes and work of one rank, independent of the constants.
[[nodiscard]] MoeWork work_of(const System& machine, const MoeQuestion& q, const ExpertPlacement& at, MoePrediction& out);

namespace detail {

/// Kernels over the memory of peers, which stay inside a domain.
[[nodiscard]] inline bool stays_inside(MoeKernel k) { return is_trtllm(k) || form_of(k) == MoeKernel::mori; }

/// DeepEP, with its ports to ROCm, is written in CUDA and HIP, TensorRT-LLM and all of data/exchanges in CUDA, MORI in HIP.
[[nodiscard]] bool runs_on(MoeKernel k, Library library);

void check(const MoeQuestion& q, const System& system);

/// Bytes of one copy: token_bytes, except that TensorRT-LLM's fp8 has a single scale.
[[nodiscard]] double copy_bytes(const MoeQuestion& q, Precision p);

[[nodiscard]] Precision sent(const MoeQuestion& q);

}  // namespace detail

/// Prices a kernel with its constants, except nccl. \param combine_in_fp4 TensorRT-LLM's low-precision
/// combine
[[nodiscard]] MoeCost price_kernel(const MoeWork& work, const MoeConstants& c, MoePhase phase, MoeKernel kernel, bool combine_in_fp4);

/// The interval width of a kernel.
[[nodiscard]] double IntervalWidths::*interval_class(MoeKernel k);

/// Time of one dispatch, combine or prepare step. \throws RequestError for an invalid gate, ranks that do not
/// divide the experts or domains, or a kernel that cannot run there
[[nodiscard]] MoePrediction predict(const System& system, const MoeQuestion& q);

}  // namespace fabricost::core

namespace fabricost {
using core::MoeKernel;
using core::MoePhase;
using core::MoePrediction;
using core::MoeQuestion;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/experts/moe_kernels-inl.hpp>
#endif
