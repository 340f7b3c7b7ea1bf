#pragma once
/// \file assumed.hpp
/// What an answer takes for granted and where it lies outside of what was measured, in words: the same for the command and for Python.

#include <fabricost/compiled_part.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/predict/prediction.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// "1 node", "2 nodes".
[[nodiscard]] std::string counted(double count, std::string_view one);

/// Which of sizes, ranks, nodes lie outside what was measured.
[[nodiscard]] std::vector<std::string> names_of(const Extrapolated& beyond);

/// What an answer takes for granted beyond the machine's description, a sentence each: more nodes than it has meet on a network of their
/// own.
[[nodiscard]] std::vector<std::string> assumed(const System& system, int nodes);
/// The same of a prediction; and, where GPUDirect RDMA is off and NICs take part, what without it is priced as with it because nobody
/// measured it: known are the share of the NICs' rate and the steps of a Simple ring (price/internode.hpp).
[[nodiscard]] std::vector<std::string> assumed(const System& system, const Prediction& prediction);

}  // namespace fabricost
