#pragma once
/// \file names.hpp
/// Names that do not exist, with what was probably meant.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::cli {

/// "a, b, c"
[[nodiscard]] std::string joined(std::span<const std::string> names, std::string_view between = ", ");

/// `"allreduc" is not an operation; did you mean all_reduce?`, or with all names when none is near. `what`: with its article.
[[nodiscard]] std::string unknown_text(std::string_view given, std::string_view what, std::span<const std::string> names);

/// \param option that it was given for; empty: an argument that stands by itself \throws RequestError with unknown_text
[[noreturn]] void throw_unknown(std::string_view given, std::string_view what, std::span<const std::string> names,
                                std::string_view option = {});

/// A fixed table of names as strings.
template <class Names>
[[nodiscard]] std::vector<std::string> listed(const Names& names) {
  return {names.begin(), names.end()};
}

}  // namespace fabricost::cli
