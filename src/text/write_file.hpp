#pragma once
/// \file write_file.hpp
/// Writes a file of results atomically.

#include <string>
#include <string_view>

namespace fabricost::io {

/// Writes a temporary file beside the target and renames it, so no partial file is ever visible. A link stays
/// a link; an existing file keeps its mode, and its owner where possible.
/// \param option the option that named the file, for the message
/// \throws RequestError when it cannot be written or is not a regular file
void write_file(const std::string& target, const std::string& text, std::string_view named);

}  // namespace fabricost::io
