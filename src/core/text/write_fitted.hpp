#pragma once
/// \file write_fitted.hpp
/// Writes constants over those that a fit started from.

#include <fabricost/namespaces.hpp>

#include <string>
#include <string_view>

namespace fabricost::core {

/// As write_file, but a file that was read may be replaced: fitted constants take the place of the file they started from.
/// \throws RequestError when it cannot be written or is not a regular file
void write_fitted(const std::string& target, const std::string& text, std::string_view named);

}  // namespace fabricost::core
