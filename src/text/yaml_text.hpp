#pragma once
/// \file yaml_text.hpp
/// Texts as written by every YAML writer of this library. Private to the sources.

#include "text/utf8.hpp"

#include <string>
#include <string_view>

namespace fabricost::io {

/// A text in double quotes, valid in YAML and JSON, with blanks for control characters and ? for invalid
/// bytes.
[[nodiscard]] inline std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t length = character_at(text, i);
    if (c == '"' || c == '\\') out += '\\';
    if (length == 0)
      out += '?';
    else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7F)
      out += ' ';
    else
      out += text.substr(i, length);
    i += length > 0 ? length : 1;
  }
  return out + '"';
}

}  // namespace fabricost::io
