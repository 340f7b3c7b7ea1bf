#pragma once
/// \file explain.hpp
/// Predictions as text a person can check with a calculator.

#include <fabricost/compiled_part.hpp>
#include <fabricost/kernels/fused_norm.hpp>
#include <fabricost/predict/predict.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// "all_reduce of 256 MiB (half), 16 ranks on 2 nodes, dgx-h100". \param sized with its size
[[nodiscard]] std::string title_of(const Prediction& prediction, std::string_view system, bool sized = true);
/// The terms of one prediction as a table, what binds and how sure.
[[nodiscard]] std::string explain(const Prediction& prediction);

/// The whole story of a prediction: the schedule, the arithmetic with numbers put in, where each constant comes from, which tier binds,
/// what naive bandwidth arithmetic says and why it is off, and what would change the answer. Time, terms, arithmetic and what ran are the
/// prediction's own. \param system that it was made for \param notes what else the question says, a sentence each
[[nodiscard]] std::string explain(const System& system, const Prediction& prediction, std::span<const std::string> notes = {});
/// The same of predict(system, operation, choice). \throws as predict
[[nodiscard]] std::string explain(const System& system, const Operation& operation, const Choice& choice = {});
/// What of the story needs no system: the question, what moves, the arithmetic, the terms, what binds, how sure.
[[nodiscard]] std::string explain_alone(const Prediction& prediction);
/// The norm after an all-reduce: apart and fused, with the numbers put in.
[[nodiscard]] std::string explain(const FusedNorm& norm);

/// How much time a change of the machine or the question saves, in seconds (negative: it costs).
struct Sensitivity {
  std::string change;  ///< e.g. "10 % more nvlink bandwidth"
  double seconds = 0;  ///< time after the change
};
/// 10 % more bandwidth and 10 % less latency of each tier that a prediction can feel, 10 % less launch time, half the ranks.
[[nodiscard]] std::vector<Sensitivity> sensitivities(const System& system, const Operation& operation, const Choice& choice = {});

/// What dividing bytes by the slowest tier's one-way datasheet rate says: ring volume over rate, no latency.
[[nodiscard]] Time naive_time(const System& system, const Operation& operation);

}  // namespace fabricost
