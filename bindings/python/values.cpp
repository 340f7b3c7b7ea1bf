/// Values between C++ and Python.

#include "values.hpp"

#include "text.hpp"

#include <fmt/format.h>

namespace py = pybind11;

namespace fabricost::python {
namespace {

[[nodiscard]] const py::detail::type_info* class_of(const ValueType& type) { return py::detail::get_type_info(*type.id); }

[[nodiscard]] py::object instance_of(const ValueType& type, const void* value) {
  const auto* const known = class_of(type);
  if (known == nullptr || type.copy == nullptr) throw py::cast_error(fmt::format("no class of Python is made for {}", type.id->name()));
  return py::reinterpret_steal<py::object>(py::detail::type_caster_generic::cast(type.copy(value), py::return_value_policy::take_ownership,
                                                                                 {}, known, nullptr, nullptr, nullptr));
}

template <class Sequence>
[[nodiscard]] Sequence sequence_of(const ValueType& type, const void* value) {
  Sequence out(type.count(value));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = object_of(type.part(i), type.at(value, i));
  return out;
}

}  // namespace

py::object object_of(const ValueType& type, const void* value) {
  switch (type.kind) {
    case ValueKind::flag: return py::bool_(type.number(value) != 0);
    case ValueKind::whole: return py::int_(static_cast<long long>(type.number(value)));
    case ValueKind::number: return py::float_(type.number(value));
    case ValueKind::text:
    case ValueKind::word: return text_object(type.text(value));
    case ValueKind::optional: return type.count(value) == 0 ? py::none() : object_of(*type.inner, type.at(value, 0));
    case ValueKind::list: return sequence_of<py::list>(type, value);
    case ValueKind::pair: return sequence_of<py::tuple>(type, value);
    case ValueKind::by_name: {
      py::dict out;
      for (std::size_t i = 0; i < type.count(value); ++i)
        out[text_object(type.name_at(value, i))] = object_of(*type.inner, type.at(value, i));
      return out;
    }
    case ValueKind::variant: return object_of(*type.alternatives[type.chosen(value)], type.held(value));
    case ValueKind::record:
    case ValueKind::other: break;
  }
  return instance_of(type, value);
}

void put_object(const ValueType& type, void* value, py::handle given) {
  switch (type.kind) {
    case ValueKind::flag: return type.set_number(value, given.cast<bool>() ? 1 : 0);
    case ValueKind::whole: return type.set_number(value, static_cast<double>(given.cast<long long>()));
    case ValueKind::number: return type.set_number(value, given.cast<double>());
    case ValueKind::text: return type.set_text(value, given.cast<std::string>());
    case ValueKind::word:
      if (!type.set_word(value, given.cast<std::string>())) throw py::cast_error(fmt::format("is not {}", type.what));
      return;
    case ValueKind::optional:
      type.clear(value);
      if (!given.is_none()) put_object(*type.inner, type.add(value), given);
      return;
    case ValueKind::list:
      type.clear(value);
      for (const py::handle one : given) put_object(*type.inner, type.add(value), one);
      return;
    case ValueKind::pair:
      for (std::size_t i = 0; i < 2; ++i) put_object(type.part(i), const_cast<void*>(type.at(value, i)), py::object(given[py::int_(i)]));
      return;
    case ValueKind::by_name:
      type.clear(value);
      for (const auto& [name, one] : py::reinterpret_borrow<py::dict>(given))
        put_object(*type.inner, type.add_named(value, name.cast<std::string>()), one);
      return;
    case ValueKind::variant:
      for (std::size_t i = 0; i < type.alternatives.size(); ++i) try {
          return put_object(*type.alternatives[i], type.choose(value, i), given);
        } catch (const py::cast_error&) {
          if (i + 1 == type.alternatives.size()) throw;
        }
      return;
    case ValueKind::record:
    case ValueKind::other: break;
  }
  py::detail::type_caster_generic caster(class_of(type));
  if (type.assign == nullptr || !caster.load(given, false) || caster.value == nullptr)
    throw py::cast_error(fmt::format("no {} of C++", type.id->name()));
  type.assign(value, caster.value);
}

std::string type_text(const ValueType& type) {
  switch (type.kind) {
    case ValueKind::flag: return "bool";
    case ValueKind::whole: return "int";
    case ValueKind::number: return "float";
    case ValueKind::text:
    case ValueKind::word: return "str";
    case ValueKind::optional: return type_text(*type.inner) + " | None";
    case ValueKind::list: return "list[" + type_text(*type.inner) + "]";
    case ValueKind::pair: return "tuple[" + type_text(*type.inner) + ", " + type_text(*type.second) + "]";
    case ValueKind::by_name: return "dict[str, " + type_text(*type.inner) + "]";
    case ValueKind::variant: {
      std::string out;
      for (const ValueType* one : type.alternatives) out += (out.empty() ? "" : " | ") + type_text(*one);
      return out;
    }
    case ValueKind::record:
    case ValueKind::other: break;
  }
  const auto* const known = class_of(type);
  return known == nullptr ? "Any" : py::handle(reinterpret_cast<PyObject*>(known->type)).attr("__name__").cast<std::string>();
}

}  // namespace fabricost::python
