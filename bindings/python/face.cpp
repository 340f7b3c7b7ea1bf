/// \file face.cpp
/// Signatures and messages of functions made from fields.

#include "face.hpp"

#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

namespace py = pybind11;

namespace fabricost::python {

std::string as_argument(std::string_view name, std::string_view value) {
  return std::string{name} + (value.empty() ? "" : "=") + std::string{value};
}

std::string detail::wrapped(const std::string& head, const std::vector<std::string>& words) {
  constexpr std::size_t most = 130;
  std::string out, line = head;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? "," : "");
    if (line.size() + word.size() + 1 > most) {
      out += line + "\n";
      line = "   ";
    }
    line += (i == 0 ? "" : " ") + word;
  }
  return out + line;
}

void detail::throw_no_such(std::string_view function, std::string_view given, const std::vector<std::string>& names) {
  const std::vector<std::string> near = near_names(given, names);
  throw py::type_error(near.empty() ? fmt::format("{}() has no {}; it takes {}", function, given, fmt::join(names, ", "))
                                    : fmt::format("{}() has no {}; did you mean {}?", function, given, fmt::join(near, " or ")));
}

}  // namespace fabricost::python
