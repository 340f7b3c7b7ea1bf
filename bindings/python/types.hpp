#pragma once
/// \file types.hpp
/// The Python type for a C++ type in the stub (stub.py): `float | None`, `list[Constant]`.

#include <fabricost/answers/predict.hpp>
#include <fabricost/plan/fields/named_models.hpp>
#include <fabricost/fields/samples.hpp>

#include <fmt/format.h>
#include <pybind11/pybind11.h>

#include <concepts>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace fabricost::python {

template <class T>
[[nodiscard]] std::string type_text();

namespace detail {
template <class T>
inline constexpr bool is_by_name = false;
template <class T>
inline constexpr bool is_by_name<ByName<T>> = true;
template <class... T>
[[nodiscard]] std::string any_of(const std::variant<T...>*) {
  std::string out;
  ((out += (out.empty() ? "" : " | ") + type_text<T>()), ...);
  return out;
}
}  // namespace detail

/// The type of a value returned to Python. `Any` for a class without a name so far.
template <class T>
[[nodiscard]] std::string type_text() {
  if constexpr (!std::same_as<T, std::remove_cvref_t<T>>)
    return type_text<std::remove_cvref_t<T>>();
  else if constexpr (std::same_as<T, bool>)
    return "bool";
  else if constexpr (std::integral<T>)
    return "int";
  else if constexpr (std::floating_point<T>)
    return "float";
  else if constexpr (std::convertible_to<T, std::string_view> || std::is_enum_v<T>)
    return "str";
  else if constexpr (requires(const T x) { x.has_value(); })
    return type_text<typename T::value_type>() + " | None";
  else if constexpr (requires(const T x) { x.valueless_by_exception(); })
    return detail::any_of(static_cast<const T*>(nullptr));
  else if constexpr (detail::is_by_name<T>)
    return "dict[str, " + type_text<typename T::value_type::second_type>() + "]";
  else if constexpr (requires(const T x) { x.first; })
    return "tuple[" + type_text<typename T::first_type>() + ", " + type_text<typename T::second_type>() + "]";
  else if constexpr (requires(T x) { x.push_back(x.front()); })
    return "list[" + type_text<typename T::value_type>() + "]";
  else if constexpr (std::derived_from<T, pybind11::object>)
    return "Any";
  else {
    const auto* const known = pybind11::detail::get_type_info(typeid(T));
    return known == nullptr ? "Any" : pybind11::handle(reinterpret_cast<PyObject*>(known->type)).attr("__name__").cast<std::string>();
  }
}

/// The type of a request's value; questions overload it for their own types, in namespace fabricost.
template <class T>
[[nodiscard]] std::string taken_text(const T& value) {
  if constexpr (std::same_as<T, double>)
    return "float";
  else if constexpr (std::same_as<T, fabricost::Machine>)
    return "System | _Path";
  else if constexpr (std::same_as<T, NamedModel>)
    return "Model | _Path";
  else if constexpr (std::same_as<T, NamedStack>)
    return "Stack | _Path";
  else if constexpr (std::same_as<T, Counts>)
    return "int | Iterable[int]";
  else if constexpr (std::same_as<T, std::filesystem::path>)
    return "_Path";
  else if constexpr (std::same_as<T, std::vector<Sample>>)
    return "_Samples";
  else if constexpr (std::same_as<T, std::vector<std::string>>)
    return "Iterable[str]";
  else if constexpr (std::same_as<T, std::vector<double>>)
    return "float | Iterable[float] | ArrayLike";
  else if constexpr (requires { value.has_value(); })
    return taken_text(typename T::value_type{});
  else if constexpr (std::same_as<T, OnOff>)
    return "bool | Literal[\"on\", \"off\"]";
  else if constexpr (std::is_enum_v<T>) {
    std::string out;
    for (const std::string_view name : words_of(T{}).names) out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", name);
    return "Literal[" + out + "]";
  } else if constexpr (std::same_as<T, bool> || std::integral<T> || std::same_as<T, std::string>)
    return type_text<T>();
  else
    return "Any";
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
