#pragma once
/// \file moe.hpp
/// Dispatch and combine of experts as text a person can check with a calculator.

#include <fabricost/compiled_part.hpp>
#include <fabricost/kernels/moe_kernels.hpp>

#include <string>

namespace fabricost {

/// The whole story of a prediction: what moves, the arithmetic with numbers put in, the terms, what binds, where the constants come from.
/// Time, terms and arithmetic are the prediction's own. \param system that it was made for
[[nodiscard]] std::string explain(const System& system, const MoePrediction& prediction);

}  // namespace fabricost
