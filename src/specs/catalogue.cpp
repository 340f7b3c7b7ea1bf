/// \file catalogue.cpp
/// Writing trees as bytes and reading them back.

#include "specs/catalogue.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>

namespace fabricost::io {

namespace {

constexpr std::string_view magic = "fcspecs1";
constexpr std::size_t head_size = magic.size() + 4;
constexpr std::size_t row_size = 28;
constexpr int deepest_catalogue = 32;  // the parser refuses far less

/// FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

template <class Unsigned>
void append_fixed(std::string& out, Unsigned number) {
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i) out += static_cast<char>(static_cast<unsigned char>(number >> (8 * i)));
}

/// Requires enough bytes.
template <class Unsigned>
Unsigned fixed_at(std::string_view bytes, std::size_t at) {
  Unsigned number = 0;
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i)
    number |= static_cast<Unsigned>(static_cast<Unsigned>(static_cast<unsigned char>(bytes[at + i])) << (8 * i));
  return number;
}

/// The starts of a text's lines.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {
    for (std::size_t start = 0; start != std::string_view::npos;) {
      starts_.push_back(start);
      const std::size_t end = text.find('\n', start);
      start = end == std::string_view::npos ? end : end + 1;
    }
  }
  /// `size` bytes that start `behind` a mark; empty if there are too few.
  [[nodiscard]] std::string_view at(const Mark& mark, std::size_t behind, std::size_t size) const {
    if (mark.line < 1 || mark.column < 1 || static_cast<std::size_t>(mark.line) > starts_.size()) return {};
    const std::size_t start = starts_[static_cast<std::size_t>(mark.line) - 1] + static_cast<std::size_t>(mark.column) - 1 + behind;
    return start <= text_.size() && size <= text_.size() - start ? text_.substr(start, size) : std::string_view{};
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
};

class Writer {
 public:
  explicit Writer(std::string_view text) : lines_(text) {}
  [[nodiscard]] std::string tree(const SpecNode& root) {
    node(root);
    return std::move(bytes_);
  }

 private:
  void number(std::size_t n) {
    for (; n >= 0x80; n >>= 7U) bytes_ += static_cast<char>(static_cast<unsigned char>(n | 0x80U));
    bytes_ += static_cast<char>(static_cast<unsigned char>(n));
  }
  void words(const std::string& text, const Mark& at) {
    for (const std::size_t behind : {0U, 1U})
      if (!text.empty() && lines_.at(at, behind, text.size()) == text) return number(4 * text.size() + 1 + behind);
    number(4 * text.size());
    bytes_ += text;
  }
  void mark(const Mark& at) {
    number(static_cast<std::size_t>(at.line));
    number(static_cast<std::size_t>(at.column));
  }
  void node(const SpecNode& node) {
    number(static_cast<std::size_t>(node.kind));
    mark(node.mark);
    if (node.kind == SpecNode::Kind::scalar) words(node.text, node.mark);
    if (node.kind == SpecNode::Kind::list) {
      number(node.items.size());
      for (const SpecNode& item : node.items) this->node(item);
    }
    if (node.kind == SpecNode::Kind::map) {
      number(node.entries.size());
      for (const SpecNode::Entry& entry : node.entries) {
        mark(entry.mark);
        words(entry.key, entry.mark);
        this->node(entry.value);
      }
    }
  }

  Lines lines_;
  std::string bytes_;
};

/// Every read is checked: damaged bytes end the tree, not the program.
class Reader {
 public:
  Reader(std::string_view bytes, std::string_view text, const std::shared_ptr<const SpecFile>& file)
      : bytes_(bytes), lines_(text), file_(file) {}

  [[nodiscard]] std::optional<SpecNode> tree() {
    SpecNode root = node(0);
    if (!fine_ || at_ != bytes_.size()) return std::nullopt;
    return root;
  }

