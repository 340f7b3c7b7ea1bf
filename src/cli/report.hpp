#pragma once
/// \file report.hpp
/// What several subcommands print.

#include <fabricost/hardware/system.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace fabricost::cli {

/// What is assumed of processors on whose generation nobody measured what kernels reach, as a sentence.
[[nodiscard]] std::string assumed_kernels_text(const System& system);

/// Two blanks of indentation, one line break at the end.
[[nodiscard]] std::string printed(const nlohmann::ordered_json& json);

}  // namespace fabricost::cli
