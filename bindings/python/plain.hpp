#pragma once
/// \file plain.hpp
/// What every class of plain values has in Python: == by value, hash(), pickling, copy and deepcopy. Values cannot be changed from Python,
/// so a copy is the value itself.

#include "fields.hpp"

#include <pybind11/pybind11.h>

#include <functional>
#include <string>
#include <string_view>
#include <typeinfo>

namespace fabricost::python {

namespace detail {
/// What pickled bytes begin with: another version of the library, or of the type's layout, is not to be read.
template <class T>
[[nodiscard]] std::string stamp_of() {
  return "fabricost " FABRICOST_VERSION " " + std::string{typeid(T).name()} + " " + std::to_string(sizeof(T)) + "\n";
}
}  // namespace detail

/// Adds __eq__, __hash__, __copy__, __deepcopy__ and pickling to the class of a plain struct (default constructible; fields are numbers,
/// enums, texts, quantities, lists, optionals and structs of those).
template <class T, class... Options>
void add_value_semantics(pybind11::class_<T, Options...>& type) {
  namespace py = pybind11;
  type.def("__eq__", [](const T& a, const py::object& b) -> py::object {
    if (!py::isinstance<T>(b)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    return py::bool_(bytes_of(a) == bytes_of(b.cast<const T&>()));
  }, py::arg("other"), "Equal in every field.");
  type.def("__hash__", [](const T& a) { return static_cast<py::ssize_t>(std::hash<std::string>{}(bytes_of(a))); }, "Of every field.");
  type.def("__copy__", [](const py::object& self) { return self; }, "Itself: it cannot be changed.");
  type.def("__deepcopy__", [](const py::object& self, const py::dict&) { return self; }, py::arg("memo"), "Itself: it cannot be changed.");
  type.def(py::pickle([](const T& a) { return py::bytes(detail::stamp_of<T>() + bytes_of(a)); },
                      [](const py::bytes& state) {
                        const std::string stamp = detail::stamp_of<T>();
                        const auto bytes = static_cast<std::string_view>(state);
                        if (!bytes.starts_with(stamp))
                          throw py::value_error("pickled by another version of fabricost than " FABRICOST_VERSION "; make it anew");
                        return value_of<T>(bytes.substr(stamp.size()));
                      }));
}

}  // namespace fabricost::python
