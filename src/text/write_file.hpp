#pragma once
/// \file write_file.hpp
/// Writes a file of results whole or not at all.

#include <string>
#include <string_view>

namespace fabricost::io {

/// Writes beside the target and renames, so that no half of a file is ever seen there; a link stays one, and a file that is there keeps who
/// may read it (its mode; its owner where we may).
/// \param named how whoever asks names the file, for the message
/// \throws RequestError when it cannot be written or is not a regular file
void write_file(const std::string& target, const std::string& text, std::string_view named);

}  // namespace fabricost::io
