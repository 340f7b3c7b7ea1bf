#pragma once
/// Python support for classes of plain values: == by value, hash(), pickling, copy and deepcopy. Values are
/// immutable in Python, so a copy is the value itself.

#include "fields.hpp"

#include <fabricost/version.hpp>

#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <typeinfo>

namespace fabricost::python {

namespace detail {
/// The first bytes of a pickle: the version of the library and the layout of the type, which must match.
template <class T>
[[nodiscard]] std::string stamp_of() {
  return "fabricost " FABRICOST_VERSION " " + std::string{typeid(T).name()} + " " + std::to_string(sizeof(T)) + "\n";
}
/// Checksum (64-bit FNV-1a) of a value's bytes, so that damaged pickles are refused.
[[nodiscard]] inline std::string checksum_of(std::string_view bytes) {
  std::uint64_t sum = 14695981039346656037U;
  for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return std::to_string(sum) + "\n";
}
template <class T>
[[nodiscard]] std::string stamped(const std::string& bytes) {
  return stamp_of<T>() + checksum_of(bytes) + bytes;
}
/// \throws RequestError
template <class T>
[[nodiscard]] std::string_view unstamped(std::string_view state) {
  const std::string stamp = stamp_of<T>();
  if (!state.starts_with(stamp))
    throw RequestError("pickled by another version of fabricost than " FABRICOST_VERSION "; make it anew");
  state.remove_prefix(stamp.size());
  const std::string_view bytes = state.substr(std::min(state.find('\n'), state.size() - 1) + 1);
  if (state.substr(0, state.size() - bytes.size()) != checksum_of(bytes)) throw RequestError("the pickled bytes are damaged");
  return bytes;
}

}  // namespace detail

/// Adds __eq__, __hash__, __copy__, __deepcopy__ and pickling to the class of a plain struct (default constructible; fields are numbers,
/// enums, texts, quantities, lists, optionals and structs of those).
template <class T, class... Options>
void add_value_semantics(pybind11::class_<T, Options...>& type) {
  namespace py = pybind11;
  type.def(
      "__eq__",
      [](const T& a, const py::object& b) -> py::object {
        if (!py::isinstance<T>(b)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
        return py::bool_(bytes_of(a) == bytes_of(b.cast<const T&>()));
      },
      py::arg("other"), "Equal in every field.");
  type.def(
      "__hash__", [](const T& a) { return static_cast<py::ssize_t>(std::hash<std::string>{}(bytes_of(a))); }, "Of every field.");
  type.def(
      "__copy__", [](const py::object& self) { return self; }, "Itself: it cannot be changed.");
  type.def(
      "__deepcopy__", [](const py::object& self, const py::dict&) { return self; }, py::arg("memo"), "Itself: it cannot be changed.");
  type.def(py::pickle([](const T& a) { return py::bytes(detail::stamped<T>(bytes_of(a))); },
                      [](const py::bytes& state) { return value_of<T>(detail::unstamped<T>(static_cast<std::string_view>(state))); }));
}

}  // namespace fabricost::python
