#pragma once
/// \file unrecognised.hpp
/// The error for a file in which no reader found a measurement.

#include <fabricost/error.hpp>

#include <filesystem>

namespace fabricost::core {

/// Names the tool or matrix that the file seems to come from, and the formats that can be read.
/// \throws SpecError when the file cannot be read
[[nodiscard]] SpecError nothing_recognised(const std::filesystem::path& file);

}  // namespace fabricost::core
