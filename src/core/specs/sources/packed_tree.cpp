/// \file packed_tree.cpp
/// Writing trees as bytes and reading them back.

#include "specs/sources/packed_tree.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace fabricost::core {

void append_number(std::string& out, std::size_t number) {
  for (; number >= 0x80; number >>= 7U) out += static_cast<char>(static_cast<unsigned char>(number | 0x80U));
  out += static_cast<char>(static_cast<unsigned char>(number));
}

std::optional<std::size_t> number_at(std::string_view bytes, std::size_t& at) {
  std::size_t n = 0;
  for (unsigned shift = 0; shift < 32 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    n |= static_cast<std::size_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) return n;
  }
  return std::nullopt;
}

namespace {

constexpr char ended = 0, counted = 1;  // behind words, before the size of words

constexpr int deepest_tree = 32;  // the parser refuses far less

/// The end of the previous words, from which the next place is counted.
struct Cursor {
  std::int64_t line = 1, column = 1;

  void pass(const std::string& words) { column += static_cast<std::int64_t>(words.size()); }
};

class Writer {
 public:
  [[nodiscard]] std::string tree(const SpecNode& root) {
    node(root);
    std::string out;
    for (const std::string* part : {&shape_, &places_, &keys_}) append_number(out, part->size());
    return out + shape_ + places_ + keys_ + words_;
  }

 private:
  void signed_number(std::int64_t n) { append_number(places_, static_cast<std::size_t>(n < 0 ? -2 * n - 1 : 2 * n)); }
  void place(const Mark& at) {
    signed_number(at.line - cursor_.line);
    if (at.line == cursor_.line)
      signed_number(at.column - cursor_.column);
    else
      append_number(places_, static_cast<std::size_t>(at.column));
    cursor_ = {at.line, at.column};
  }
  void words(std::string& out, const std::string& text) {
    cursor_.pass(text);
    const bool is_plain = text.find(ended) == std::string::npos && (text.empty() || text.front() > counted || text.front() < ended);
    if (is_plain) {
      out += text + ended;
    } else {
      out += counted;
      append_number(out, text.size());
      out += text;
    }
  }
  void node(const SpecNode& node) {
    append_number(shape_, static_cast<std::size_t>(node.kind));
    place(node.mark);
    if (node.kind == SpecNode::Kind::scalar) words(words_, node.text);
    if (node.kind == SpecNode::Kind::list) {
      append_number(shape_, node.items.size());
      for (const SpecNode& item : node.items) this->node(item);
    }
    if (node.kind == SpecNode::Kind::map) {
      append_number(shape_, node.entries.size());
      for (const SpecNode::Entry& entry : node.entries) {
        place(entry.mark);
        words(keys_, entry.key);
        this->node(entry.value);
      }
    }
  }

  Cursor cursor_;
  std::string shape_, places_, keys_, words_;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::shared_ptr<const SpecFile>& file) : file_(file) {
    std::size_t at = 0;
    std::array<std::size_t, parts> sizes{};
    for (std::size_t i = 0; i + 1 < parts; ++i) sizes[i] = checked(number_at(bytes, at));
    for (std::size_t i = 0; i < parts; ++i) {
      parts_[i].bytes = bytes.substr(at, i + 1 < parts ? sizes[i] : std::string_view::npos);
      fine_ = fine_ && (i + 1 == parts || parts_[i].bytes.size() == sizes[i]);
      at += parts_[i].bytes.size();
    }
  }

  [[nodiscard]] std::optional<SpecNode> tree() {
    SpecNode root = node(0);
    for (const Part& part : parts_) fine_ = fine_ && part.at == part.bytes.size();
    return fine_ ? std::optional{std::move(root)} : std::nullopt;
  }

 private:
  enum Which { shape, places, keys, words_of_values, parts };
  struct Part {
    std::string_view bytes{};
    std::size_t at = 0;
  };

  std::size_t checked(std::optional<std::size_t> number) {
    fine_ = fine_ && number;
    return number.value_or(0);
  }
  std::size_t number(Which part) { return checked(number_at(parts_[part].bytes, parts_[part].at)); }
  std::int64_t signed_number() {
    const auto n = static_cast<std::int64_t>(number(places));
    return n % 2 != 0 ? -(n + 1) / 2 : n / 2;
  }
  /// A count of things that take at least one byte of the shape each.
  std::size_t count() {
    const std::size_t n = number(shape);
    if (n <= parts_[shape].bytes.size() - parts_[shape].at) return n;
    fine_ = false;
    return 0;
  }
  Mark place() {
    const std::int64_t lines = signed_number();
    const std::int64_t column = lines == 0 ? cursor_.column + signed_number() : static_cast<std::int64_t>(number(places));
    constexpr std::int64_t max = std::numeric_limits<int>::max();
    cursor_ = {std::clamp<std::int64_t>(cursor_.line + lines, 0, max), std::clamp<std::int64_t>(column, 0, max)};
    return {file_, static_cast<int>(cursor_.line), static_cast<int>(cursor_.column)};
  }
  std::string words(Which which) {
    Part& part = parts_[which];
    std::string_view found;
    if (part.at < part.bytes.size() && part.bytes[part.at] == counted) {
      ++part.at;
      const std::size_t size = number(which);
      found = part.bytes.substr(std::min(part.at, part.bytes.size()), size);
      part.at += found.size();
      fine_ = fine_ && found.size() == size;
    } else {
      const std::size_t end = std::min(part.bytes.find(ended, part.at), part.bytes.size());
      fine_ = fine_ && end < part.bytes.size();
      found = part.bytes.substr(part.at, end - part.at);
      part.at = std::min(end + 1, part.bytes.size());
    }
    std::string out{found};
    cursor_.pass(out);
    return out;
  }
  SpecNode node(int depth) {
    SpecNode out;
    const std::size_t kind = number(shape);
    if (kind > static_cast<std::size_t>(SpecNode::Kind::map) || depth > deepest_tree) fine_ = false;
    if (!fine_) return out;
    out.kind = static_cast<SpecNode::Kind>(kind);
    out.mark = place();
    if (out.kind == SpecNode::Kind::scalar) out.text = words(words_of_values);
    if (out.kind == SpecNode::Kind::list) {
      const std::size_t n = count();
      out.items.reserve(n);
      for (std::size_t i = 0; i < n && fine_; ++i) out.items.push_back(node(depth + 1));
    }
    if (out.kind == SpecNode::Kind::map) {
      const std::size_t n = count();
      out.entries.reserve(n);
      for (std::size_t i = 0; i < n && fine_; ++i) {
        Mark at = place();
        std::string key = words(keys);
        out.entries.push_back({std::move(key), std::move(at), node(depth + 1)});
      }
    }
    return out;
  }

  const std::shared_ptr<const SpecFile>& file_;
  std::array<Part, parts> parts_;
  Cursor cursor_;
  bool fine_ = true;
};

}  // namespace

std::string packed_tree(const SpecNode& root) { return Writer{}.tree(root); }

std::optional<SpecNode> unpacked_tree(std::string_view bytes, const std::shared_ptr<const SpecFile>& file) { return Reader{bytes, file}.tree(); }

}  // namespace fabricost::core
