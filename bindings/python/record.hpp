#pragma once
/// \file record.hpp
/// A plain struct as a Python class, from a table of its fields: read-only properties, ==, pickle and copy, to_dict; and a vector of
/// them as a sequence with to_pandas.

#include "fields.hpp"
#include "text.hpp"
#include "types.hpp"

#include <fabricost/answers/fields.hpp>
#include <fabricost/answers/terms.hpp>
#include <fabricost/predict/prediction.hpp>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace pybind11::detail {
template <class T>
struct type_caster<fabricost::ByName<T>> {
  PYBIND11_TYPE_CASTER(fabricost::ByName<T>, const_name("dict"));
  bool load(handle given, bool) {
    if (!isinstance<dict>(given)) return false;
    for (const auto& [name, each] : reinterpret_borrow<dict>(given))
      value.emplace_back(name.template cast<std::string>(), each.template cast<T>());
    return true;
  }
  static handle cast(const fabricost::ByName<T>& values, return_value_policy, handle) {
    dict out;
    for (const auto& [name, each] : values) out[fabricost::python::text_object(name)] = pybind11::cast(each);
    return out.release();
  }
};
}  // namespace pybind11::detail

namespace fabricost::python {

/// A value of the model as Python has it: a name as text, a quantity as its number, a list of fixed length as a list.
template <class T>
[[nodiscard]] auto plain(const T& value) {
  if constexpr (requires { T::from_value(1.0); })
    return static_cast<double>(value.value());
  else if constexpr (requires { value.view(); })
    return value.view();
  else if constexpr (fabricost::python::detail::is_fixed_list<T>)
    return std::vector<std::remove_cvref_t<decltype(*value.begin())>>(value.begin(), value.end());
  else if constexpr (requires { name(value); } && std::is_enum_v<T>)
    return name(value);
  else
    return value;
}

template <class C, class T>
struct Field {
  const char* name;
  T C::*member;
  const char* doc;
};
template <class C, class T>
[[nodiscard]] constexpr Field<C, T> field(const char* name, T C::*member, const char* doc) {
  return {name, member, doc};
}

/// Equal in every field.
template <class T>
[[nodiscard]] bool same(const T& a, const T& b) {
  return a == b;
}
[[nodiscard]] inline bool same(const std::vector<Term>& a, const std::vector<Term>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Term& x, const Term& y) { return x.name == y.name && x.tier == y.tier && x.time == y.time; });
}

/// A record may hold, besides its fields, the C++ answer it was `made` from, for what is printed of it; pickles carry it.
template <class C>
concept KeepsWhatItWasMadeFrom = requires(C& c) {
  c.made;
};

template <class C, class... T>
pybind11::class_<C> add_record(pybind11::module_& module, const char* name, const char* doc, Field<C, T>... fields) {
  namespace py = pybind11;
  py::class_<C> type(module, name, doc);
  const auto has_name = [](const auto& field) { return *field.name != '\0'; };  // others are not for Python
  ((has_name(fields) ? void(type.def_property_readonly(
                           fields.name, [m = fields.member](const C& self) { return self.*m; }, fields.doc))
                     : void()),
   ...);
  ((has_name(fields) ? annotate(type, fields.name, type_text<T>()) : void()), ...);
  type.def(
      "__eq__", [fields...](const C& a, const C& b) { return (same(a.*(fields.member), b.*(fields.member)) && ...); }, py::is_operator());
  type.def("__hash__", [fields...](const C& self) { return py::hash(py::repr(py::make_tuple(self.*(fields.member)...))); });
  type.def(
      "to_dict",
      [fields...](const C& self) {
        py::dict out;
        ((*fields.name != '\0' ? void(out[fields.name] = py::cast(self.*(fields.member))) : void()), ...);
        return out;
      },
      "to_dict(self)\n--\n\nField names and values, a dict.");
  constexpr std::size_t kept = KeepsWhatItWasMadeFrom<C> ? 1 : 0;
  type.def(py::pickle(
      [fields...](const C& self) {
        if constexpr (kept == 1)
          return py::make_tuple(self.*(fields.member)..., py::bytes(bytes_of(self.made)));
        else
          return py::make_tuple(self.*(fields.member)...);
      },
      [fields...](const py::tuple& state) {
        if (state.size() != sizeof...(T) + kept) throw py::value_error("a pickle of another version of this class");
        C out{};
        std::size_t i = 0;
        ((out.*(fields.member) = state[i++].template cast<T>()), ...);
        if constexpr (kept == 1) out.made = value_of<decltype(out.made)>(state[i].template cast<std::string>());
        return out;
      }));
  return type;
}

/// One table row per record: texts and numbers as they are, an interval as low_ and high_, terms as a column each.
/// \throws ImportError saying what to install
[[nodiscard]] pybind11::object to_pandas(const pybind11::list& records);

/// __len__, __getitem__ by place and by slice, __iter__, to_pandas.
template <class Holder, class Row>
void add_sequence(pybind11::class_<Holder>& type, std::vector<Row> Holder::*rows) {
  namespace py = pybind11;
  type.def("__len__", [rows](const Holder& self) { return (self.*rows).size(); });
  type.def(
      "__getitem__",
      [rows](const Holder& self, py::ssize_t place) {
        const auto count = static_cast<py::ssize_t>((self.*rows).size());
        if (place < -count || place >= count) throw py::index_error(std::to_string(place) + " of " + std::to_string(count));
        return (self.*rows)[static_cast<std::size_t>(place < 0 ? place + count : place)];
      },
      py::arg("place"));
  type.def(
      "__getitem__", [rows](const Holder& self, const py::slice& slice) { return py::list(py::cast(self.*rows)[slice]); },
      py::arg("slice"));
  type.def("__iter__", [rows](const Holder& self) { return py::iter(py::cast(self.*rows)); });
  type.def(
      "to_pandas", [rows](const Holder& self) { return to_pandas(py::list(py::cast(self.*rows))); },
      "to_pandas(self)\n--\n\nA pandas.DataFrame, one line each: intervals as low_ and high_, terms as a column each. Needs pandas.");
}

}  // namespace fabricost::python
