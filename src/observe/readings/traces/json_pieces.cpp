/// Pieces are told by their brackets and quotes alone (RFC 8259), a byte at a time outside of text and by memchr inside.

#include "readings/traces/json_pieces.hpp"

#include "text/line_reader.hpp"
#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace fabricost::observe {

namespace {

constexpr std::size_t block_of_file = std::size_t{1} << 20U, longest_piece = std::size_t{1} << 26U;
constexpr int deepest = 64;

enum class ByteKind : unsigned char { other, quote, open, close };
constexpr std::array<ByteKind, 256> byte_kinds = [] {
  std::array<ByteKind, 256> out{};
  out[static_cast<unsigned char>('"')] = ByteKind::quote;
  out[static_cast<unsigned char>('{')] = out[static_cast<unsigned char>('[')] = ByteKind::open;
  out[static_cast<unsigned char>('}')] = out[static_cast<unsigned char>(']')] = ByteKind::close;
  return out;
}();
[[nodiscard]] ByteKind kind_of_byte(char c) { return byte_kinds[static_cast<unsigned char>(c)]; }
[[nodiscard]] bool is_json_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
[[nodiscard]] bool ends_word(char c) { return c == ',' || c == ']' || c == '}' || c == ':' || is_json_blank(c); }

/// The place behind the quote that ends the text beginning at `from`; npos: not in there.
[[nodiscard]] std::size_t end_of_text(const char* bytes, std::size_t size, std::size_t from) {
  for (std::size_t at = from; at < size;) {
    const auto* quote = static_cast<const char*>(std::memchr(bytes + at, '"', size - at));
    if (quote == nullptr) return std::string_view::npos;
    at = static_cast<std::size_t>(quote - bytes) + 1;
    std::size_t slashes = 0;
    while (at - 2 - slashes + 1 > from && bytes[at - 2 - slashes] == '\\') ++slashes;
    if (slashes % 2 == 0) return at;
  }
  return std::string_view::npos;
}

}  // namespace

JsonPieces::JsonPieces(const std::filesystem::path& file) : source_(file), buffer_(2 * block_of_file) {}

