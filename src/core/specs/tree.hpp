#pragma once
/// A YAML document as a tree in which every value knows its file, line and column, even after one file was
/// laid over another. Refused on reading: anything but a regular file, more than 1 MiB or 10,000 values,
/// bytes that are not UTF-8 text, nesting beyond 24, duplicate keys, anchors, aliases and tags, unclosed
/// quotes, more than one document.

#include <fabricost/error.hpp>
#include <fabricost/namespaces.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// The file a value was read from, and the origin it states for all its numbers.
struct SpecFile {
  std::string name;  ///< as the user would write it
  std::string text;
  std::string source;
  std::string confidence;
};

struct Mark {
  std::shared_ptr<const SpecFile> file;
  int line = 0;    ///< 1-based
  int column = 0;  ///< 1-based
};

struct SpecNode {
  enum class Kind { null, scalar, list, map };
  struct Entry;

  Kind kind = Kind::null;
  std::string text;             ///< of a scalar
  std::vector<Entry> entries;   ///< of a map, in order
  std::vector<SpecNode> items;  ///< of a list
  Mark mark;
  std::shared_ptr<const SpecNode> replaced;  ///< the value that an overriding file or --set replaced

  [[nodiscard]] const SpecNode* find(std::string_view key) const;
  [[nodiscard]] SpecNode* find(std::string_view key);
};

struct SpecNode::Entry {
  std::string key;
  Mark mark;
  SpecNode value;
};

/// \throws SpecError
[[nodiscard]] SpecNode parse_spec(const std::filesystem::path& path);
/// The same for text from another source (the value of --set); `origin` takes the place of the file name.
[[nodiscard]] SpecNode parse_spec_text(const std::string& text, const std::string& origin);

/// Lays `over` on `base`: maps merge key by key, `tiers` by name, everything else is replaced (and
/// remembered).
void overlay(SpecNode& base, const SpecNode& over);

/// At most about 300 bytes of a text, for messages: on one line, without control characters.
[[nodiscard]] std::string clipped(std::string text);

[[nodiscard]] Issue issue_at(const Mark& mark, std::string path, std::string message, std::string remedy);

/// The whole of a regular file, or a SpecError naming why not. \param limit bytes
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path, std::size_t limit);

/// The tree of a file's text: the one place that reads YAML. The page has another behind it, without a parser (src/web/left_out.cpp).
/// \throws SpecError
[[nodiscard]] SpecNode parsed_yaml(const std::shared_ptr<const SpecFile>& file);

}  // namespace fabricost::core
