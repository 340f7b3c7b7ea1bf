/// \file record.cpp
/// Records as a pandas table.

#include "record.hpp"

#include "arguments.hpp"

namespace py = pybind11;

namespace fabricost::python {
namespace {

/// interval_seconds becomes low_seconds and high_seconds.
[[nodiscard]] std::string end_of(std::string name, const char* end) {
  const std::string word = "interval";
  const auto at = name.find(word);
  return at == std::string::npos ? end + ("_" + name) : name.replace(at, word.size(), end);
}

void add_cell(py::dict& row, const std::string& name, const py::object& value) {
  if (py::isinstance<py::tuple>(value) && py::len(value) == 2) {
    const auto ends = value.cast<py::tuple>();
    row[end_of(name, "low").c_str()] = ends[0];
    row[end_of(name, "high").c_str()] = ends[1];
  } else if (py::isinstance<py::list>(value)) {
    for (const py::handle one : value)
      if (py::isinstance<StepTerm>(one)) {
        const auto& term = one.cast<const StepTerm&>();
        const std::string prefix = name == "terms" ? "" : name.substr(0, name.find("terms"));
        row[(prefix + term.name + "_seconds").c_str()] = term.seconds;
      }
  } else {
    row[name.c_str()] = value;
  }
}

}  // namespace

py::object to_pandas(const py::list& records) {
  const py::object frame = pandas().attr("DataFrame");
  py::list rows;
  for (const py::handle record : records) {
    py::dict row;
    const py::dict fields = record.attr("to_dict")();
    for (const auto& [name, value] : fields) add_cell(row, name.cast<std::string>(), py::reinterpret_borrow<py::object>(value));
    rows.append(row);
  }
  return frame(rows);
}

}  // namespace fabricost::python
