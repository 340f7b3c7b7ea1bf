#pragma once
/// Assumptions of an answer and where it is outside the measured range, in words, for the command and Python.

#include <fabricost/compiled_part.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/predict/prediction.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// "1 node", "2 nodes".
[[nodiscard]] std::string counted(double count, std::string_view one);

/// Which of sizes, ranks and nodes lie outside the measured range.
[[nodiscard]] std::vector<std::string> names_of(const Extrapolated& beyond);

/// Assumptions of an answer beyond the machine's description, one sentence each: surplus nodes are connected
/// by a network of their own NICs.
[[nodiscard]] std::vector<std::string> assumptions(const System& system, int nodes);
/// The same for a prediction; if GPUDirect RDMA is off and NICs take part, also which terms are priced as
/// with GPUDirect for lack of measurements: known are the share of the NICs' rate and the steps of a Simple
/// ring (price/internode.hpp).
[[nodiscard]] std::vector<std::string> assumptions(const System& system, const Prediction& prediction);

}  // namespace fabricost::core
