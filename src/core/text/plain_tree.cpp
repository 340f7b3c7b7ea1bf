/// Values by name, and JSON (RFC 8259) in memory, since other tools write a whole dump on one line.

#include "text/plain_tree.hpp"

#include "text/line_reader.hpp"
#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace fabricost::core {

PlainTree::Id PlainTree::find(Id map, std::string_view key) const {
  if (nodes_[map].kind != Kind::map) return none;
  const std::vector<Id>& all = nodes_[map].values;
  for (std::size_t i = 0; i + 1 < all.size(); i += 2)
    if (nodes_[all[i]].kind == Kind::text && nodes_[all[i]].text == key) return all[i + 1];
  return none;
}

std::vector<std::pair<std::string_view, PlainTree::Id>> PlainTree::members(Id map) const {
  std::vector<std::pair<std::string_view, Id>> out;
  if (nodes_[map].kind != Kind::map) return out;
  const std::vector<Id>& all = nodes_[map].values;
  for (std::size_t i = 0; i + 1 < all.size(); i += 2)
    if (nodes_[all[i]].kind == Kind::text) out.emplace_back(nodes_[all[i]].text, all[i + 1]);
  return out;
}

std::int64_t PlainTree::whole(Id id, std::int64_t otherwise) const {
  const Node& node = nodes_[id];
  if (node.kind == Kind::whole) return node.whole;
  constexpr double largest = 9e18;
  if (node.kind == Kind::real && std::fabs(node.real) < largest) return static_cast<std::int64_t>(node.real);
  return otherwise;
}

double PlainTree::real(Id id, double otherwise) const {
  const Node& node = nodes_[id];
  if (node.kind == Kind::real && std::isfinite(node.real)) return node.real;
  return node.kind == Kind::whole ? static_cast<double>(node.whole) : otherwise;
}

const std::vector<PlainTree::Id>& PlainTree::items(Id id) const {
  static const std::vector<Id> empty;
  return nodes_[id].kind == Kind::list ? nodes_[id].values : empty;
}

std::string PlainTree::shown(Id id) const {
  const Node& node = nodes_[id];
  if (node.kind == Kind::text) return node.text;
  if (node.kind == Kind::whole) return std::to_string(node.whole);
  return node.kind == Kind::real ? fmt::format("{}", node.real) : std::string{};
}

namespace {

class JsonParser {
 public:
  JsonParser(std::string_view text, std::size_t at, const std::string& name, const PlainLimits& limits)
      : text_(text), at_(at), name_(name), limits_(limits) {}

  PlainTree read(std::size_t& next) {
    tree_.root = value(0);
    next = at_;
    return std::move(tree_);
  }
  /// The same with nothing behind it.
  PlainTree document() {
    tree_.root = value(0);
    if (!at_end()) fail("there is text after the end of the JSON", "keep one document per file");
    return std::move(tree_);
  }

