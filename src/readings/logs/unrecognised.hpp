#pragma once
/// \file unrecognised.hpp
/// What to say of a file in which no reader found a measurement. Private to the sources.

#include <fabricost/error.hpp>

#include <filesystem>

namespace fabricost::io {

/// Names the tool or the matrix that the file is output of, where a few words give it away, and what can be read.
/// \throws SpecError when the file cannot be read
[[nodiscard]] SpecError nothing_recognised(const std::filesystem::path& file);

}  // namespace fabricost::io
