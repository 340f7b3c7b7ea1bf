#pragma once
/// A plain struct as a Python class, from a table of its fields: read-only properties, ==, pickling and
/// copies, to_dict; and a vector of them as a sequence with to_pandas.

#include "arguments.hpp"
#include "fields.hpp"
#include "plain.hpp"
#include "text.hpp"
#include "values.hpp"

#include <fabricost/fields/terms.hpp>
#include <fabricost/predict/prediction.hpp>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pybind11::detail {
template <class T>
struct type_caster<fabricost::core::ByName<T>> {
  PYBIND11_TYPE_CASTER(fabricost::core::ByName<T>, const_name("dict"));
  bool load(handle given, bool) {
    if (!isinstance<dict>(given)) return false;
    for (const auto& [name, each] : reinterpret_borrow<dict>(given))
      value.emplace_back(name.template cast<std::string>(), each.template cast<T>());
    return true;
  }
  static handle cast(const fabricost::core::ByName<T>& values, return_value_policy, handle) {
    dict out;
    for (const auto& [name, each] : values) out[fabricost::python::text_object(name)] = pybind11::cast(each);
    return out.release();
  }
};
}  // namespace pybind11::detail

namespace fabricost::python {

/// Writes a text whole or not at all. \throws RequestError naming `path`, TypeError
void write_text(pybind11::handle path, const std::string& text);

/// A value as Python sees it: a name as text, a quantity as a number, a fixed-length list as a list.
template <class T>
[[nodiscard]] auto plain(const T& value) {
  if constexpr (HasQuantities<T>)
    return numbers_in(value);
  else if constexpr (requires { value.view(); })
    return value.view();
  else if constexpr (fabricost::python::detail::is_fixed_list<T>)
    return std::vector<std::remove_cvref_t<decltype(*value.begin())>>(value.begin(), value.end());
  else if constexpr (requires { name(value); } && std::is_enum_v<T>)
    return name(value);
  else
    return value;
}

/// A class of Python whose properties tell the stub their types.
template <class C, class... Bases>
class PyClass : public pybind11::class_<C, Bases...> {
 public:
  using Base = pybind11::class_<C, Bases...>;
  using Base::Base;
  template <class... Arguments>
  PyClass& def(Arguments&&... arguments) {
    Base::def(std::forward<Arguments>(arguments)...);
    return *this;
  }
  /// \param get a member, or a function of the object \param type in the stub, of an object of Python
  template <class Get>
  PyClass& property(const char* name, Get get, const char* doc, const char* type = nullptr) {
    using T = std::remove_cvref_t<std::invoke_result_t<Get&, C&>>;
    using Plain = decltype(plain(std::declval<const T&>()));
    Base::def_property_readonly(
        name,
        [get](C& self) -> decltype(auto) {
          if constexpr (std::same_as<T, Plain>)
            return std::invoke(get, self);
          else
            return plain(std::invoke(get, self));
        },
        doc);
    annotate(*this, name, type == nullptr ? type_text<Plain>() : type);
    return *this;
  }
  /// A method that writes text(self) to a path.
  template <class Text>
  PyClass& saves(const char* method, Text text, const char* doc) {
    return def(
        method, [text](const C& self, const pybind11::object& path) { write_text(path, std::invoke(text, self)); }, pybind11::arg("path"),
        doc);
  }
};

/// repr() of a value.
template <class T>
[[nodiscard]] std::string repr_of(const T& value) {
  return pybind11::cast<std::string>(pybind11::repr(pybind11::cast(value)));
}

/// A member of a record; without a name it is not visible in Python, but compared and pickled.
struct Member {
  const char* name;
  const char* doc;
  std::size_t offset;  ///< bytes from the beginning of the record
  const ValueType* type;
  const char* key = "";   ///< in to_dict, where that is not the name
  bool compared = true;  ///< by == and hash
};

using fabricost::core::offset_of, fabricost::core::one_of;

template <class C, class T>
[[nodiscard]] Member field(const char* name, T C::*member, const char* doc) {
  return {name, doc, offset_of<C, T>(member), &value_type<T>};
}

/// Computes an attribute; `self` is the address of the C++ object.
using Getter = std::function<pybind11::object(const void* self)>;
/// Adds a read-only property to a class of C++ objects. (Code of all classes: code for one class would be compiled once a class.)
/// \param text type in the stub
void add_property(pybind11::handle type, const char* name, const char* doc, Getter get, const std::string& text);

using Members = std::vector<Member>;

/// A record may also hold the C++ answer it was `made` from, for printing; pickles include it.
template <class C>
concept KeepsWhatItWasMadeFrom = requires(C& c) {
  c.made;
};

/// Whether == and pickles of a record take all fields of the struct, because Python's members do not say all of it.
template <class C>
inline constexpr bool is_kept_whole = false;

/// The properties of a record's class beside its members.
struct RecordType {
  void* (*make)();
  void (*drop)(void* record);
  std::string (*kept)(const void* record) = nullptr;  ///< `made`, or the whole record, as bytes
  void (*keep)(void* record, const std::string& bytes) = nullptr;
  bool whole = false;
};
template <class C>
[[nodiscard]] constexpr RecordType record_type() {
  RecordType out{[]() -> void* { return new C{}; }, [](void* record) { delete static_cast<C*>(record); }};
  if constexpr (is_kept_whole<C>) {
    out.whole = true;
    out.kept = [](const void* record) { return detail::stamped<C>(bytes_of(*static_cast<const C*>(record))); };
    out.keep = [](void* record, const std::string& state) { *static_cast<C*>(record) = value_of<C>(detail::unstamped<C>(state)); };
  } else if constexpr (KeepsWhatItWasMadeFrom<C>) {
    out.kept = [](const void* record) { return bytes_of(static_cast<const C*>(record)->made); };
    out.keep = [](void* record, const std::string& bytes) {
      auto& made = static_cast<C*>(record)->made;
      made = value_of<std::remove_reference_t<decltype(made)>>(bytes);
    };
  }
  return out;
}
/// The members with a name as properties; ==, hash(), to_dict, pickling and copies.
void add_members(pybind11::object type, Members members, const RecordType& made);

/// to_dict of a class that is no record, by the names of its properties.
void add_to_dict(pybind11::object type, std::vector<const char*> names);
/// Properties low_X and high_X of interval_X. \param intervals their names, and whether they may be None
void add_ends(pybind11::object type, const std::vector<std::pair<std::string_view, bool>>& intervals);
/// An attribute that is missing is refused with its name here where it is one of --json. \param in_json pairs of those names
void hint_at_names(pybind11::object type, std::vector<std::pair<std::string_view, std::string_view>> in_json);

template <class C>
PyClass<C> add_record(pybind11::module_& module, const char* name, const char* doc, Members fields) {
  PyClass<C> type(module, name, doc);
  add_members(type, std::move(fields), record_type<C>());
  return type;
}

/// __len__, __getitem__ by place and by slice, __iter__, to_pandas of a list `offset` bytes from the beginning of an object. The stub makes
/// the overloads of __getitem__ from the annotation.
void add_sequence(pybind11::object type, std::size_t offset, const ValueType& list);
template <class Holder, class Row>
void add_sequence(PyClass<Holder>& type, std::vector<Row> Holder::*rows) {
  add_sequence(type, offset_of(rows), value_type<std::vector<Row>>);
}

}  // namespace fabricost::python
