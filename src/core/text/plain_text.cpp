#include "text/plain_text.hpp"

#include <algorithm>
#include <utility>

namespace fabricost::core {

std::size_t character_at(std::string_view text, std::size_t i) {
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

std::string plain_text(std::string text, bool bold) {
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

std::string brief_text(const std::string& text) {
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

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string_view{"'\\''"} : std::string_view{&c, 1};
  return out + "'";
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=,+%@";
  return text.empty() || text.find_first_not_of(plain) != std::string_view::npos ? single_quoted(text) : std::string{text};
}

void make_utf8(std::string& text) {
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

}  // namespace fabricost::core
