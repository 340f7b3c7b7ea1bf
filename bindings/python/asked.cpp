/// \file asked.cpp
/// Optional arguments, and things by name.

#include "asked.hpp"

#include <fabricost/specs/load.hpp>
#include <fabricost/specs/load_model.hpp>
#include <fabricost/specs/stacks.hpp>

#include <cctype>
#include <chrono>
#include <cmath>

namespace py = pybind11;

namespace fabricost::python {
namespace {

/// A str, or what os.fspath makes of a path.
[[nodiscard]] std::optional<std::string> path_text(py::handle value) {
  if (PyUnicode_Check(value.ptr()) != 0) return text(value, "path");
  if (!py::hasattr(value, "__fspath__")) return std::nullopt;
  const py::object path = value.attr("__fspath__")();
  if (PyUnicode_Check(path.ptr()) == 0) return std::nullopt;
  return text(path, "path");
}

template <class Thing, class Load>
[[nodiscard]] Thing named_or_read(py::handle value, std::string_view name, const char* kind, Load&& load) {
  if (py::isinstance<Thing>(value)) return value.cast<const Thing&>();
  const std::optional<std::string> path = path_text(value);
  if (!path) throw_type(name, fmt::format("a {}, or its name or path,", kind), value);
  return load(*path);
}

}  // namespace

int whole(py::handle value, std::string_view name, double least, double most) {
  const int out = count_of(value, name, static_cast<int>(least));
  if (out > most) throw RequestError(fmt::format("{}: {} is too many; at most {:.0f}", name, out, most));
  return out;
}

double real(py::handle value, std::string_view name, double least, double most) {
  const double number = number_of(value, name);
  if (number >= least && number <= most) return number;
  throw RequestError(std::isinf(most) || most >= 1e15 ? fmt::format("{}: {} is not a number of {} or more", name, number, least)
                                                      : fmt::format("{}: {} is not from {} to {}", name, number, least, most));
}

std::vector<double> reals(py::handle values, std::string_view name, double least, double most) {
  const bool one = PyUnicode_Check(values.ptr()) != 0 || PyBytes_Check(values.ptr()) != 0 || PyDict_Check(values.ptr()) != 0;
  const py::object iterator = one ? py::object{} : py::reinterpret_steal<py::object>(PyObject_GetIter(values.ptr()));
  if (!iterator) {
    PyErr_Clear();
    throw_type(name, "a list of numbers", values);
  }
  std::vector<double> out;
  for (const py::handle value : py::list(iterator)) out.push_back(real(value, name, least, most));
  if (out.empty()) throw RequestError(fmt::format("{}: an empty list; give a number or more", name));
  return out;
}

bool flag(py::handle value, std::string_view name) {
  if (PyBool_Check(value.ptr()) == 0) throw_type(name, "True or False", value);
  return value.ptr() == Py_True;
}

std::string text(py::handle value, std::string_view name) { return std::string{text_of(value, name)}; }

std::optional<int> whole_or_none(py::handle value, std::string_view name, double least, double most) {
  if (value.is_none()) return std::nullopt;
  return whole(value, name, least, most);
}
std::optional<double> real_or_none(py::handle value, std::string_view name, double least, double most) {
  if (value.is_none()) return std::nullopt;
  return real(value, name, least, most);
}
std::optional<bool> flag_or_none(py::handle value, std::string_view name) {
  if (value.is_none()) return std::nullopt;
  return flag(value, name);
}
std::optional<std::string> text_or_none(py::handle value, std::string_view name) {
  if (value.is_none()) return std::nullopt;
  return text(value, name);
}

void needed(py::handle value, std::string_view name, std::string_view how) {
  if (value.is_none()) throw py::type_error(fmt::format("{} is needed, as in {}", name, how));
}

System system_from(py::handle value, std::string_view name) {
  return named_or_read<System>(value, name, "System", [](const std::string& path) { return load_system(path); });
}
Model model_from(py::handle value, std::string_view name) {
  return named_or_read<Model>(value, name, "Model", [](const std::string& path) { return load_model(path); });
}
Stack stack_from(py::handle value, std::string_view name) {
  return named_or_read<Stack>(value, name, "Stack", [](const std::string& path) { return load_stack(path); });
}

void raise_signals() {
  using Clock = std::chrono::steady_clock;
  constexpr unsigned calls = 64;  // between two looks at the clock
  static thread_local unsigned count = 0;
  static thread_local Clock::time_point last{};
  if (++count % calls != 0) return;
  const auto now = Clock::now();
  if (now - last < std::chrono::milliseconds(50)) return;
  last = now;
  const py::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

std::string in_python(std::string text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool starts = i == 0 || text[i - 1] == ' ' || text[i - 1] == '(' || text[i - 1] == '"';
    if (starts && text.compare(i, 2, "--") == 0 && i + 2 < text.size() && std::islower(static_cast<unsigned char>(text[i + 2])) != 0) {
      for (i += 2; i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '-'); ++i)
        out += text[i] == '-' ? '_' : text[i];
    } else {
      out += text[i++];
    }
  }
  return out;
}

}  // namespace fabricost::python
