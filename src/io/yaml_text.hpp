#pragma once
/// \file yaml_text.hpp
/// Texts as every YAML writer of this library puts them down. Private to the sources.

#include <string>
#include <string_view>

namespace fabricost::io {

/// A text in double quotes, as YAML and JSON have it. Characters that are no text become blanks.
[[nodiscard]] inline std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7F ? ' ' : c;
  }
  return out + '"';
}

}  // namespace fabricost::io
