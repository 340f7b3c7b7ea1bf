#pragma once
/// What a program contains of data/ (specs/sources/contained.hpp), written from the files on disk.

#include "specs/tree.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace fabricost::web {

/// A value with every scalar as text; what has no value is null.
[[nodiscard]] inline nlohmann::ordered_json json_of(const core::SpecNode& node) {
  using Kind = core::SpecNode::Kind;
  nlohmann::ordered_json out;
  if (node.kind == Kind::scalar) out = node.text;
  if (node.kind == Kind::list) out = nlohmann::ordered_json::array();
  if (node.kind == Kind::map) out = nlohmann::ordered_json::object();
  for (const core::SpecNode& item : node.items) out.push_back(json_of(item));
  for (const auto& entry : node.entries) out[entry.key] = json_of(entry.value);
  return out;
}

/// A line for each YAML file of some folders of data/.
[[nodiscard]] inline std::vector<std::string> contained_lines(const std::filesystem::path& data, const std::vector<std::string>& folders) {
  std::vector<std::string> out;
  for (const std::string& folder : folders)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data / folder))
      if (entry.path().extension() == ".yaml")
        out.push_back(entry.path().lexically_relative(data).generic_string() + " " + json_of(core::parse_spec(entry.path())).dump() + "\n");
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace fabricost::web
