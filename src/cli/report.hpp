#pragma once
/// \file report.hpp
/// A prediction as JSON, with the field names of the contract, and as cells of a table.

#include "question.hpp"

#include <fabricost/explain/assumed.hpp>
#include <fabricost/predict/prediction.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost {
struct FusedNorm;
}

namespace fabricost::cli {

[[nodiscard]] nlohmann::ordered_json to_json(const System& system, const Prediction& prediction);
/// The field `norm`.
[[nodiscard]] nlohmann::ordered_json to_json(const FusedNorm& norm);

/// A line of CSV: numbers in the shortest form that reads back exactly; no name holds a comma.
inline constexpr std::string_view csv_header = "bytes,time_us,algbw_GBps,busbw_GBps,algorithm,protocol,bottleneck,basis,low_us,high_us";
[[nodiscard]] std::string csv_row(const Prediction& prediction);

/// What is assumed of processors on whose generation nobody measured what kernels reach, as a sentence.
[[nodiscard]] std::string assumed_kernels_text(const System& system);

/// Two blanks of indentation, one line break at the end.
[[nodiscard]] std::string printed(const nlohmann::ordered_json& json);

}  // namespace fabricost::cli
