#pragma once
/// \file contained.hpp
/// The files of data/ that a program contains, for a place without a disk: the page. They are found by name as if they lay in the folder
/// `contained_data`; their trees were parsed when the program was built, their texts are not kept.

#include "specs/tree.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::io {

/// The folder that data_directory() names while a program contains data/.
inline constexpr std::string_view contained_data = "data";

/// data/ is what the program contains. \param names of its files, sorted, one a line, as in systems/dgx-h100.yaml \param trees their
/// catalogue (catalogue.hpp), each under its path as its text; both must outlive the process. Call it before the first load.
void use_contained(std::string_view names, std::string_view trees);
[[nodiscard]] bool has_contained();

/// A file, or a folder with files.
[[nodiscard]] bool is_contained(const std::filesystem::path& path);
/// Names of the YAML files in a folder, without ".yaml", sorted.
[[nodiscard]] std::vector<std::string> contained_names(const std::filesystem::path& folder);
/// Empty: there is no such file, or its tree is damaged.
[[nodiscard]] std::optional<SpecNode> contained_tree(const std::string& path, const std::shared_ptr<const SpecFile>& file);

}  // namespace fabricost::io
