#pragma once
/// The data folders that come with a program or its library.

#include <fabricost/namespaces.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// A file or a folder, on disk or contained in the program.
[[nodiscard]] bool is_there(const std::filesystem::path& path);

/// Whether it contains specs.
[[nodiscard]] bool has_data(const std::filesystem::path& folder);

/// share/fabricost/data in the folder of this file or in one above it: PREFIX/share for PREFIX/bin/fabricost
/// and for a library in PREFIX/lib, in a build tree a link to the sources. A wheel has data/ beside the
/// folder of its command. Empty: none.
[[nodiscard]] std::filesystem::path data_beside(const std::filesystem::path& program);

/// Whether a text may name a spec: letters, digits, dots, dashes, underscores and pluses, so that it says the same in a shell, an address
/// and a path.
[[nodiscard]] bool is_name(std::string_view text);

/// Names of the YAML files in a folder, without ".yaml", sorted; none if it cannot be read. A file called otherwise has none: its path is
/// given.
[[nodiscard]] std::vector<std::string> yaml_names(const std::filesystem::path& folder);

}  // namespace fabricost::core
