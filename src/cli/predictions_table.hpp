#pragma once
/// \file predictions_table.hpp
/// Several predictions as a table or as JSON.

#include <fabricost/hardware/system.hpp>
#include <fabricost/predict/prediction.hpp>

#include <string>
#include <vector>

namespace fabricost::cli {

/// One row each: time, bandwidths, what runs, its bottleneck, the interval. \param counts first columns: nodes and ranks, else the size
[[nodiscard]] std::string predictions_table(const std::vector<Prediction>& predictions, bool counts);

/// An array of what predict --json prints.
[[nodiscard]] std::string predictions_json(const System& system, const std::vector<Prediction>& predictions);

}  // namespace fabricost::cli
