/// Builds a tree from yaml-cpp's events and refuses what the format does not allow.

#include "specs/tree.hpp"

#include "text/plain_text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <unordered_set>
#include <utility>

namespace fabricost::core {

namespace {

constexpr std::size_t deepest = 24;
constexpr std::size_t max_values = 10'000;

/// False for a text with characters that need an escape such as "\0" or "\e".
bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' || c == '\r'; });
}

/// yaml-cpp treats an unclosed quote as running to the end of the file.
bool is_closed(const std::string& text, std::size_t open) {
  const char quote = text[open];
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    const bool escape = quote == '"' && text[i] == '\\';
    const bool doubled = quote == '\'' && text[i] == quote && i + 1 < text.size() && text[i + 1] == quote;
    if (escape || doubled)
      ++i;
    else if (text[i] == quote)
      return true;
  }
  return false;
}

/// Builds the tree from the parser's events; faults are collected, not thrown.
class Builder : public YAML::EventHandler {
 public:
  /// \param text the parsed text, for checking its quotes
  Builder(std::shared_ptr<const SpecFile> file, const std::string& text, std::vector<Issue>& issues)
      : file_(std::move(file)), text_(text), issues_(issues) {}

  SpecNode root;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { place(leaf(mark, anchor, SpecNode::Kind::null, {})); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fault(mark, "aliases (*name) are not part of the format", "write the value again, or put it in a file and `extends:` that");
    place(leaf(mark, 0, SpecNode::Kind::null, {}));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    check_tag(mark, tag);
    if (!is_printable(value)) fault(mark, "holds characters that are no text", "leave the escapes (\\0, \\e, ...) out");
    if (const auto first = static_cast<std::size_t>(mark.pos);
        first < text_.size() && (text_[first] == '"' || text_[first] == '\'') && !is_closed(text_, first))
      throw SpecError(
          {issue_at(at(mark), "", "not valid YAML: a quote that is never closed", fmt::format("close it with {}", text_[first]))});
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
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(mark, anchor, SpecNode::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
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
  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    // yaml-cpp's tag is "?" for a plain value and "!" for a quoted one
    if (tag != "?" && tag != "!" && !tag.empty()) fault(mark, "tags (!name) are not part of the format", "leave it out");
  }
  SpecNode leaf(const YAML::Mark& mark, YAML::anchor_t anchor, SpecNode::Kind kind, std::string text) {
    check_anchor(mark, anchor);
    if (++values_ > max_values)
      throw SpecError({issue_at(at(mark), "", fmt::format("more than {} values", max_values), "a spec needs some hundred")});
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
      throw SpecError(
          {issue_at(at(mark), "", "a key must be plain text, not a list or map", "close the [ or { that starts here, or quote the key")});
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
      if (node.kind == SpecNode::Kind::null) node.mark = frame.key_mark;  // the parser's mark is at whatever comes next
      frame.node.entries.push_back({frame.key, frame.key_mark, std::move(node)});
      frame.has_key = false;
    } else {  // a null key
      if (issues_.size() < 50) issues_.push_back(issue_at(node.mark, "", "a key is missing", "write `key: value`"));
    }
  }

  std::shared_ptr<const SpecFile> file_;
  const std::string& text_;
  std::vector<Issue>& issues_;
  std::vector<Frame> stack_;
  std::size_t values_ = 0;
};

void check_text(const std::string& text, const std::string& name) {
  int line = 1;
  int column = 1;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t length = character_at(text, i);
    if (length == 0 || (byte < 0x20 && c != '\n' && c != '\r' && c != '\t'))
      throw SpecError({{.file = name,
                        .line = line,
                        .column = column,
                        .path = "",
                        .message = fmt::format("byte 0x{:02x} is not text", byte),
                        .remedy = "a spec is a YAML file in UTF-8",
                        .excerpt = ""}});
    if (c == '\n') {
      ++line;
      column = 1;
    } else {
      column += static_cast<int>(length);
    }
    i += length;
  }
}

/// Remedies for the commonest of yaml-cpp's messages.
std::string yaml_remedy(const std::string& message) {
  if (message == YAML::ErrorMsg::MAP_VALUE)
    return "the line before lacks its colon or is indented otherwise, or a text with \": \" needs quotes";
  if (message == YAML::ErrorMsg::END_OF_SEQ_FLOW) return "a [ is not closed before here";
  if (message == YAML::ErrorMsg::END_OF_MAP_FLOW) return "a { is not closed before here";
  return "";
}

/// Place of the first tab before a line's first word, which YAML forbids: yaml-cpp says so in other words, at another place.
std::optional<Mark> tab_in_indentation(const std::shared_ptr<const SpecFile>& file) {
  std::istringstream in(file->text);
  int number = 1;
  for (std::string line; std::getline(in, line); ++number)
    if (const std::size_t at = line.find_first_not_of(" -"); at != std::string::npos && line[at] == '\t')
      return Mark{file, number, static_cast<int>(at) + 1};
  return std::nullopt;
}

}  // namespace

SpecNode parsed_yaml(const std::shared_ptr<const SpecFile>& file) {
  check_text(file->text, file->name);
  std::vector<Issue> issues;
  Builder builder(file, file->text, issues);
  try {
    std::istringstream in(file->text);
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) builder.root.mark = {file, 1, 1};
    Mark last = builder.root.mark;
    for (bool more = true; more && issues.empty();) {
      std::vector<Issue> ignored;
      Builder second(file, file->text, ignored);
      more = parser.HandleNextDocument(second);
      const Mark mark = second.root.mark;
      if (more && second.root.kind != SpecNode::Kind::null)
        issues.push_back(issue_at(mark, "", "a second document (---) in one file", "one file describes one thing"));
      else if (more && mark.line == last.line && mark.column == last.column)  // the parser cannot get past it
        issues.push_back(issue_at(mark, "", "not valid YAML: unexpected text", "write `key: value` lines"));
      last = mark;
    }
  } catch (const YAML::Exception& error) {
    if (const auto tab = tab_in_indentation(file))
      issues.push_back(issue_at(*tab, "", "not valid YAML: a tab", "indent with spaces"));
    else
      issues.push_back(
          issue_at({file, error.mark.line + 1, error.mark.column + 1}, "", "not valid YAML: " + error.msg, yaml_remedy(error.msg)));
  }
  if (!issues.empty()) throw SpecError(std::move(issues));
  return std::move(builder.root);
}

}  // namespace fabricost::core
