/// Operations on trees: looking up a key, laying one over another, finding the place of a value in its file. Also reads a whole text file, and
/// takes a document's tree from the files that the program contains (contained.hpp), else from the parser.

#include "specs/tree.hpp"

#include "specs/sources/contained.hpp"
#include "text/files_read.hpp"
#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

namespace fabricost::core {

namespace {

/// A line, counted from 1, without its end; empty if it does not exist.
std::string_view line_of(std::string_view text, int number) {
  if (number < 1) return {};
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

/// A quantity with its origin, `{value: ..., source: ...}`, is one value and replaced as a whole.
bool is_value_map(const SpecNode& node) { return node.kind == SpecNode::Kind::map && node.find("value") != nullptr; }

const SpecNode* item_named(const SpecNode& list, const std::string& name) {
  for (const SpecNode& item : list.items)
    if (const SpecNode* own = item.find("name"); own != nullptr && own->text == name) return &item;
  return nullptr;
}

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

/// \throws SpecError for two tiers of one name in one file: in a file that extends another they would merge
void refuse_equal_tiers(const SpecNode& root) {
  const SpecNode* tiers = root.kind == SpecNode::Kind::map ? root.find("tiers") : nullptr;
  if (tiers == nullptr || tiers->kind != SpecNode::Kind::list) return;
  for (std::size_t i = 0; i < tiers->items.size(); ++i)
    if (const SpecNode* called = tiers->items[i].find("name"); called != nullptr && called->kind == SpecNode::Kind::scalar)
      if (const SpecNode* first = item_named(*tiers, called->text); first != &tiers->items[i])
        throw SpecError({issue_at(called->mark, fmt::format("tiers[{}].name", i),
                                  fmt::format("a second tier \"{}\"; the first is in line {}", clipped(called->text), first->find("name")->mark.line),
                                  "names are unique")});
}

SpecNode parse_document(std::string text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // a byte order mark would shift the first line's columns
  auto file = std::make_shared<SpecFile>();
  file->name = name;
  file->text = std::move(text);
  SpecNode root = with_origin(parsed_yaml(file), *file);
  refuse_equal_tiers(root);
  return root;
}

}  // namespace

const SpecNode* SpecNode::find(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}
SpecNode* SpecNode::find(std::string_view key) { return const_cast<SpecNode*>(std::as_const(*this).find(key)); }

std::string clipped(std::string text) {
  constexpr std::size_t max = 300;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  text = plain_text(std::move(text));
  if (text.size() <= max) return text;
  std::size_t end = max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
  text.resize(end);
  return text + "...";
}

Issue issue_at(const Mark& mark, std::string path, std::string message, std::string remedy) {
  Issue issue;
  issue.file = mark.file ? plain_text(mark.file->name) : "";
  issue.line = mark.line;
  issue.column = mark.column;
  issue.path = clipped(std::move(path));
  issue.message = clipped(std::move(message));
  issue.remedy = std::move(remedy);
  if (mark.file) {
    const std::string_view line = line_of(mark.file->text, mark.line);
    if (line.size() <= 140) issue.excerpt = plain_text(std::string{line});
  }
  return issue;
}

std::string read_text_file(const std::filesystem::path& path, std::size_t limit) {
  const auto refuse = [&](const std::string& message, const std::string& remedy) {
    const std::string file = plain_text(path.string());
    return SpecError({{.file = file, .line = 0, .column = 0, .path = "", .message = message, .remedy = remedy, .excerpt = ""}});
  };
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) {
    if (errno == EACCES) throw refuse("cannot be read: " + std::generic_category().message(errno), "name a file that you may read");
    throw refuse("no such file", "a path counts from the current folder");
  }
  if (!S_ISREG(about.st_mode)) throw refuse("not a regular file", "name a file, not a directory, pipe or device");
  const auto size = static_cast<std::uintmax_t>(about.st_size);
  if (size > limit)
    throw refuse(fmt::format("{} bytes are too many", size), fmt::format("files of this kind have at most {} bytes", limit));
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw refuse(std::string{"cannot be read: "} + std::strerror(errno), "name a file that you may read");
  std::string text(static_cast<std::size_t>(size), '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (!in && !in.eof()) throw refuse("cannot be read", "");
  text.resize(static_cast<std::size_t>(in.gcount()));
  note_read(path, about);
  return text;
}

void overlay(SpecNode& base, const SpecNode& over) {
  using Kind = SpecNode::Kind;
  if (base.kind == Kind::map && over.kind == Kind::map && !is_value_map(base) && !is_value_map(over)) {
    base.mark = over.mark;
    for (const SpecNode::Entry& entry : over.entries) {
      if (SpecNode* mine = base.find(entry.key)) {
        if (entry.key == "tiers" && mine->kind == Kind::list && entry.value.kind == Kind::list) {
          for (const SpecNode& tier : entry.value.items) {
            const SpecNode* tier_name = tier.find("name");
            const SpecNode* own = tier_name != nullptr ? item_named(*mine, tier_name->text) : nullptr;
            if (own != nullptr)
              overlay(*const_cast<SpecNode*>(own), tier);
            else
              mine->items.push_back(tier);
          }
        } else {
          overlay(*mine, entry.value);
        }
      } else {
        base.entries.push_back(entry);
        base.entries.back().value.replaced = std::make_shared<SpecNode>();  // it replaces a derived value
      }
    }
    return;
  }
  auto replaced = std::make_shared<SpecNode>(std::move(base));
  base = over;
  base.replaced = std::move(replaced);
}

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
