#pragma once
/// Predictions and machines as text that can be checked with a calculator.

#include <fabricost/compiled_part.hpp>
#include <fabricost/predict/fused_norm.hpp>
#include <fabricost/predict/predict.hpp>

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

struct MoePrediction;

/// "all_reduce of 256 MiB (half), 16 ranks on 2 nodes, dgx-h100". \param sized include the size
[[nodiscard]] std::string title_of(const Prediction& prediction, std::string_view system, bool sized = true);
/// "1.84 ms (nine in ten: 1.21 ms to 2.80 ms), busbw 282.6 GB/s, nvls_tree simple, mostly nic"; explain() gives all of it.
[[nodiscard]] std::string text_of(const Prediction& prediction);
std::ostream& operator<<(std::ostream& out, const Prediction& prediction);
/// The terms of one prediction as a table, the limiting tier and the uncertainty.
[[nodiscard]] std::string explain(const Prediction& prediction);

/// The full explanation of a prediction: the schedule, the arithmetic with numbers, the source of each
/// constant, the limiting tier, the naive bandwidth estimate and why it is off, and the effect of changes.
/// Time, terms, arithmetic and the pair that ran come from the prediction itself. \param system it was made
/// for \param notes further parts of the request, one sentence each
[[nodiscard]] std::string explain(const System& system, const Prediction& prediction, std::span<const std::string> notes = {});
/// The same for predict(system, operation, choice). \throws as predict
[[nodiscard]] std::string explain(const System& system, const Operation& operation, const Choice& choice = {});
/// Adds to every explanation who shares the links of its path, one line for each kind of link: component plan, which counts what a
/// collective puts on each link, joins itself where it is linked.
void use_sharing_text(std::string (*text)(const System& system, const Prediction& prediction));
/// The parts of an explanation that need no system: request, schedule, arithmetic, terms, uncertainty.
[[nodiscard]] std::string explain_alone(const Prediction& prediction);
/// The norm after an all-reduce: separate and fused, with numbers.
[[nodiscard]] std::string explain(const FusedNorm& norm);

/// The predicted time after one change of the machine or the request.
struct Sensitivity {
  std::string change;  ///< e.g. "10 % more nvlink bandwidth"
  double seconds = 0;  ///< s
};
/// 10 % more bandwidth and 10 % less latency of each tier that can affect a prediction, 10 % less launch
/// time, half the ranks.
[[nodiscard]] std::vector<Sensitivity> sensitivities(const System& system, const Operation& operation, const Choice& choice = {});

/// The naive estimate: ring volume over the slowest tier's one-way datasheet rate, no latency.
[[nodiscard]] Time naive_time(const System& system, const Operation& operation);

/// The full explanation of dispatch or combine of experts: the bytes that move, the arithmetic with numbers, the terms, the limit, the
/// source of the constants. Time, terms and arithmetic come from the prediction itself. \param system it was
/// made for
[[nodiscard]] std::string explain(const System& system, const MoePrediction& prediction);

/// The text that `fabricost machine` prints: rates in GB/s, one way and per endpoint.
[[nodiscard]] std::string show(const System& system);

/// One-way rate of tier i over that of the next one outward; 0 for the last, or if unknown.
[[nodiscard]] double ratio_to_next(const System& system, std::size_t i);

}  // namespace fabricost::core

namespace fabricost {
using core::Sensitivity;
using core::explain;
using core::naive_time;
using core::sensitivities;
using core::text_of;
}  // namespace fabricost
