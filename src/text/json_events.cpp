/// \file json_events.cpp
/// A JSON reader over lines (RFC 8259; text does not span lines there either).

#include "text/json_events.hpp"

#include "text/csv.hpp"
#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <vector>

namespace fabricost::io {

namespace {

class Parser {
 public:
  Parser(const std::filesystem::path& file, const std::function<void(const JsonEvent&)>& take) : lines_(file), take_(take) {
    more_ = lines_.next(line_);
  }

  void document() {
    value(0);
    if (!at_end()) fail("there is text after the end of the JSON", "keep one document per file");
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& remedy = "write the file again: it may be cut or edited") const {
    throw SpecError({fault_in_line(lines_.name(), std::max(1, lines_.number()), static_cast<int>(at_) + 1, line_, message, remedy)});
  }
  /// Moves to the next non-blank character; true if there is none.
  bool at_end() {
    while (more_) {
      while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r')) ++at_;
      if (at_ < line_.size()) return false;
      const std::string last = line_;
      const std::size_t place = at_;
      more_ = lines_.next(line_);
      at_ = 0;
      if (!more_) {
        line_ = last;
        at_ = place;
      }
    }
    return true;
  }
  char peek() {
    if (at_end()) fail("the JSON ends too early");
    return line_[at_];
  }
  void expect(char c) {
    if (peek() != c) fail(fmt::format("expected '{}'", c));
    ++at_;
  }
  void emit(JsonEvent::Kind kind, std::string_view text, int depth) {
    take_({.kind = kind,
           .key = depth < static_cast<int>(keys_.size()) ? std::string_view{keys_[static_cast<std::size_t>(depth)]} : "",
           .text = text,
           .depth = depth,
           .line = lines_.number()});
  }

  void text(std::string& out) {
    if (peek() != '"') fail("expected '\"'");
    const QuoteFault fault = read_quoted(line_, at_, out);
    if (fault != QuoteFault::none) fail(fault == QuoteFault::open ? "the quote is not closed on this line" : "\\u needs four digits");
  }

  void value(int depth) {
    if (depth > 32) fail("nested more than 32 deep", "this is not what a benchmark writes");
    keys_.resize(static_cast<std::size_t>(depth) + 1);
    const char c = peek();
    if (c == '{' || c == '[') {
      const bool map = c == '{';
      ++at_;
      emit(map ? JsonEvent::Kind::open_map : JsonEvent::Kind::open_list, "", depth);
      if (peek() == (map ? '}' : ']')) {
        ++at_;
      } else {
        for (;;) {
          keys_.resize(static_cast<std::size_t>(depth) + 2);
          keys_.back().clear();
          if (map) {
            peek();
            text(keys_.back());
            expect(':');
          }
          value(depth + 1);
          const char next = peek();
          ++at_;
          if (next == (map ? '}' : ']')) break;
          if (next != ',') {
            --at_;
            fail(map ? "expected ',' or '}'" : "expected ',' or ']'");
          }
        }
      }
      keys_.resize(static_cast<std::size_t>(depth) + 1);
      emit(map ? JsonEvent::Kind::close_map : JsonEvent::Kind::close_list, "", depth);
    } else if (c == '"') {
      text(text_);
      emit(JsonEvent::Kind::text, text_, depth);
    } else {
      const std::size_t from = at_;
      while (at_ < line_.size() && std::string_view{",]} \t\r:"}.find(line_[at_]) == std::string_view::npos) ++at_;
      text_ = line_.substr(from, at_ - from);
      const bool word = text_ == "true" || text_ == "false" || text_ == "null" || text_ == "nan" || text_ == "-nan" || text_ == "inf";
      if (!word && !parse_number(text_)) {
        at_ = from;
        fail(fmt::format("\"{}\" is no value", text_.substr(0, 60)));
      }
      emit(word ? JsonEvent::Kind::other : JsonEvent::Kind::number, text_, depth);
    }
  }

  LineReader lines_;
  const std::function<void(const JsonEvent&)>& take_;
  std::string line_, text_;
  std::vector<std::string> keys_;  ///< of the open maps, by depth
  std::size_t at_ = 0;
  bool more_ = false;
};

}  // namespace

void read_json(const std::filesystem::path& file, const std::function<void(const JsonEvent&)>& take) { Parser(file, take).document(); }

}  // namespace fabricost::io
