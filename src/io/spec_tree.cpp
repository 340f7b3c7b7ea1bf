#include "io/spec_tree.hpp"

#include <fmt/format.h>
#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <unordered_set>
#include <utility>

namespace fabricost::io {

namespace {

constexpr std::size_t largest_spec = 1U << 20U;
constexpr std::size_t deepest = 24;

/// Builds the tree from the parser's events; faults are collected, not thrown.
class Builder : public YAML::EventHandler {
 public:
  Builder(std::shared_ptr<const SpecFile> file, std::vector<Issue>& issues) : file_(std::move(file)), issues_(issues) {}

  SpecNode root;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { place(leaf(mark, anchor, SpecNode::Kind::null, {})); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fault(mark, "aliases (*name) are not part of the format", "write the value again, or put it in a file and `extends:` that");
    place(leaf(mark, 0, SpecNode::Kind::null, {}));
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& value) override {
    if (!stack_.empty() && stack_.back().node.kind == SpecNode::Kind::map && !stack_.back().has_key) {
      check_anchor(mark, anchor);
      Frame& frame = stack_.back();
      frame.key = value;
      frame.key_mark = at(mark);
      frame.has_key = true;
      if (!frame.keys.insert(value).second) fault(mark, fmt::format("\"{}\" is given twice", value), "keep one of them");
      return;
    }
    place(leaf(mark, anchor, SpecNode::Kind::scalar, value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, anchor, SpecNode::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, anchor, SpecNode::Kind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    SpecNode node;
    std::string key;
    Mark key_mark;
    bool has_key = false;
    std::unordered_set<std::string> keys;
  };

  [[nodiscard]] Mark at(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }
  void fault(const YAML::Mark& mark, std::string message, std::string remedy) {
    if (issues_.size() < 50) issues_.push_back(issue_at(at(mark), "", std::move(message), std::move(remedy)));
  }
  void check_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) fault(mark, "anchors (&name) are not part of the format", "write the value out where it is needed");
  }
  SpecNode leaf(const YAML::Mark& mark, YAML::anchor_t anchor, SpecNode::Kind kind, std::string text) {
    check_anchor(mark, anchor);
    SpecNode node;
    node.kind = kind;
    node.text = std::move(text);
    node.mark = at(mark);
    return node;
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor, SpecNode::Kind kind) {
    if (stack_.size() >= deepest)
      throw SpecError({issue_at(at(mark), "", fmt::format("nested more than {} deep", deepest), "a spec needs four levels")});
    if (!stack_.empty() && stack_.back().node.kind == SpecNode::Kind::map && !stack_.back().has_key)
      throw SpecError({issue_at(at(mark), "", "a key must be plain text, not a list or map", "")});
    Frame frame;
    frame.node = leaf(mark, anchor, kind, {});
    stack_.push_back(std::move(frame));
  }
  void close() {
    SpecNode node = std::move(stack_.back().node);
    stack_.pop_back();
    place(std::move(node));
  }
  void place(SpecNode node) {
    if (stack_.empty()) {
      root = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.kind == SpecNode::Kind::list) {
      frame.node.items.push_back(std::move(node));
    } else if (frame.has_key) {
      frame.node.entries.push_back({frame.key, frame.key_mark, std::move(node)});
      frame.has_key = false;
    } else {  // a null key
      fault(YAML::Mark::null_mark(), "a key is missing", "");
    }
  }

  std::shared_ptr<const SpecFile> file_;
  std::vector<Issue>& issues_;
  std::vector<Frame> stack_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line.substr(0, 200));
  }
  return lines;
}

