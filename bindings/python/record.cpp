/// \file record.cpp
/// Records field by field, and as a pandas table.

#include "record.hpp"

#include "arguments.hpp"

#include <algorithm>

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

[[nodiscard]] const char* place_of(const void* record, const Member& member) { return static_cast<const char*>(record) + member.offset; }

}  // namespace

bool same_members(const void* a, const void* b, const Members& members) {
  return std::all_of(members.begin(), members.end(), [&](const Member& m) { return m.type->same(place_of(a, m), place_of(b, m)); });
}

py::tuple values_of(const void* record, const Members& members, std::size_t more) {
  py::tuple out(members.size() + more);
  for (std::size_t i = 0; i < members.size(); ++i) out[i] = members[i].type->object(place_of(record, members[i]));
  return out;
}

py::dict dict_of_members(const void* record, const Members& members) {
  py::dict out;
  for (const Member& m : members)
    if (*m.name != '\0') out[m.name] = m.type->object(place_of(record, m));
  return out;
}

void restore_members(void* record, const py::tuple& state, const Members& members, std::size_t more) {
  if (state.size() != members.size() + more) throw py::value_error("a pickle of another version of this class");
  for (std::size_t i = 0; i < members.size(); ++i)
    members[i].type->set(static_cast<char*>(record) + members[i].offset, py::object(state[i]));
}

py::object to_pandas(const py::list& records) {
  py::list rows;
  for (const py::handle record : records) {
    py::dict row;
    const py::dict fields = record.attr("to_dict")();
    for (const auto& [name, value] : fields) add_cell(row, name.cast<std::string>(), py::reinterpret_borrow<py::object>(value));
    rows.append(row);
  }
  return frame_of(rows);
}

}  // namespace fabricost::python
