/// \file face.cpp
/// Signatures and messages of functions made from fields.

#include "face.hpp"

#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <cctype>

namespace py = pybind11;

namespace fabricost::python {

std::string as_argument(std::string_view name, std::string_view value) {
  const bool word = !value.empty() && std::islower(static_cast<unsigned char>(value.front())) != 0;
  return std::string{name} + (value.empty() ? "" : "=") + (word ? fmt::format("\"{}\"", value) : std::string{value});
}

void detail::from_object(py::handle given, std::string_view name, const Range& range, Counts& out) {
  if (PyLong_Check(given.ptr()) != 0) {
    if (const int one = whole(given, name, 0, range.most); one > 0) out.values.push_back(one);
  } else if (py::isinstance<py::iterable>(given) && PyUnicode_Check(given.ptr()) == 0 && PyBytes_Check(given.ptr()) == 0) {
    for (const py::handle one : given) out.values.push_back(whole(one, name, range.least, range.most));
  } else {
    throw_type(name, "a whole number or a list of them", given);
  }
}

void detail::from_object(py::handle given, std::string_view name, const Range&, fabricost::Machine& out) {
  const bool named = PyUnicode_Check(given.ptr()) != 0 || py::hasattr(given, "__fspath__");
  if (!named && !py::isinstance<Machine>(given)) throw_type(name, "a System, or its name or path,", given);
  const Machine machine = named ? loaded({.extends = path_of(given, name), .set = {}, .calibration = {}}) : given.cast<const Machine&>();
  out = {machine.origin.extends, std::make_shared<const System>(machine), machine.origin.set, machine.origin.calibration};
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
