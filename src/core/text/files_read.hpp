#pragma once
/// The files that this process has read, so that no output of it replaces one. Every reader opens its file through here.

#include <fabricost/namespaces.hpp>

#include <filesystem>
#include <string>

struct stat;

namespace fabricost::core {

/// Whether a path is a regular file, and if not why; a regular file counts as read from then on. Never waits: a pipe is not opened.
/// \throws SpecError with the kind of what is there instead, or why it cannot be read
void note_regular_file(const std::filesystem::path& file);

/// Notes that a file was read. \param about of stat() of it
void note_read(const std::filesystem::path& file, const struct stat& about);

/// Notes that this process made a file, which it may replace although it has read it since, unless somebody else changed it.
void note_written(const struct stat& about);

/// The path by which a file was read that is still there and the same as `about`; empty: none was, or this process wrote it.
[[nodiscard]] std::string path_read(const struct stat& about);

}  // namespace fabricost::core
