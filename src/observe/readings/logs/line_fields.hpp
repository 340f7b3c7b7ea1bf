#pragma once
/// Values in lines of logs, behind the words that announce them.

#include "text/ascii.hpp"

#include <fabricost/namespaces.hpp>

#include <charconv>
#include <string_view>
#include <system_error>

namespace fabricost::observe {

/// The number at the start of a text; `none` if there is none.
template <class Number>
[[nodiscard]] Number number_at(std::string_view text, Number none) {
  Number value = none;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{} ? value : none;
}
[[nodiscard]] inline int number_at(std::string_view text) { return number_at(text, -1); }
[[nodiscard]] inline double real_at(std::string_view text) { return number_at(text, 0.0); }

/// The text after a mark, without blanks before it; empty if the mark is missing.
[[nodiscard]] inline std::string_view after(std::string_view line, std::string_view mark) {
  const auto at = line.find(mark);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + mark.size());
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}
[[nodiscard]] inline std::string_view word(std::string_view text) { return text.substr(0, text.find_first_of(" \t,;")); }
/// Whether a list of words, a blank between them, has this one.
[[nodiscard]] constexpr bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t at = list.find(word); !word.empty() && at != std::string_view::npos; at = list.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}
/// The line from the number that precedes `end` on; empty if `end` is missing.
[[nodiscard]] inline std::string_view number_before(std::string_view line, std::string_view end) {
  std::size_t first = line.find(end);
  if (first == std::string_view::npos) return {};
  while (first > 0 && is_digit(line[first - 1])) --first;
  return line.substr(first);
}

}  // namespace fabricost::observe
