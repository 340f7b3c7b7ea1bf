#pragma once
/// Texts as written by every YAML writer of this library.

#include "text/plain_text.hpp"

#include <fabricost/namespaces.hpp>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

namespace fabricost::core {

/// A text in double quotes, valid in YAML and JSON, that is read back equal: characters that a terminal acts on, and line ends, are
/// escaped. Control characters that the reader of specs refuses become blanks, bytes that are no UTF-8 are replaced.
[[nodiscard]] inline std::string in_quotes(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_at(text, i);
    const std::string_view one = text.substr(i, length);
    i += length > 0 ? length : 1;
    const bool control = length == 1 && static_cast<unsigned char>(one.front()) < 0x20;
    if (length == 0) {
      out += replacement;
    } else if (control && one != "\n" && one != "\t" && one != "\r") {
      out += ' ';
    } else if (acts_on_terminal(one) || one == "\n" || one == "\t" || one == "\xC2\x85" || one == "\xEF\xBB\xBF") {
      const auto byte = [&](std::size_t k) { return static_cast<unsigned>(static_cast<unsigned char>(one[k])); };
      const unsigned code = length == 1   ? byte(0)
                            : length == 2 ? (byte(0) & 0x1FU) << 6U | (byte(1) & 0x3FU)
                                          : (byte(0) & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU);
      out += "\\u";
      for (unsigned shift = 16; shift > 0;) out += digits[code >> (shift -= 4U) & 0xFU];
    } else {
      if (one == "\"" || one == "\\") out += '\\';
      out += one;
    }
  }
  return out + '"';
}

/// A text as a value of YAML, also inside [] and {}: as it stands where it is a plain word, else in quotes. "null", "yes" and what
/// begins like a number are quoted, for readers that take them for something else.
[[nodiscard]] inline std::string yaml_word(std::string_view text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", more = "0123456789-._+/";
  const auto is_one_of = [](std::string_view word, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view one) {
      return word.size() == one.size() && std::equal(word.begin(), word.end(), one.begin(), [](char a, char b) { return (a | 0x20) == b; });
    });
  };
  const bool word = !text.empty() && letters.find(text.front()) != std::string_view::npos &&
                    text.find_first_not_of(std::string{letters} + std::string{more}) == std::string_view::npos &&
                    !is_one_of(text, {"null", "true", "false", "yes", "no", "on", "off", "y", "n"});
  return word ? std::string{text} : in_quotes(text);
}

}  // namespace fabricost::core
