#pragma once
/// Whether a line can hold one of several texts, in one pass: of each text four letters are asked for.

#include <fabricost/namespaces.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

namespace fabricost::core {

/// A set of texts of four letters, small enough for a processor's first cache; it may hold more than was added, and never less.
class Grams {
 public:
  static constexpr std::size_t letters = 4;
  void add(std::uint32_t gram) { bits_[place(gram) / 64] |= std::uint64_t{1} << place(gram) % 64; }
  [[nodiscard]] bool may_hold(std::uint32_t gram) const { return (bits_[place(gram) / 64] >> place(gram) % 64 & 1U) != 0; }

 private:
  static constexpr std::uint32_t place(std::uint32_t gram) { return gram * 0x9E3779B1U >> 16U; }
  std::array<std::uint64_t, 65536 / 64> bits_{};
};

/// Texts of at least four letters.
class LiteralFilter {
 public:
  LiteralFilter() = default;
  LiteralFilter(std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) add(text);
  }
  void add(std::string_view text) {
    if (text.size() < Grams::letters) throw std::logic_error("a text to look for has less than four letters");
    grams_.add(gram_at(text.data()));
  }
  [[nodiscard]] bool may_hold(std::string_view line) const {
    for (std::size_t i = 0; i + Grams::letters <= line.size(); ++i)
      if (grams_.may_hold(gram_at(line.data() + i))) return true;
    return false;
  }

 private:
  static std::uint32_t gram_at(const char* text) {
    std::uint32_t out = 0;
    std::memcpy(&out, text, sizeof out);
    return out;
  }
  Grams grams_;
};

}  // namespace fabricost::core
