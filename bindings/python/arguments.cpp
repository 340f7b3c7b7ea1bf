/// \file arguments.cpp
/// Arguments as numbers, counts and texts; what else they are, in one sentence.

#include "arguments.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace py = pybind11;

namespace fabricost::python {
namespace {

/// What carries units, a mask or names of axes, as a plain number (fabricost/_given.py); anything else as it is.
/// \throws RequestError
[[nodiscard]] py::object plain_number(py::handle given, std::string_view argument) {
  const std::string_view type = Py_TYPE(given.ptr())->tp_name;
  const bool numpys_own = type.starts_with("numpy.") && type != "numpy.timedelta64" && type != "numpy.ndarray";
  if (PyLong_CheckExact(given.ptr()) || numpys_own) return py::reinterpret_borrow<py::object>(given);
  return py::module_::import("fabricost._given").attr("number")(given, argument);
}

}  // namespace

void throw_type(std::string_view argument, std::string_view wanted, py::handle given) {
  throw py::type_error(fmt::format("{}: {} is wanted, not {}", argument, wanted, Py_TYPE(given.ptr())->tp_name));
}

std::string_view text_of(py::handle given, std::string_view argument) {
  if (!PyUnicode_Check(given.ptr())) throw_type(argument, "a text", given);
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(given.ptr(), &size);
  if (text == nullptr) {
    PyErr_Clear();
    throw RequestError(fmt::format("{}: is not valid Unicode text", argument));
  }
  return {text, static_cast<std::size_t>(size)};
}

double number_of(py::handle given, std::string_view argument) {
  PyObject* const object = given.ptr();
  double value = 0;
  if (PyFloat_CheckExact(object)) {
    value = PyFloat_AS_DOUBLE(object);
  } else {
    const bool text_or_flag = PyBool_Check(object) || PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object) ||
                              PyComplex_Check(object) || object == Py_None;
    const auto* const slots = Py_TYPE(object)->tp_as_number;
    if (text_or_flag || slots == nullptr || (slots->nb_float == nullptr && slots->nb_index == nullptr))
      throw_type(argument, "a number", given);
    const py::object plain = plain_number(given, argument);
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

double number_of(py::handle given, std::string_view argument, double least, double most) {
  const double value = number_of(given, argument);
  if (value < least || value > most) throw RequestError(fmt::format("{}: {} is not between {} and {}", argument, value, least, most));
  return value;
}

int count_of(py::handle given, std::string_view argument, int least) {
  const double value = PyLong_CheckExact(given.ptr()) ? [&] {
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(given.ptr(), &overflow);
    return overflow != 0 ? overflow * std::numeric_limits<double>::infinity() : static_cast<double>(whole);
  }() : number_of(given, argument);
  if (value > std::numeric_limits<int>::max())
    throw RequestError(fmt::format("{}: {} is too many; at most {}", argument, value, std::numeric_limits<int>::max()));
  if (value < 0 && least == 0) throw RequestError(fmt::format("{}: {} is negative; 0 leaves it to the machine", argument, value));
  if (value < least) throw RequestError(fmt::format("{}: {} is too few; at least {}", argument, value, least));
  if (value != std::floor(value)) throw RequestError(fmt::format("{}: {} is not a whole number", argument, value));
  return static_cast<int>(value);
}

}  // namespace fabricost::python
