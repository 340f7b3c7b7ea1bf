#pragma once
/// \file data_directory.hpp
/// Which folders a program, or the library in it, brings along.

#include <filesystem>

namespace fabricost::io {

/// Whether specs are there.
[[nodiscard]] bool has_data(const std::filesystem::path& folder);

/// share/fabricost/data in the folder of this file or in one above it: PREFIX/share for PREFIX/bin/fabricost and for a library in
/// PREFIX/lib, a link to the sources for all that stands in a build tree. A wheel has data/ beside the folder of its command. Empty: none.
[[nodiscard]] std::filesystem::path data_beside(const std::filesystem::path& program);

}  // namespace fabricost::io
