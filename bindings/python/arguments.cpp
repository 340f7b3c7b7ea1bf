/// Parses arguments as numbers, counts and texts, with a message for anything else.

#include "arguments.hpp"

#include "progress.hpp"
#include "text/amounts.hpp"

#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>

#include <chrono>
#include <cmath>
#include <limits>

namespace py = pybind11;

namespace fabricost::python {
namespace {

/// Converts an object with units, a mask or named axes to a plain number (fabricost/_given.py); returns other
/// objects unchanged.
/// \throws RequestError
[[nodiscard]] py::object plain_number(py::handle given, std::string_view argument) {
  const std::string_view type = Py_TYPE(given.ptr())->tp_name;
  const bool numpys_own = type.starts_with("numpy.") && type != "numpy.timedelta64" && type != "numpy.ndarray";
  if (PyLong_CheckExact(given.ptr()) || numpys_own) return py::reinterpret_borrow<py::object>(given);
  return by_python("_given", "number", given, argument);
}

template <class Thing, class Load>
[[nodiscard]] Thing named_or_read(py::handle value, std::string_view name, const char* kind, Load&& load) {
  if (const Thing* const thing = held<Thing>(value)) return *thing;
  if (!is_path(value)) throw_type(name, fmt::format("a {}, or its name or path,", kind), value);
  return load(path_of(value, name));
}

}  // namespace

void throw_type(std::string_view argument, std::string_view wanted, py::handle given) {
  const bool is_class = PyType_Check(given.ptr()) != 0;
  std::string_view type = (is_class ? reinterpret_cast<PyTypeObject*>(given.ptr()) : Py_TYPE(given.ptr()))->tp_name;
  if (is_class) type.remove_prefix(type.rfind('.') + 1);
  const bool several = wanted == "a number" && PySequence_Check(given.ptr()) != 0 && PyUnicode_Check(given.ptr()) == 0;
  throw py::type_error(fmt::format("{}: {} is wanted, not {}{}{}", argument, wanted, is_class ? "the class " : "", type,
                                   several ? "; ask once for each, or see explore" : ""));
}

std::string_view text_of(py::handle given, std::string_view argument) {
  if (!PyUnicode_Check(given.ptr()))
    throw_type(argument, argument == "prices" && PyDict_Check(given.ptr()) ? "a name or a file (a dict by machine is own_prices)" : "a text", given);
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(given.ptr(), &size);
  if (text == nullptr) {
    PyErr_Clear();
    throw RequestError(fmt::format("{}: is not valid Unicode text", argument));
  }
  return {text, static_cast<std::size_t>(size)};
}

std::string path_of(py::handle path, std::string_view argument) {
  if (!is_path(path)) throw_type(argument, "a text or a path", path);
  if (PyUnicode_Check(path.ptr())) return std::string{text_of(path, argument)};
  return path_of(path.attr("__fspath__")(), argument);
}

std::string file_of(py::handle path, std::string_view argument) {
  std::string out = path_of(path, argument);
  if (out.empty()) throw RequestError(fmt::format("{}: an empty path", argument));
  return out;
}

double number_of(py::handle given, std::string_view argument) {
  PyObject* const object = given.ptr();
  double value = 0;
  if (PyFloat_CheckExact(object)) {
    value = PyFloat_AS_DOUBLE(object);
  } else {
    const bool bytes_or_flag =
        PyBool_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object) || PyComplex_Check(object) || object == Py_None;
    const auto* const slots = Py_TYPE(object)->tp_as_number;
    const bool numeric = slots != nullptr && (slots->nb_float != nullptr || slots->nb_index != nullptr);
    if (bytes_or_flag || (!numeric && PyUnicode_Check(object) == 0)) throw_type(argument, "a number", given);
    const py::object plain = plain_number(given, argument);
    if (PyUnicode_Check(plain.ptr())) throw_type(argument, "a number", given);  // of what has no unit
    value = PyFloat_AsDouble(plain.ptr());
    if (value == -1 && PyErr_Occurred() != nullptr) {
      const bool huge = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
      PyErr_Clear();
      if (huge) throw RequestError(fmt::format("{}: too large a number", argument));
      throw_type(argument, "a number", given);
    }
  }
  if (std::isnan(value)) throw RequestError(fmt::format("{}: nan is not a number", argument));
  return value;
}

int count_of(py::handle given, std::string_view argument, int min) {
  const double value = PyLong_CheckExact(given.ptr()) ? [&] {
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(given.ptr(), &overflow);
    return overflow != 0 ? overflow * std::numeric_limits<double>::infinity() : static_cast<double>(whole);
  }() : number_of(given, argument);
  if (value > std::numeric_limits<int>::max())
    throw RequestError(fmt::format("{}: {} is too many; at most {}", argument, value, std::numeric_limits<int>::max()));
  if (value < 0 && min == 0) throw RequestError(fmt::format("{}: {} is negative; 0 leaves it to the machine", argument, value));
  if (value < min) throw RequestError(fmt::format("{}: {} is too few; at least {}", argument, value, min));
  if (value != std::floor(value)) throw RequestError(fmt::format("{}: {} is not a whole number", argument, value));
  return static_cast<int>(value);
}

int whole(py::handle value, std::string_view name, double min, double max) {
  const int out = count_of(value, name, static_cast<int>(min));
  if (out > max) throw RequestError(fmt::format("{}: {} is too many; at most {:.0f}", name, out, max));
  return out;
}

int length(py::handle value, std::string_view name, double min, double max) {
  if (PyUnicode_Check(value.ptr()) == 0) return whole(value, name, min, max);
  const std::string written = text(value, name);
  if (written.empty()) throw RequestError(fmt::format("{}: an empty text; write a number of tokens, as in 128k", name));
  return length_of(written, name, static_cast<int>(min), static_cast<int>(max));
}

double real(py::handle value, std::string_view name, double min, double max) {
  const double number = number_of(value, name);
  if (number >= min && number <= max) return number;
  throw RequestError(std::isinf(max) || max >= 1e15 ? fmt::format("{}: {} is not a number of {} or more", name, number, min)
                                                    : fmt::format("{}: {} is not from {} to {}", name, number, min, max));
}

std::vector<double> reals(py::handle values, std::string_view name, double min, double max) {
  const bool one = PyUnicode_Check(values.ptr()) != 0 || PyBytes_Check(values.ptr()) != 0 || PyDict_Check(values.ptr()) != 0;
  const py::object iterator = one ? py::object{} : py::reinterpret_steal<py::object>(PyObject_GetIter(values.ptr()));
  if (!iterator) {
    PyErr_Clear();
    throw_type(name, "a list of numbers", values);
  }
  std::vector<double> out;
  for (const py::handle value : py::list(iterator)) out.push_back(real(value, name, min, max));
  if (out.empty()) throw RequestError(fmt::format("{}: an empty list; give a number or more", name));
  return out;
}

bool flag(py::handle value, std::string_view name) {
  if (PyBool_Check(value.ptr()) == 0) throw_type(name, "True or False", value);
  return value.ptr() == Py_True;
}

std::string text(py::handle value, std::string_view name) { return std::string{text_of(value, name)}; }

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
  constexpr unsigned calls = 64;  // between two checks of the clock
  static thread_local unsigned count = 0;
  static thread_local Clock::time_point last{};
  if (++count % calls != 0) return;
  const auto now = Clock::now();
  if (now - last < std::chrono::milliseconds(50)) return;
  last = now;
  const py::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  static thread_local unsigned told = 0;
  if (ProgressBar* const bar = shown_bar()) bar->advance(count - told);
  told = count;
}

}  // namespace fabricost::python