void check_text(const std::string& text, const std::string& name) {
  int line = 1;
  int column = 1;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n' && c != '\r' && c != '\t')
      throw SpecError({{.file = name, .line = line, .column = column, .path = "", .message = fmt::format("byte 0x{:02x} is not text", byte),
                        .remedy = "a spec is a YAML text file", .excerpt = ""}});
    if (c == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
}

SpecNode parse_document(const std::string& text, const std::string& name) {
  check_text(text, name);
  auto file = std::make_shared<SpecFile>();
  file->name = name;
  file->lines = lines_of(text);
  std::vector<Issue> issues;
  Builder builder(file, issues);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) builder.root.mark = {file, 1, 1};
    std::vector<Issue> ignored;
    Builder second(file, ignored);
    if (issues.empty() && parser.HandleNextDocument(second) && second.root.kind != SpecNode::Kind::null)
      issues.push_back(issue_at(second.root.mark, "", "a second document (---) in one file", "one file describes one thing"));
  } catch (const YAML::Exception& error) {
    const Mark mark{file, error.mark.line + 1, error.mark.column + 1};
    issues.push_back(issue_at(mark, "", "not valid YAML: " + error.msg, ""));
  }
  if (!issues.empty()) throw SpecError(std::move(issues));
  if (builder.root.kind == SpecNode::Kind::map) {
    const auto remember = [&](std::string_view key, std::string& into) {
      const SpecNode* node = builder.root.find(key);
      if (node != nullptr && node->kind == SpecNode::Kind::scalar) into = node->text;
    };
    remember("source", file->source);
    remember("confidence", file->confidence);
  }
  return std::move(builder.root);
}

/// A quantity with its origin, `{value: ..., source: ...}`, is one value: it is replaced whole.
bool is_value_map(const SpecNode& node) { return node.kind == SpecNode::Kind::map && node.find("value") != nullptr; }

const SpecNode* item_named(const SpecNode& list, const std::string& name) {
  for (const SpecNode& item : list.items)
    if (const SpecNode* own = item.find("name"); own != nullptr && own->text == name) return &item;
  return nullptr;
}

}  // namespace

const SpecNode* SpecNode::find(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}
SpecNode* SpecNode::find(std::string_view key) { return const_cast<SpecNode*>(std::as_const(*this).find(key)); }

Issue issue_at(const Mark& mark, std::string path, std::string message, std::string remedy) {
  Issue issue;
  issue.file = mark.file ? mark.file->name : "";
  issue.line = mark.line;
  issue.column = mark.column;
  issue.path = std::move(path);
  issue.message = std::move(message);
  issue.remedy = std::move(remedy);
  if (mark.file && mark.line > 0 && static_cast<std::size_t>(mark.line) <= mark.file->lines.size()) {
    std::string line = mark.file->lines[static_cast<std::size_t>(mark.line - 1)];
    if (line.size() <= 140) issue.excerpt = std::move(line);
  }
  return issue;
}

std::string read_text_file(const std::filesystem::path& path, std::size_t limit) {
  const auto refuse = [&](const std::string& message, const std::string& remedy) {
    return SpecError({{.file = path.string(), .line = 0, .column = 0, .path = "", .message = message, .remedy = remedy, .excerpt = ""}});
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw refuse("no such file", "");
  if (!std::filesystem::is_regular_file(status)) throw refuse("not a regular file", "name a file, not a directory, pipe or device");
  const auto size = std::filesystem::file_size(path, error);
  if (error) throw refuse("cannot be read: " + error.message(), "");
  if (size > limit) throw refuse(fmt::format("{} bytes are too many", size), fmt::format("files of this kind have at most {} bytes", limit));
  std::ifstream in(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (!in && !in.eof()) throw refuse("cannot be read", "");
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

SpecNode parse_spec(const std::filesystem::path& path) { return parse_document(read_text_file(path, largest_spec), path.string()); }
SpecNode parse_spec_text(const std::string& text, const std::string& origin) { return parse_document(text, origin); }

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
            if (own != nullptr) overlay(*const_cast<SpecNode*>(own), tier);
            else mine->items.push_back(tier);
          }
        } else {
          overlay(*mine, entry.value);
        }
      } else {
        base.entries.push_back(entry);
        base.entries.back().value.replaced = std::make_shared<SpecNode>();  // it replaces what would have been derived
      }
    }
    return;
  }
  auto replaced = std::make_shared<SpecNode>(std::move(base));
  base = over;
  base.replaced = std::move(replaced);
}

}  // namespace fabricost::io
