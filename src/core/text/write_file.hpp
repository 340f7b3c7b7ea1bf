#pragma once
/// Writes a file of results atomically.

#include <fabricost/namespaces.hpp>

#include <string>
#include <string_view>

namespace fabricost::core {

/// Writes a temporary file beside the target and renames it, so no partial file is ever visible. A link stays
/// a link; an existing file keeps its mode, and its owner where possible. Characters that a terminal acts on are replaced (plain_text).
/// \param named the option or argument that named the file, for the message
/// \throws RequestError when it cannot be written, is not a regular file, or was read by this process (files_read.hpp)
void write_file(const std::string& target, const std::string& text, std::string_view named);

/// As write_file, but a file that was read may be replaced: fitted constants take the place of the file they started from.
/// \throws RequestError when it cannot be written or is not a regular file
void write_fitted(const std::string& target, const std::string& text, std::string_view named);

}  // namespace fabricost::core
