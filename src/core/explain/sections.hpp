#pragma once
/// The sections of an explanation, one function each.

#include <fabricost/choice/pick.hpp>
#include <fabricost/explain/assumptions.hpp>
#include <fabricost/explain/explain.hpp>
#include <fabricost/predict/complete.hpp>

#include <string>

namespace fabricost::core {

/// "ring simple"
[[nodiscard]] std::string pair_text(Candidate candidate);

}  // namespace fabricost::core

namespace fabricost::core::detail {

/// A prediction to be explained: its inputs come from itself; only the comparisons are computed, on `system`.
struct ExplainContext {
  const System* system = nullptr;  ///< null: only the contents of the prediction are explained
  const Prediction& prediction;
  Schedule schedule;
  bool host = false;  ///< GPU to host: no choice, one copy

  [[nodiscard]] const Operation& operation() const { return prediction.operation; }
  [[nodiscard]] const Choice& choice() const { return prediction.made_from.choice; }
  [[nodiscard]] const Fabric& fabric() const { return prediction.made_from.fabric; }
  [[nodiscard]] const Line& line() const { return prediction.made_from.line; }
  [[nodiscard]] bool engine_ran() const { return prediction.ran.kernel != CollectiveKernel::library; }
  [[nodiscard]] double bytes() const { return operation().bytes.value(); }
  [[nodiscard]] ChoiceInput input() const { return {operation().collective, is_byte_wide(operation().dtype)}; }
  /// The tier in which a part of that kind and level is spent.
  [[nodiscard]] std::string tier(TermKind kind, int level) const {
    return tier_of(fabric(), operation(), prediction.ran.algorithm, kind, level).c_str();
  }
};
/// \param system may be null
[[nodiscard]] ExplainContext context_of(const Prediction& prediction, const System* system);

/// Basis of the naive estimate. `factor` 0: nothing moves.
struct Naive {
  double factor = 0;  ///< times S
  double rate = 0;    ///< bytes per second, one way
  std::string of;     ///< whose rate, in words
  [[nodiscard]] double seconds(double bytes) const { return factor > 0 ? factor * bytes / rate : 0; }
};
[[nodiscard]] Naive naive_basis(const System& system, const Operation& operation, const Fabric& fabric);

[[nodiscard]] std::string explain_schedule(const ExplainContext& context);
/// These four need the system: they compare with alternatives.
[[nodiscard]] std::string explain_choice(const ExplainContext& context);
[[nodiscard]] std::string explain_naive(const ExplainContext& context);
[[nodiscard]] std::string explain_changes(const ExplainContext& context);
[[nodiscard]] std::string explain_constants(const ExplainContext& context);
[[nodiscard]] std::string explain_arithmetic(const ExplainContext& context);
/// Whether the channels of a ring or tree ride some of a domain's NICs: a rack has one for every GPU.
[[nodiscard]] bool rides_few_nics(const ExplainContext& context);
/// An inference engine's own kernels and the size up to which each runs; empty if no engine was named.
[[nodiscard]] std::string explain_engine(const ExplainContext& context);
/// The gain of other ways to communicate, and the sizes at which they lose; empty if none was requested.
[[nodiscard]] std::string explain_ways(const ExplainContext& context);
/// The numbers of those ways with the file they stand in; empty if the answer has none of them.
[[nodiscard]] std::string explain_way_numbers(const ExplainContext& context);
/// The cost of a call from Python, line by line; empty without one.
[[nodiscard]] std::string explain_host_call(const HostCall& call);
/// The GPUs' time of a collective, without the host's launches or XLA's module.
[[nodiscard]] double gpu_seconds(const Prediction& prediction);
/// The total of the GPUs' time and the host's launches, or XLA's module; empty where neither was requested.
[[nodiscard]] std::string explain_launches(const ExplainContext& context);
/// The host's time for launching beside that of the GPUs, and which of the two binds; empty if not requested.
[[nodiscard]] std::string launch_text(const Prediction& prediction);
[[nodiscard]] std::string explain_binding(const ExplainContext& context);
/// Terms with their tiers and shares, and their sum. \param seconds the sum as stored in the prediction
[[nodiscard]] std::string terms_table(const Terms& terms, double seconds);
/// Microseconds with three decimals.
[[nodiscard]] std::string micro(double seconds);
/// "ring simple"; "pull one shot" for an engine's own kernel.
[[nodiscard]] std::string ran_text(Candidate ran);
/// "Nine in ten measurements should fall between ... and ... "
[[nodiscard]] std::string range_text(double low, double high);
/// What measured sizes leave open at this one (Line::alternative_seconds); empty: nothing.
[[nodiscard]] std::string left_open_text(const Prediction& p);
/// The interval, the basis and what is extrapolated, as sentences. \param min seconds the bytes need at the
/// links' full rate
[[nodiscard]] std::string certainty_text(double low, double high, double min, Basis basis, const Extrapolated& extrapolated);
/// Why the range of PCIe boards that were not measured is wide; empty for other predictions.
[[nodiscard]] std::string board_text(const Prediction& p);
/// "450 GB/s one way (datasheet: ...); 650 ns a hop (...)"
[[nodiscard]] std::string tier_source(const Tier& tier);

}  // namespace fabricost::core::detail