 private:
  std::size_t number() {
    std::size_t n = 0;
    for (unsigned shift = 0; shift < 32 && at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      n |= static_cast<std::size_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return n;
    }
    fine_ = false;
    return 0;
  }
  /// A count of things that take at least one byte each.
  std::size_t count() {
    const std::size_t n = number();
    if (n <= bytes_.size() - at_) return n;
    fine_ = false;
    return 0;
  }
  std::string words(const Mark& at) {
    const std::size_t head = number();
    const std::size_t size = head / 4;
    if (head % 4 != 0) {
      const std::string_view found = lines_.at(at, head % 4 - 1, size);
      fine_ = fine_ && found.size() == size;
      return std::string{found};
    }
    if (size > bytes_.size() - at_) {
      fine_ = false;
      return {};
    }
    at_ += size;
    return std::string{bytes_.substr(at_ - size, size)};
  }
  Mark mark() {
    const std::size_t line = number();
    const std::size_t column = number();
    constexpr std::size_t max = std::numeric_limits<int>::max();
    return {file_, static_cast<int>(std::min(line, max)), static_cast<int>(std::min(column, max))};
  }
  SpecNode node(int depth) {
    SpecNode out;
    const std::size_t kind = number();
    if (kind > static_cast<std::size_t>(SpecNode::Kind::map) || depth > deepest_catalogue) fine_ = false;
    if (!fine_) return out;
    out.kind = static_cast<SpecNode::Kind>(kind);
    out.mark = mark();
    if (out.kind == SpecNode::Kind::scalar) out.text = words(out.mark);
    if (out.kind == SpecNode::Kind::list) {
      const std::size_t n = count();
      out.items.reserve(n);
      for (std::size_t i = 0; i < n && fine_; ++i) out.items.push_back(node(depth + 1));
    }
    if (out.kind == SpecNode::Kind::map) {
      const std::size_t n = count();
      out.entries.reserve(n);
      for (std::size_t i = 0; i < n && fine_; ++i) {
        Mark at = mark();
        std::string key = words(at);
        out.entries.push_back({std::move(key), std::move(at), node(depth + 1)});
      }
    }
    return out;
  }

  std::string_view bytes_;
  Lines lines_;
  const std::shared_ptr<const SpecFile>& file_;
  std::size_t at_ = 0;
  bool fine_ = true;
};

std::atomic<const std::string_view*>& in_use() {
  static std::atomic<const std::string_view*> catalogue{nullptr};
  return catalogue;
}

}  // namespace

std::string catalogue_of(std::span<const ParsedDocument> documents) {
  struct Row {
    std::uint64_t hash;
    std::size_t text_size;
    std::string tree;
  };
  std::vector<Row> rows;
  for (const ParsedDocument& document : documents)
    rows.push_back({hash_of(document.text), document.text.size(), Writer{document.text}.tree(document.root)});
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.hash < b.hash; });
  rows.erase(std::unique(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.hash == b.hash; }), rows.end());
  std::string out{magic};
  append_fixed(out, static_cast<std::uint32_t>(rows.size()));
  std::size_t start = head_size + rows.size() * row_size;
  for (const Row& row : rows) {
    append_fixed(out, row.hash);
    append_fixed(out, hash_of(row.tree));
    append_fixed(out, static_cast<std::uint32_t>(row.text_size));
    append_fixed(out, static_cast<std::uint32_t>(start));
    append_fixed(out, static_cast<std::uint32_t>(row.tree.size()));
    start += row.tree.size();
  }
  for (const Row& row : rows) out += row.tree;
  return out;
}

std::optional<SpecNode> tree_in(std::string_view catalogue, std::string_view text, const std::shared_ptr<const SpecFile>& file) {
  if (catalogue.size() < head_size || !catalogue.starts_with(magic)) return std::nullopt;
  const std::size_t rows = fixed_at<std::uint32_t>(catalogue, magic.size());
  if (rows > (catalogue.size() - head_size) / row_size) return std::nullopt;
  const std::uint64_t wanted = hash_of(text);
  std::size_t first = 0;
  for (std::size_t left = rows; left > 0;) {
    const std::size_t half = left / 2;
    const bool before = fixed_at<std::uint64_t>(catalogue, head_size + (first + half) * row_size) < wanted;
    first += before ? half + 1 : 0;
    left = before ? left - half - 1 : half;
  }
  if (first == rows) return std::nullopt;
  const std::string_view row = catalogue.substr(head_size + first * row_size, row_size);
  const std::size_t start = fixed_at<std::uint32_t>(row, 20);
  const std::size_t size = fixed_at<std::uint32_t>(row, 24);
  if (fixed_at<std::uint64_t>(row, 0) != wanted || fixed_at<std::uint32_t>(row, 16) != text.size()) return std::nullopt;
  if (start > catalogue.size() || size > catalogue.size() - start) return std::nullopt;
  const std::string_view tree = catalogue.substr(start, size);
  if (hash_of(tree) != fixed_at<std::uint64_t>(row, 8)) return std::nullopt;
  return Reader{tree, text, file}.tree();
}

void use_catalogue(const std::string_view& catalogue) { in_use().store(&catalogue, std::memory_order_release); }

std::string_view used_catalogue() {
  const std::string_view* catalogue = in_use().load(std::memory_order_acquire);
  return catalogue != nullptr ? *catalogue : std::string_view{};
}

}  // namespace fabricost::io
