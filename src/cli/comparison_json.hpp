#pragma once
/// \file comparison_json.hpp
/// What comparisons and fits have in common as JSON, with the field names of the contract.

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/validation/validate.hpp>

#include <nlohmann/json_fwd.hpp>

#include <vector>

namespace fabricost::cli {

/// Without points the errors are null, not zero.
[[nodiscard]] nlohmann::ordered_json to_json(const ErrorSummary& errors);
/// By their names.
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<ErrorGroup>& groups);
/// `[{reason, rows}]`
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<Skipped>& skipped);
/// A fitted set: its constants with their priors and standard errors, the residuals of its classes.
[[nodiscard]] nlohmann::ordered_json to_json(const CalibratedSet& set);

}  // namespace fabricost::cli