void JsonPieces::fail(const std::string& message, const std::string& remedy) const {
  const char* const from = buffer_.data();
  std::uint64_t lines = lines_, start = line_start_;
  for (std::size_t i = 0; i < keep_; ++i)
    if (from[i] == '\n') ++lines, start = before_ + i + 1;
  const auto small = [](std::uint64_t n) { return static_cast<int>(std::min<std::uint64_t>(n, 2'000'000'000)); };
  throw SpecError({fault_in_line(source_.name(), small(lines + 1), small(before_ + keep_ - std::min(start, before_ + keep_) + 1), "",
                                 plain_text(message), remedy)});
}

void JsonPieces::fail_at_end(const std::string& message) {
  ends_early_ = true;
  fail(message);
}

bool JsonPieces::fill() {
  for (std::size_t i = 0; i < keep_;) {  // what is dropped is counted
    const auto* line = static_cast<const char*>(std::memchr(buffer_.data() + i, '\n', keep_ - i));
    if (line == nullptr) break;
    i = static_cast<std::size_t>(line - buffer_.data()) + 1;
    ++lines_;
    line_start_ = before_ + i;
  }
  std::memmove(buffer_.data(), buffer_.data() + keep_, end_ - keep_);
  before_ += keep_;
  at_ -= keep_;
  end_ -= keep_;
  keep_ = 0;
  if (buffer_.size() - end_ < block_of_file) {
    if (buffer_.size() > longest_piece) fail("one value is longer than 64 MiB", "this is no trace of a profiler");
    buffer_.resize(2 * buffer_.size());
  }
  const std::size_t count = source_.read(buffer_.data() + end_, block_of_file);
  end_ += count;
  return count > 0;
}

/// The next byte that is not blank; 0 after the last.
char JsonPieces::peek() {
  for (;;) {
    while (at_ < end_ && is_json_blank(buffer_[at_])) ++at_;
    keep_ = at_;
    if (at_ < end_) return buffer_[at_];
    if (!fill()) return 0;
  }
}

void JsonPieces::text() {
  for (std::size_t from = ++at_ - keep_;;) {  // relative to what is kept, which filling moves
    const std::size_t found = end_of_text(buffer_.data() + keep_, end_ - keep_, from);
    if (found != std::string_view::npos) {
      at_ = keep_ + found;
      return;
    }
    if (!fill()) fail_at_end("the JSON ends inside a text");
  }
}

void JsonPieces::nested() {
  std::uint64_t maps = 0;
  int depth = 0;
  for (;;) {
    if (at_ == end_ && !fill()) fail_at_end("the JSON ends too early");
    const char* const bytes = buffer_.data();
    while (at_ < end_ && kind_of_byte(bytes[at_]) == ByteKind::other) ++at_;
    if (at_ == end_) continue;
    const char c = bytes[at_];
    if (c == '"') {
      text();
      continue;
    }
    ++at_;
    if (kind_of_byte(c) == ByteKind::open) {
      if (++depth >= deepest) fail(fmt::format("nested more than {} deep", deepest), "this is no trace of a profiler");
      maps = maps << 1U | (c == '{' ? 1U : 0U);
      continue;
    }
    if ((maps & 1U) != (c == '}' ? 1U : 0U)) fail(fmt::format("a '{}' where the other bracket belongs", c));
    maps >>= 1U;
    if (--depth == 0) return;
  }
}

std::string_view JsonPieces::piece() {
  const char c = peek();
  if (c == 0) fail("the JSON ends too early");
  if (c == '"') {
    text();
  } else if (kind_of_byte(c) == ByteKind::open) {
    nested();
  } else {
    for (; at_ < end_ || fill(); ++at_)
      if (ends_word(buffer_[at_])) break;
    if (at_ == keep_) fail(fmt::format("a '{}' where a value belongs", c));
  }
  return {buffer_.data() + keep_, at_ - keep_};
}

void JsonPieces::elements(const Element& element) {
  ++at_;
  if (peek() == ']') {
    ++at_;
    return;
  }
  for (;;) {
    element(piece());
    const char c = peek();
    if (c != ',' && c != ']') fail(c == 0 ? "the JSON ends too early: a list is not closed" : "expected ',' or ']'");
    ++at_;
    if (c == ']') return;
    if (peek() == ']') {  // a comma before the end: some profilers of Chrome's format leave one
      ++at_;
      return;
    }
  }
}

void JsonPieces::documents(const Element& element) {
  const char first = peek();
  if (first == '[') elements(element);
  for (char c = peek(); c != 0; c = peek()) {
    if (c != '{' || first == '[') fail(fmt::format("a '{}' where the next record belongs", c));
    element(piece());
  }
}

void JsonPieces::read(std::string_view list, const Member& member, const Element& element) {
  const char first = peek();
  if (first == '[') return elements(element);
  if (first != '{') fail(first == 0 ? "the file is empty" : "this is not JSON: it begins with neither '{' nor '['", "name a trace; logs are for fabricost diagnose");
  ++at_;
  std::string key;
  for (bool any = false;; any = true) {
    char c = peek();
    if (c == '}') break;
    if (any) {
      if (c != ',') fail(c == 0 ? "the JSON ends too early" : "expected ',' or '}'");
      ++at_;
      c = peek();
    }
    if (c != '"') fail("expected the name of a member in quotes");
    key = unquoted(piece());
    if (peek() != ':') fail("expected ':'");
    ++at_;
    if (peek() == '[' && key == list)
      elements(element);
    else
      member(key, piece());
  }
  ++at_;
  if (peek() != 0) fail("there is text after the end of the JSON", "keep one trace per file");
}

JsonMembers::JsonMembers(std::string_view raw) : raw_(raw) {
  blanks();
  map_ = at_ < raw_.size() && raw_[at_] == '{';
  broken_ = !map_ && !(at_ < raw_.size() && raw_[at_] == '[');
  ++at_;
}

void JsonMembers::blanks() {
  while (at_ < raw_.size() && is_json_blank(raw_[at_])) ++at_;
}

std::size_t JsonMembers::end_of_value(std::size_t from) const {
  if (from >= raw_.size()) return from;
  if (raw_[from] == '"') return end_of_text(raw_.data(), raw_.size(), from + 1);
  std::size_t at = from;
  if (kind_of_byte(raw_[from]) != ByteKind::open) {
    while (at < raw_.size() && !ends_word(raw_[at])) ++at;
    return at;
  }
  for (int depth = 0; at < raw_.size();) {
    const ByteKind kind = kind_of_byte(raw_[at]);
    if (kind == ByteKind::quote) {
      at = end_of_text(raw_.data(), raw_.size(), at + 1);
      if (at == std::string_view::npos) return at;
      continue;
    }
    ++at;
    if (kind == ByteKind::open) ++depth;
    if (kind == ByteKind::close && --depth == 0) return at;
  }
  return std::string_view::npos;
}

bool JsonMembers::next() {
  if (broken_) return false;
  blanks();
  if (at_ < raw_.size() && (raw_[at_] == '}' || raw_[at_] == ']')) return false;
  if (!first_) {
    if (at_ >= raw_.size() || raw_[at_] != ',') return broken_ = true, false;
    ++at_;
    blanks();
  }
  first_ = false;
  if (map_) {
    if (at_ >= raw_.size() || raw_[at_] != '"') return broken_ = true, false;
    const std::size_t end = end_of_text(raw_.data(), raw_.size(), at_ + 1);
    if (end == std::string_view::npos) return broken_ = true, false;
    key = raw_.substr(at_ + 1, end - at_ - 2);
    at_ = end;
    blanks();
    if (at_ >= raw_.size() || raw_[at_] != ':') return broken_ = true, false;
    ++at_;
    blanks();
  }
  const std::size_t end = end_of_value(at_);
  if (end == std::string_view::npos || end <= at_) return broken_ = true, false;
  value = raw_.substr(at_, end - at_);
  at_ = end;
  return true;
}

bool read_members(std::string_view raw, std::initializer_list<std::pair<std::string_view, std::string_view*>> wanted) {
  JsonMembers m(raw);
  while (m.next())
    for (const auto& [key, into] : wanted)
      if (m.key == key) *into = unquoted(m.value);
  return !m.broken();
}

std::string_view unquoted(std::string_view value) {
  return value.size() >= 2 && value.front() == '"' && value.back() == '"' ? value.substr(1, value.size() - 2) : value;
}

std::string shown_text(std::string_view value) {
  constexpr std::size_t longest = 200;
  const std::string_view inner = unquoted(value).substr(0, longest);
  std::string out;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    char c = inner[i];
    if (c == '\\' && i + 1 < inner.size()) {
      c = shown_escape(inner[++i]);
      if (inner[i] == 'u') i += std::min<std::size_t>(4, inner.size() - 1 - i);
    }
    out += c == '\n' || c == '\t' ? ' ' : c;
  }
  return plain_text(std::move(out));
}

std::int64_t json_whole(std::string_view value, std::int64_t otherwise) {
  const std::string_view digits = unquoted(value);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return error == std::errc{} && end == digits.data() + digits.size() ? out : otherwise;
}

bool nanoseconds(std::string_view value, std::int64_t& out) {
  value = unquoted(value);
  std::int64_t whole = 0;
  const char* const end = value.data() + value.size();
  auto [at, error] = std::from_chars(value.data(), end, whole);
  constexpr std::int64_t most = 2'000'000'000'000'000;  // of microseconds: the year 2033
  if (error != std::errc{} || whole > most || whole < -most) return false;
  std::int64_t part = 0, unit = 100;
  const bool below = value.front() == '-';
  if (at != end && *at == '.')
    for (++at; at != end && *at >= '0' && *at <= '9'; ++at, unit /= 10) part += unit * (*at - '0');
  if (at != end && (*at == 'e' || *at == 'E')) {  // rare: as a double
    double real = 0;
    const auto all = std::from_chars(value.data(), end, real);
    if (all.ec != std::errc{} || all.ptr != end || !(real < static_cast<double>(most)) || !(real > -static_cast<double>(most)))
      return false;
    out = static_cast<std::int64_t>(real * 1000);
    return true;
  }
  if (at != end) return false;
  out = whole * 1000 + (below ? -part : part);
  return true;
}

}  // namespace fabricost::observe
