#pragma once
/// Cleaning of text to be shown: file names, log lines and words of a command line hold any bytes, and
/// terminals act on some of them. Every text written to a terminal, and every message, passes through here.

#include <fabricost/namespaces.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace fabricost::core {

/// Bytes of the UTF-8 character that starts at `i`; 0 if there is none.
[[nodiscard]] inline std::size_t character_at(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U; };
  const auto follows = [&](std::size_t k) { return (byte(k) & 0xC0U) == 0x80U; };
  const unsigned first = byte(i);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return follows(i + 1) ? 2 : 0;
  if (first >= 0xE0 && first < 0xF0) {
    const bool fine = (first != 0xE0 || byte(i + 1) >= 0xA0) && (first != 0xED || byte(i + 1) < 0xA0);  // overlong forms, surrogates
    return fine && follows(i + 1) && follows(i + 2) ? 3 : 0;
  }
  if (first >= 0xF0 && first < 0xF5) {
    const bool fine = (first != 0xF0 || byte(i + 1) >= 0x90) && (first != 0xF4 || byte(i + 1) < 0x90);
    return fine && follows(i + 1) && follows(i + 2) && follows(i + 3) ? 4 : 0;
  }
  return 0;
}

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
[[nodiscard]] inline std::string plain_text(std::string text, bool bold = false) {
  if (is_plain_ascii(text)) return text;
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = std::string_view{text}.substr(i);
    if (bold && (rest.starts_with("\033[1m") || rest.starts_with("\033[0m"))) {
      out += rest.substr(0, 4);
      i += 4;
      continue;
    }
    const std::size_t length = character_at(text, i);
    if (length == 0 || acts_on_terminal(rest.substr(0, length)))
      out += length == 1 ? std::string_view{" "} : replacement;
    else
      out += rest.substr(0, length);
    i += length == 0 ? 1 : length;
  }
  return out;
}

/// The text with every word longer than a thousand bytes, and every line longer than four thousand, cut: messages quote what was typed
/// or read, which may be as long as a file.
[[nodiscard]] inline std::string brief_text(const std::string& text) {
  constexpr std::size_t longest_word = 1000, longest_line = 4000, kept = 200;
  if (text.size() <= longest_word) return text;
  std::string out;
  const auto cut = [](std::string_view from, std::size_t most) {
    while (most > 0 && (static_cast<unsigned char>(from[most]) & 0xC0U) == 0x80U) --most;  // not inside a character
    return std::string{from.substr(0, most)} + "...";
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view{text}.substr(at, end - at);
    std::string brief;
    for (std::size_t i = 0; i < line.size() && brief.size() <= longest_line;) {
      const std::size_t blank = std::min(line.find(' ', i), line.size());
      const std::string_view word = line.substr(i, blank - i);
      brief += word.size() > longest_word ? cut(word, kept) : std::string{word};
      if (blank < line.size()) brief += ' ';
      i = blank + 1;
    }
    out += brief.size() > longest_line ? cut(brief, longest_line) : brief;
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

/// For a shell, in single quotes.
[[nodiscard]] inline std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string_view{"'\\''"} : std::string_view{&c, 1};
  return out + "'";
}
/// As a word of a shell's command line: in quotes where it needs them.
[[nodiscard]] inline std::string shell_word(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=,+%@";
  return text.empty() || text.find_first_not_of(plain) != std::string_view::npos ? single_quoted(text) : std::string{text};
}

/// The text with U+FFFD for every byte that is not part of a UTF-8 character.
inline void make_utf8(std::string& text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t length = character_at(text, i);
    if (length == 0) break;
    i += length;
  }
  if (i == text.size()) return;
  std::string out = text.substr(0, i);
  while (i < text.size()) {
    const std::size_t length = character_at(text, i);
    if (length == 0)
      out += replacement;
    else
      out.append(text, i, length);
    i += length == 0 ? 1 : length;
  }
  text = std::move(out);
}

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
