#pragma once
/// Values between C++ and Python by their ValueType: as objects, and as types in the stub.

#include <fabricost/fields/field.hpp>

#include <pybind11/pybind11.h>

#include <string>
#include <type_traits>

namespace fabricost::python {

/// A value as Python sees it: a quantity as a number, an enumeration as its name, a list as a list, a struct as a copy of the class that
/// was made for it.
[[nodiscard]] pybind11::object object_of(const ValueType& type, const void* value);
/// The other way round. \throws cast_error for an object that object_of does not give
void put_object(const ValueType& type, void* value, pybind11::handle given);

/// The type in the stub (stub.py): `float | None`, `list[Constant]`; `Any` for a class without a name so far.
[[nodiscard]] std::string type_text(const ValueType& type);
template <class T>
[[nodiscard]] std::string type_text() {
  if constexpr (std::is_base_of_v<pybind11::handle, std::remove_cvref_t<T>>)
    return "Any";
  else
    return type_text(value_type<std::remove_cvref_t<T>>);
}

/// Arrays of NumPy in the stub.
inline constexpr const char *numbers_array = "NDArray[np.float64]", *counts_array = "NDArray[np.int64]", *texts_array = "NDArray[np.str_]",
                            *records_array = "NDArray[np.void]";

/// Annotates a property of a class.
inline void annotate(pybind11::handle into, const char* name, const std::string& type) {
  if (!into.attr("__dict__").contains("__annotations__")) pybind11::setattr(into, "__annotations__", pybind11::dict());
  into.attr("__annotations__")[name] = type;
}

}  // namespace fabricost::python
