#pragma once
/// ASCII letters and digits in any locale, unlike <cctype> (in a Turkish locale the capital of i is not I).

#include "text/plain_text.hpp"

#include <fabricost/namespaces.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace fabricost::core {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
[[nodiscard]] constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
[[nodiscard]] constexpr bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

[[nodiscard]] inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
/// A text without blanks at its ends.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " \t") {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}
/// Text for quotation: at most `max` bytes, control characters as question marks, otherwise as plain_text.
[[nodiscard]] inline std::string printable(std::string_view text, std::size_t max = 40) {
  std::string out{text.substr(0, max)};
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7F) c = '?';
  return plain_text(std::move(out));
}
[[nodiscard]] inline std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return lower(c); });
  return text;
}

}  // namespace fabricost::core
