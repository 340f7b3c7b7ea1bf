/// \file parser.cpp
/// The source of a document's tree: a file that the program contains (contained.hpp), else the parser.

#include "specs/sources/contained.hpp"
#include "specs/sources/yaml.hpp"

#include <optional>
#include <utility>

namespace fabricost::core {

namespace {

constexpr std::size_t largest_spec = 1U << 20U;

/// The file of a tree learns the origin that it states for all its numbers.
SpecNode with_origin(SpecNode root, SpecFile& file) {
  if (root.kind == SpecNode::Kind::map) {
    const auto remember = [&](std::string_view key, std::string& into) {
      const SpecNode* node = root.find(key);
      if (node != nullptr && node->kind == SpecNode::Kind::scalar) into = node->text;
    };
    remember("source", file.source);
    remember("confidence", file.confidence);
  }
  return root;
}

SpecNode parse_document(std::string text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // a byte order mark would shift the first line's columns
  auto file = std::make_shared<SpecFile>();
  file->name = name;
  file->text = std::move(text);
  return with_origin(parsed_yaml(file), *file);
}

}  // namespace

SpecNode parse_spec(const std::filesystem::path& path) {
  if (is_contained(path)) {
    auto file = std::make_shared<SpecFile>();
    file->name = path.string();
    if (std::optional<SpecNode> known = contained_tree(file->name, file)) return with_origin(std::move(*known), *file);
  }
  return parse_document(read_text_file(path, largest_spec), path.string());
}
SpecNode parse_spec_text(const std::string& text, const std::string& origin) { return parse_document(text, origin); }

}  // namespace fabricost::core
