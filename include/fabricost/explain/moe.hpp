#pragma once
/// \file moe.hpp
/// Dispatch and combine of experts as text that can be checked with a calculator.

#include <fabricost/compiled_part.hpp>
#include <fabricost/experts/moe_kernels.hpp>

#include <string>

namespace fabricost::core {

/// The full explanation of a prediction: the bytes that move, the arithmetic with numbers, the terms, the limit, the
/// source of the constants. Time, terms and arithmetic come from the prediction itself. \param system it was
/// made for
[[nodiscard]] std::string explain(const System& system, const MoePrediction& prediction);

}  // namespace fabricost::core
