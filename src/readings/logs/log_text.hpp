#pragma once
/// \file log_text.hpp
/// Lines of logs as they survive: what terminals and launchers put in is taken out, the rest cut at blanks, without allocating per line.
/// Private to the sources.

#include "text/ascii.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::io {

using Tokens = std::vector<std::string_view>;

/// Takes out escape sequences and `[1,0]<stdout>:`, also in the middle of a line; a blank stays in their place.
void undecorate(std::string& line);

/// Leaves one blank where there are several or tabs, so that what is looked for can be written down.
void squeeze(std::string& line);

/// The words of a line. Views into it.
void split(std::string_view line, Tokens& tokens);

/// The same, made anew.
[[nodiscard]] Tokens words(std::string_view line);

/// ASCII letters in lower case, all else as it is.
[[nodiscard]] std::string lower(std::string_view text);

[[nodiscard]] constexpr bool all_digits(std::string_view text) {
  for (const char c : text)
    if (!is_digit(c)) return false;
  return !text.empty();
}
/// The number a word of at most `digits` digits is, and nothing else.
[[nodiscard]] std::optional<int> whole_number(std::string_view text, std::size_t digits = 6);
/// True for a word or number that stands for "no value": N/A, nan, a dash of any length.
[[nodiscard]] bool is_absent(std::string_view cell);

}  // namespace fabricost::io
