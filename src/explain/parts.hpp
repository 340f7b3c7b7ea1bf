#pragma once
/// \file parts.hpp
/// The sections of an explanation, one function each. Private to the sources.

#include <fabricost/explain/assumed.hpp>
#include <fabricost/explain/explain.hpp>

#include <optional>
#include <string>

namespace fabricost::detail {

/// A prediction about to be told: what it was made from is its own; only what it is compared with is worked out, on `system`.
struct Story {
  const System* system = nullptr;  ///< none: what the prediction carries is all that is told
  const Prediction& prediction;
  Schedule schedule;
  bool host = false;  ///< GPU to host: no choice, one copy

  [[nodiscard]] const Operation& operation() const { return prediction.operation; }
  [[nodiscard]] const Choice& choice() const { return prediction.made_from.choice; }
  [[nodiscard]] const Fabric& fabric() const { return prediction.made_from.fabric; }
  [[nodiscard]] const Line& line() const { return prediction.made_from.line; }
  [[nodiscard]] bool engine_ran() const { return prediction.ran.kernel != ReduceKernel::library; }
  [[nodiscard]] double bytes() const { return operation().bytes.value(); }
  [[nodiscard]] ChoiceInput input() const { return {operation().collective, is_byte_wide(operation().dtype)}; }
  /// The tier on which a part of that kind and level is spent.
  [[nodiscard]] std::string tier(TermKind kind, int level) const {
    return tier_of(fabric(), operation(), prediction.ran.algorithm, kind, level).c_str();
  }
};
/// \param system may be null
[[nodiscard]] Story story_of(const Prediction& prediction, const System* system);

/// What dividing bytes by a datasheet's rate rests on. `factor` 0: nothing moves.
struct Naive {
  double factor = 0;  ///< times S
  double rate = 0;    ///< bytes per second, one way
  std::string of;     ///< whose rate, in words
  [[nodiscard]] double seconds(double bytes) const { return factor > 0 ? factor * bytes / rate : 0; }
};
[[nodiscard]] Naive naive_basis(const System& system, const Operation& operation, const Fabric& fabric);

[[nodiscard]] std::string tell_schedule(const Story& story);
/// These four need the system: they compare with what did not run.
[[nodiscard]] std::string tell_choice(const Story& story);
[[nodiscard]] std::string tell_naive(const Story& story);
[[nodiscard]] std::string tell_changes(const Story& story);
[[nodiscard]] std::string tell_constants(const Story& story);
[[nodiscard]] std::string tell_arithmetic(const Story& story);
/// Which kernels an inference engine has of its own and up to which size each runs; empty where no engine was named.
[[nodiscard]] std::string tell_engine(const Story& story);
/// What a call from Python adds, line by line; empty without one.
[[nodiscard]] std::string tell_host_call(const HostCall& call);
[[nodiscard]] std::string tell_binding(const Story& story);
/// Links of the way that several GPUs share, one line for each kind; empty when none is, or the algorithm's routes are not known.
[[nodiscard]] std::string tell_sharing(const Story& story);

/// Terms with their tiers and shares, and their sum. \param seconds the sum, as the prediction has it
[[nodiscard]] std::string terms_table(const Terms& terms, double seconds);
/// Microseconds with three decimals.
[[nodiscard]] std::string micro(double seconds);
/// "ring simple"
[[nodiscard]] std::string label(Candidate candidate);
/// "ring simple"; "pull one shot" of an engine's own kernel.
[[nodiscard]] std::string ran_text(Candidate ran);
/// "Nine in ten measurements should fall between ... and ... "
[[nodiscard]] std::string range_text(double low, double high);
/// The interval, the basis and what is extrapolated, as sentences. \param least seconds the bytes need over the links at full rate
[[nodiscard]] std::string certainty_text(double low, double high, double least, Basis basis, const Extrapolated& extrapolated);
/// "450 GB/s one way (datasheet: ...); 650 ns a hop (...)"
[[nodiscard]] std::string tier_source(const Tier& tier);

}  // namespace fabricost::detail
