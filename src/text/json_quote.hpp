#pragma once
/// \file json_quote.hpp
/// A quoted text of JSON (RFC 8259), for both readers of JSON. Private to the sources.

#include <string>
#include <string_view>

namespace fabricost::io {

enum class QuoteFault : unsigned char { none, open, digits };  ///< the quote is not closed; \u without four digits

/// Reads from the opening quote at `at`, which then stands behind the closing one, or where the fault is. Control characters become blanks,
/// \u a question mark: names and numbers here are ASCII.
[[nodiscard]] inline QuoteFault read_quoted(std::string_view text, std::size_t& at, std::string& out) {
  out.clear();
  for (++at;; ++at) {
    if (at >= text.size()) return QuoteFault::open;
    char c = text[at];
    if (c == '"') break;
    if (c == '\\') {
      if (++at >= text.size()) return QuoteFault::open;
      c = text[at];
      if (c == 'n' || c == 't' || c == 'r' || c == 'b' || c == 'f') c = ' ';
      if (c == 'u') {
        if (text.size() - at < 5) return QuoteFault::digits;
        at += 4;
        c = '?';
      }
    }
    out += c;
  }
  ++at;
  return QuoteFault::none;
}

}  // namespace fabricost::io
