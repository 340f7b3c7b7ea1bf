#pragma once
/// Lists in sentences. (fmt::join would compile fmt's parser of formats again in every file.)

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace fabricost::core {

/// "a, b, c"
[[nodiscard]] std::string joined(std::span<const std::string> words, std::string_view between = ", ");
[[nodiscard]] std::string joined(std::span<const std::string_view> words, std::string_view between = ", ");
[[nodiscard]] std::string joined(std::span<const int> numbers, std::string_view between = ", ");
[[nodiscard]] std::string joined(std::span<const std::size_t> numbers, std::string_view between = ", ");
[[nodiscard]] std::string joined(std::span<const double> numbers, std::string_view between = ", ");
/// "a, b and c"
[[nodiscard]] std::string joined_with_and(std::span<const std::string> words);

}  // namespace fabricost::core
