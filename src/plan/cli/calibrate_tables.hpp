#pragma once
/// \file calibrate_tables.hpp
/// fabricost calibrate, from tables of published results.

#include "cli/calibrate.hpp"

namespace fabricost::cli {

/// A CalibrateJob: the fits of tables.
[[nodiscard]] std::optional<std::string> calibrate_tables(const CalibrateTyped& typed, bool json, const Terminal& terminal);

}  // namespace fabricost::cli
