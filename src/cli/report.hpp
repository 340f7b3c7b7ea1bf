#pragma once
/// \file report.hpp
/// Text and JSON shared by several subcommands.

#include <fabricost/hardware/system.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace fabricost::cli {

/// A sentence on the assumed kernel efficiencies of GPU generations without measurements.
[[nodiscard]] std::string assumed_kernels_text(const System& system);

/// Two blanks of indentation, one line break at the end.
[[nodiscard]] std::string printed(const nlohmann::ordered_json& json);

}  // namespace fabricost::cli
