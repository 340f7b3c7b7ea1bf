#pragma once
/// The files of data/ that a program contains, for a place without a disk: the page. They are found by name as if they lay in the folder
/// `contained_data`. A line a file: its name, as in systems/dgx-h100.yaml, a blank, and its values as JSON with every scalar as text.

#include "specs/tree.hpp"

#include <fabricost/namespaces.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// The folder that data_directory() names while a program contains data/.
inline constexpr std::string_view contained_data = "data";

/// Makes these lines the content of data/; they must outlive the process. None: data/ is on disk. Call before the first load.
void use_contained(std::string_view lines);
[[nodiscard]] bool has_contained();

/// A file, or a folder with files.
[[nodiscard]] bool is_contained(const std::filesystem::path& path);
/// Names of the YAML files in a folder, without ".yaml", sorted.
[[nodiscard]] std::vector<std::string> contained_names(const std::filesystem::path& folder);
/// Empty: there is no such file. \throws SpecError for damaged lines
[[nodiscard]] std::optional<SpecNode> contained_tree(const std::string& path, const std::shared_ptr<const SpecFile>& file);

}  // namespace fabricost::core