 private:
  [[noreturn]] void fail(std::string message, std::string remedy = "write the file again: it may be cut or edited") const {
    int line = 1;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < at_ && i < text_.size(); ++i)
      if (text_[i] == '\n') {
        ++line;
        begin = i + 1;
      }
    constexpr std::size_t longest_line = 4096;  // more is not shown
    const std::string shown{text_.substr(begin, std::min(longest_line, text_.find('\n', begin) - begin))};
    throw SpecError({fault_in_line(name_, line, static_cast<int>(std::min<std::size_t>(at_ - begin, 1U << 30U)) + 1, shown,
                                   std::move(message), std::move(remedy))});
  }
  bool at_end() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return false;
    }
    return true;
  }
  char peek() {
    if (at_end()) fail("the JSON ends too early");
    return text_[at_];
  }
  PlainTree::Id made(PlainTree::Kind kind) {
    if (tree_.size() >= limits_.nodes) fail(fmt::format("holds more than {} values", limits_.nodes), "keep a part of it");
    const PlainTree::Id id = tree_.add(kind);
    tree_.at(id).line = line_;
    return id;
  }

  std::string quoted() {
    std::string out;
    const std::size_t from = at_;
    const QuoteFault fault = read_quoted(text_, at_, out, limits_.keeps_control);
    if (fault == QuoteFault::digits) fail("\\u needs four digits");
    if (fault == QuoteFault::open) {
      at_ = std::min(text_.find('\n', from), text_.size());
      fail("the quote is not closed on this line");
    }
    const std::string_view read = text_.substr(from, at_ - from);
    line_ += static_cast<int>(std::count(read.begin(), read.end(), '\n'));
    make_utf8(out);
    return out;
  }

  PlainTree::Id value(std::size_t depth) {
    if (depth > limits_.depth)
      fail(fmt::format("nested more than {} deep", limits_.depth), fmt::format("this is not what {} writes", limits_.writer));
    const char c = peek();
    if (c == '{' || c == '[') return container(c == '{', depth);
    if (c == '"') {
      const PlainTree::Id id = made(PlainTree::Kind::text);
      tree_.at(id).text = quoted();
      return id;
    }
    const std::size_t from = at_;
    while (at_ < text_.size() && std::string_view{",]} \t\r\n:"}.find(text_[at_]) == std::string_view::npos) ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    if (word == "null" || word == "NaN" || word == "nan" || word == "-nan") return PlainTree::none;
    if (word == "true" || word == "false") {
      const PlainTree::Id id = made(PlainTree::Kind::boolean);
      tree_.at(id).whole = word == "true" ? 1 : 0;
      return id;
    }
    std::int64_t whole = 0;
    if (const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), whole);
        error == std::errc{} && end == word.data() + word.size()) {
      const PlainTree::Id id = made(PlainTree::Kind::whole);
      tree_.at(id).whole = whole;
      return id;
    }
    double real = 0;
    if (const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), real);
        word.empty() || error != std::errc{} || end != word.data() + word.size()) {
      at_ = from;
      fail(fmt::format("\"{}\" is no value", word.substr(0, 60)));
    }
    const PlainTree::Id id = made(PlainTree::Kind::real);
    tree_.at(id).real = real;
    return id;
  }

  PlainTree::Id container(bool map, std::size_t depth) {
    const PlainTree::Id id = made(map ? PlainTree::Kind::map : PlainTree::Kind::list);
    const char close = map ? '}' : ']';
    ++at_;
    while (peek() != close) {
      if (!tree_[id].values.empty()) {
        if (text_[at_] == ',')
          ++at_;
        else if (!map || text_[at_] != '"')
          fail(map ? "expected ',' or '}'" : "expected ',' or ']'");
      }
      if (map) {
        if (peek() != '"') fail("expected a name in quotes");
        const PlainTree::Id key = made(PlainTree::Kind::text);
        tree_.at(key).text = quoted();
        if (peek() != ':') fail("expected ':'");
        ++at_;
        tree_.at(id).values.push_back(key);
      }
      const PlainTree::Id one = value(depth + 1);
      tree_.at(id).values.push_back(one);
    }
    ++at_;
    return id;
  }

  std::string_view text_;
  std::size_t at_;
  const std::string& name_;
  PlainLimits limits_;
  PlainTree tree_;
  int line_ = 1;
};

}  // namespace

PlainTree read_json_value(std::string_view text, std::size_t& next, const std::string& name, const PlainLimits& limits) {
  return JsonParser(text, next, name, limits).read(next);
}

PlainTree read_json_file(const std::filesystem::path& file) {
  constexpr std::size_t longest_file = std::size_t{1} << 28U;
  LineReader lines(file);
  std::string text, line;
  while (lines.next(line)) {
    if (lines.number() > 1) text += '\n';
    text += line;
    if (text.size() > longest_file) throw fault_of_file(lines.name(), "is JSON of more than 256 MiB", "keep a part of it");
  }
  return JsonParser(text, 0, lines.name(), {.depth = 32, .writer = "a benchmark"}).document();
}

}  // namespace fabricost::core
