#pragma once
/// Dispatch and combine of one expert layer for any number of tokens, with everything else precomputed, for
/// layout searches and fits that evaluate it thousands of times.
///
///   round trip   [prepare] + dispatch + combine of T tokens a rank (price/moe.hpp); bytes grow with T, and with skewed
///                choices by the fullest receiver's copies over those of uniform ones (experts/moe_kernels.hpp)
///   touched      1/E sum over experts of 1 - (1 - share_i)^T      experts whose weights T tokens read

#include <fabricost/experts/moe_kernels.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fabricost::plan {

/// Whether an engine would use a kernel on this machine. TensorRT-LLM's need memory mapped across trays,
/// which it checks for only on racks such as an NVL72 (TensorRT-LLM, tensorrt_llm/_mnnvl_utils.py,
/// supports_mnnvl), and work only inside a domain.
[[nodiscard]] bool runs_on(MoeKernel kernel, const System& system, const ExpertPlacement& at);

/// The popularity of experts with copies of the busiest beside them, in the order of the ranks that hold them (EPLB, deepseek-ai/EPLB on
/// GitHub, without groups): each copy is of the expert whose copies get most each; the busiest first, each goes to the rank that has the
/// least and a place. \param copies fill the places of all ranks
[[nodiscard]] Popularity with_copies(const Popularity& of, int copies, int ranks);

/// Copies of the fullest receiver over those of even choices, by the tokens of a rank.
class Skew {
 public:
  Skew() = default;
  Skew(const Receivers& of, const Receivers& even, double ranks)
      : of_(of.classes, ranks, of.max), even_(even.classes, ranks, even.max), means_(of.mean / even.mean) {}
  [[nodiscard]] double operator()(double tokens) const { return of_.even() ? 1 : means_ * of_(tokens) / even_(tokens); }

 private:
  Imbalance of_, even_;
  double means_ = 1;
};

/// Seconds from a layer's tokens to its experts and back. Does not allocate. The system must outlive it.
class ExpertRoundTrip {
 public:
  /// \param sent precision of the dispatch; the combine has 16 bits
  /// \throws RequestError for an invalid gate, ranks that do not divide, or GPUs the kernel cannot connect
  /// \param chosen experts of skewed choices, in the order of the ranks that hold them
  ExpertRoundTrip(const System& system, MoeKernel kernel, const Gate& gate, const ExpertPlacement& at, int hidden, Precision sent,
                  const Routing& routing = {.kind = RoutingKind::uniform}, const Popularity& chosen = {})
      : constants_(&system.constants.moe), kernel_(kernel) {
    const Routing even{.kind = RoutingKind::uniform};  // also for balanced loads: the ranks of a token's experts are random
    const auto work = [&](MoePhase phase, Precision precision) {
      MoeQuestion q{.phase = phase, .kernel = kernel, .gate = gate, .routing = even, .hidden = hidden, .tokens = 1, .ranks = at.ranks};
      MoePrediction p;
      p.precision = precision;
      return work_of(system, q, at, p);
    };
    dispatch_ = work(MoePhase::dispatch, sent);
    combine_ = work(MoePhase::combine, Precision::bf16);
    if (!routing.skewed()) return;
    const Popularity alike = popularity_of(gate, even, at.ranks);
    const Copies copies = copies_of(kernel);
    const auto skew_of = [&](int sets) {
      return Skew{receivers_of(gate, routing, chosen, copies, sets), receivers_of(gate, even, alike, copies, sets), 1.0 * at.ranks};
    };
    inside_ = skew_of(at.ranks);
    across_ = copies == Copies::per_domain && at.domains() > 1 ? skew_of(at.domains()) : inside_;
  }

  /// \param tokens of each rank
  [[nodiscard]] double operator()(double tokens) const;
  [[nodiscard]] MoeKernel kernel() const { return kernel_; }

 private:
  [[nodiscard]] MoeWork of(MoeWork one, double tokens) const;

  const MoeConstants* constants_;
  MoeKernel kernel_;
  MoeWork dispatch_, combine_;  ///< per token
  Skew inside_, across_;
};

/// Share of a layer's experts that tokens touch under skewed choices.
class TouchedExperts {
 public:
  /// \throws as popularity_of
  TouchedExperts(const Gate& gate, const Routing& routing)
      : shares_([&, p = popularity_of(gate, routing, 1)](double tokens) {
          double sum = 0;
          for (const double share : p.shares) sum += share >= 1 ? 1 : -std::expm1(tokens * std::log1p(-share));
          return sum / gate.experts;
        }) {}
  /// \param tokens below 1 in proportion
  [[nodiscard]] double operator()(double tokens) const { return std::clamp(tokens, 0.0, 1.0) * shares_(tokens); }

 private:
  TokenTable shares_;
};

}  // namespace fabricost::plan
