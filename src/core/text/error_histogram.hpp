#pragma once
/// \file error_histogram.hpp
/// Distribution of prediction errors, as bars of characters.

#include <fabricost/namespaces.hpp>

#include <string>
#include <vector>

namespace fabricost::core {

/// Eleven lines under a heading, at most 100 columns: below -50 %, -50 to -25, -25 to -10, -10 to -5, -5 to
/// -2, -2 to 2 and so on up, each bin including its lower end; a bar is as long as its share of the fullest
/// bin, and every bin that is not empty has one.
/// \param errors predicted / measured - 1
[[nodiscard]] std::string error_histogram(const std::vector<double>& errors);

}  // namespace fabricost::core
