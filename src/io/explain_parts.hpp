#pragma once
/// \file explain_parts.hpp
/// The sections of an explanation, one function each. Private to the sources.

#include <fabricost/io/assumed.hpp>
#include <fabricost/io/explain.hpp>

#include <optional>
#include <string>

namespace fabricost::detail {

/// One question worked out far enough to be told: the prediction with the fabric, schedule and price behind it.
struct Story {
  const System& system;
  const Operation& operation;
  const Choice& choice;
  Prediction prediction;
  Fabric fabric;
  Schedule schedule;
  Line line;
  bool host = false;  ///< GPU to host: no choice, one copy

  [[nodiscard]] double bytes() const { return operation.bytes.value(); }
  [[nodiscard]] ChoiceInput input() const { return {operation.collective, is_byte_wide(operation.dtype)}; }
  /// The tier on which a part of that kind and level is spent.
  [[nodiscard]] std::string tier(TermKind kind, int level) const {
    return tier_of(system, fabric, operation, prediction.ran.algorithm, kind, level).c_str();
  }
};

/// What dividing bytes by a datasheet's rate rests on. `factor` 0: nothing moves.
struct Naive {
  double factor = 0;  ///< times S
  double rate = 0;    ///< bytes per second, one way
  std::string of;     ///< whose rate, in words
  [[nodiscard]] double seconds(double bytes) const { return factor > 0 ? factor * bytes / rate : 0; }
};
[[nodiscard]] Naive naive_basis(const System& system, const Operation& operation, const Fabric& fabric);

[[nodiscard]] std::string tell_schedule(const Story& story);
[[nodiscard]] std::string tell_choice(const Story& story);
[[nodiscard]] std::string tell_arithmetic(const Story& story);
[[nodiscard]] std::string tell_constants(const Story& story);
[[nodiscard]] std::string tell_binding(const Story& story);
/// Links of the way that several GPUs share, one line for each kind; empty when none is, or the algorithm's routes are not known.
[[nodiscard]] std::string tell_sharing(const Story& story);
[[nodiscard]] std::string tell_naive(const Story& story);
[[nodiscard]] std::string tell_changes(const Story& story);

/// Microseconds with three decimals.
[[nodiscard]] std::string micro(double seconds);
/// "ring simple"
[[nodiscard]] std::string label(Candidate candidate);
/// The interval, the basis and what is extrapolated, as sentences.
[[nodiscard]] std::string certainty_text(const Prediction& prediction);

}  // namespace fabricost::detail
