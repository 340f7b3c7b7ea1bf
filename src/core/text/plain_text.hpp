#pragma once
/// Cleaning of text to be shown: file names, log lines and words of a command line hold any bytes, and
/// terminals act on some of them. Every text written to a terminal, and every message, passes through here.

#include <fabricost/namespaces.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace fabricost::core {

/// Bytes of the UTF-8 character that starts at `i`; 0 if there is none.
[[nodiscard]] std::size_t character_at(std::string_view text, std::size_t i);

inline constexpr std::string_view replacement = "\xEF\xBF\xBD";  ///< U+FFFD, in place of bytes that are not a character

/// True for characters that a terminal acts on instead of showing them: C0 except newline and tab, DEL, C1
/// (U+0080 to U+009F), line and paragraph separators, and the marks, embeddings, overrides and isolates that
/// change the direction of text (Unicode UAX 9).
[[nodiscard]] inline bool acts_on_terminal(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return (byte(0) < 0x20 && byte(0) != '\n' && byte(0) != '\t') || byte(0) == 0x7F;
  if (character.size() == 2) return (byte(0) == 0xC2 && byte(1) < 0xA0) || (byte(0) == 0xD8 && byte(1) == 0x9C);  // C1; U+061C
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  if (byte(1) == 0x80) return byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE);  // U+200E, F; U+2028 to 202E
  return byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;                                          // U+2066 to 2069
}

[[nodiscard]] inline bool is_plain_ascii(std::string_view text) {
  for (const char c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || static_cast<unsigned char>(c) >= 0x7F) return false;
  return true;
}

/// The text with a blank for each control character of ASCII, U+FFFD for every other character that acts_on_terminal and for bytes that are
/// not UTF-8. \param bold keeps the two sequences of Terminal::strong
[[nodiscard]] std::string plain_text(std::string text, bool bold = false);

/// The text with every word longer than a thousand bytes, and every line longer than four thousand, cut: messages quote what was typed
/// or read, which may be as long as a file.
[[nodiscard]] std::string brief_text(const std::string& text);

/// For a shell, in single quotes.
[[nodiscard]] std::string single_quoted(std::string_view text);
/// As a word of a shell's command line: in quotes where it needs them.
[[nodiscard]] std::string shell_word(std::string_view text);

/// The text with U+FFFD for every byte that is not part of a UTF-8 character.
void make_utf8(std::string& text);

/// The fault of a quoted text of JSON: none; the quote is not closed; \u without four digits.
enum class QuoteFault : unsigned char { none, open, digits };

/// The character shown for a letter after a backslash of JSON: a blank for a control character, a question mark for \u (names and
/// numbers here are ASCII), else itself.
[[nodiscard]] constexpr char shown_escape(char c) {
  return c == 'n' || c == 't' || c == 'r' || c == 'b' || c == 'f' ? ' ' : c == 'u' ? '?' : c;
}

/// The character that a letter after a backslash of JSON stands for; a question mark for \u.
[[nodiscard]] constexpr char meant_escape(char c) {
  return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c == 'u' ? '?' : c;
}

/// Reads from the opening quote at `at`, which then stands behind the closing one, or where the fault is. Control characters become blanks
/// unless they are kept, \u a question mark: names and numbers here are ASCII.
[[nodiscard]] inline QuoteFault read_quoted(std::string_view text, std::size_t& at, std::string& out, bool keeps_control = false) {
  out.clear();
  for (++at;; ++at) {
    if (at >= text.size()) return QuoteFault::open;
    char c = text[at];
    if (c == '"') break;
    if (c == '\\') {
      if (++at >= text.size()) return QuoteFault::open;
      c = keeps_control ? meant_escape(text[at]) : shown_escape(text[at]);
      if (text[at] == 'u') {
        if (text.size() - at < 5) return QuoteFault::digits;
        at += 4;
      }
    }
    out += c;
  }
  ++at;
  return QuoteFault::none;
}

}  // namespace fabricost::core
