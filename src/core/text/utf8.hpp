#pragma once
/// \file utf8.hpp
/// The characters of UTF-8.

#include <fabricost/namespaces.hpp>

#include <cstddef>
#include <string_view>

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

}  // namespace fabricost::core
