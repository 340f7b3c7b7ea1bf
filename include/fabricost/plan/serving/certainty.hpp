#pragma once
/// How far a deployment's times and rate may be off, and what of it lies outside the runs that its stack was fitted to.
///
///   interval      errors are normal in the log, with the stack's standard deviations of TTFT and TPOT; times are all early or all late:
///                 rate = c / (TTFT + osl TPOT) at either end
///   unseen        a model that the stack was not fitted to, prefill apart where none of its runs had it: further standard deviations, in
///                 quadrature, as runs are off that a fit left out (`unseen` of data/workloads/serving.yaml). Those of a GPU and a
///                 generation without runs are in the stack's own already (specs/serving.hpp)
///   outside       more sequences a GPU, longer prompts or longer answers than any run had: per doubling beyond them the standard deviation
///                 grows by `beyond_spread`, in quadrature

#include <fabricost/parameters/interval.hpp>
#include <fabricost/plan/serving/question.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::plan {

/// Standard deviation, in log, for each doubling beyond the runs. MLPerf Inference 4.0 to 6.0, offline, of Llama 2 70B and Mixtral 8x7B on
/// H100, H200 and B200: 2 to 5 doublings more sequences a GPU than any fitted run, predicted 0.5 to 1.5 times what was measured.
inline constexpr double beyond_spread = 0.2;

/// The same of a setting whose TPOT was measured: that of 26 pairs of published runs of one layout, model, lengths and number of clients. With
/// half or twice the clients it is 0.095 after the measured factor, with other layouts or lengths no less than without.
inline constexpr double repeat_spread = 0.044;

/// What is asked of a stack, to be held to its runs; 0: not known.
struct AskedRun {
  std::string_view model{};
  bool apart = false;
  double sequences = 0;           ///< running, of a GPU
  double prompt = 0, answer = 0;  ///< tokens
};
struct AskedSpread {
  ServingSpread spread{};
  std::vector<std::string> extrapolated{};  ///< "model", "disaggregation", "sequences", "prompts", "answers"
};
[[nodiscard]] AskedSpread spread_of(const ServingStack& stack, const AskedRun& asked);

struct ServingCertainty {
  std::pair<double, double> ttft{}, tpot{};  ///< s, the 5-95 % interval
  std::pair<double, double> rate{};          ///< tokens per second and GPU
  std::vector<std::string> extrapolated{};   ///< as in AskedSpread
};

[[nodiscard]] ServingCertainty certainty_of(const ServingQuestion& question, const PricedServing& deployment);

}  // namespace fabricost::plan
