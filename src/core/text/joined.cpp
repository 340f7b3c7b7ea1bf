#include "text/joined.hpp"

#include <fmt/format.h>

namespace fabricost::core {

namespace {
template <class Item>
[[nodiscard]] std::string list_of(std::span<const Item> items, std::string_view between) {
  return fmt::format("{}", fmt::join(items, between));
}
}  // namespace

std::string joined(std::span<const std::string> words, std::string_view between) { return list_of(words, between); }
std::string joined(std::span<const std::string_view> words, std::string_view between) { return list_of(words, between); }
std::string joined(std::span<const int> numbers, std::string_view between) { return list_of(numbers, between); }
std::string joined(std::span<const std::size_t> numbers, std::string_view between) { return list_of(numbers, between); }
std::string joined(std::span<const double> numbers, std::string_view between) { return list_of(numbers, between); }
std::string joined_with_and(std::span<const std::string> words) {
  if (words.size() < 2) return joined(words);
  return joined(words.first(words.size() - 1)) + " and " + words.back();
}

}  // namespace fabricost::core
