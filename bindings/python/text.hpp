#pragma once
/// Conversion of C++ texts to Python: invalid UTF-8 (a log may be in Latin-1) becomes U+FFFD. Without it,
/// pybind11 raises UnicodeDecodeError on access. Every file of the module includes it before it casts a text.

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

namespace fabricost::python {

/// A new reference. \throws error_already_set without memory
[[nodiscard]] inline pybind11::str text_object(std::string_view text) {
  PyObject* const out = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (out == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::str>(out);
}

}  // namespace fabricost::python

namespace pybind11::detail {
template <>
struct type_caster<std::string> : string_caster<std::string> {
  static handle cast(const std::string& text, return_value_policy, handle) { return fabricost::python::text_object(text).release(); }
};
template <>
struct type_caster<std::string_view> : string_caster<std::string_view, true> {
  static handle cast(std::string_view text, return_value_policy, handle) { return fabricost::python::text_object(text).release(); }
};
}  // namespace pybind11::detail
