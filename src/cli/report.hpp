#pragma once
/// \file report.hpp
/// Text shared by several subcommands.

#include <fabricost/hardware/system.hpp>

#include <string>

namespace fabricost::cli {

/// A sentence on the assumed kernel efficiencies of GPU generations without measurements.
[[nodiscard]] std::string assumed_kernels_text(const System& system);
}  // namespace fabricost::cli
