/// Records field by field, and as a pandas table.

#include "record.hpp"

#include "arguments.hpp"
#include "copies.hpp"

#include <text/write_file.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace py = pybind11;

namespace fabricost::python {
namespace {

[[nodiscard]] const char* place_of(const void* record, const Member& member) { return static_cast<const char*>(record) + member.offset; }

/// The C++ object of a Python object; null if it is of another class.
[[nodiscard]] void* object_in(py::handle given, const py::detail::type_info* type) {
  py::detail::type_caster_generic in(type);
  return in.load(given, false) ? in.value : nullptr;
}
[[nodiscard]] void* self_in(py::handle given, const py::detail::type_info* type) {
  if (void* const self = object_in(given, type)) return self;
  throw py::type_error(fmt::format("this is of the class {}, not of {}", Py_TYPE(given.ptr())->tp_name, type->type->tp_name));
}
[[nodiscard]] const py::detail::type_info* type_of(py::handle type) {
  return py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(type.ptr()));
}

template <class Function, class... Extra>
void add_method(py::object& type, const char* name, Function&& function, const Extra&... extra) {
  py::detail::add_class_method(type, name,
                               py::cpp_function(std::forward<Function>(function), py::name(name), py::is_method(type),
                                                py::sibling(py::getattr(type, name, py::none())), extra...));
}

/// A value that json can write: records become their dict, whatever holds them.
[[nodiscard]] py::object without_records(const py::object& value) {
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
    py::list out;
    for (const py::handle one : value) out.append(without_records(py::reinterpret_borrow<py::object>(one)));
    return py::isinstance<py::tuple>(value) ? py::object(py::tuple(out)) : py::object(out);
  }
  if (py::isinstance<py::dict>(value)) {
    py::dict out;
    for (const auto& [key, one] : value.cast<py::dict>()) out[key] = without_records(py::reinterpret_borrow<py::object>(one));
    return out;
  }
  return py::hasattr(value, "to_dict") ? value.attr("to_dict")() : value;
}

/// Whether it holds an enumeration that has names and no way back from them.
[[nodiscard]] bool has_words_one_way(const ValueType& type) {
  const auto inside = [](const ValueType* part) { return part != nullptr && has_words_one_way(*part); };
  return (type.kind == ValueKind::word && type.set_word == nullptr) || inside(type.inner) || inside(type.second) ||
         std::any_of(type.alternatives.begin(), type.alternatives.end(), inside);
}

/// A class of records.
struct Record {
  Members members;
  RecordType made;
  const py::detail::type_info* type;

  [[nodiscard]] bool same(const void* a, const void* b) const {
    if (made.whole) return made.kept(a) == made.kept(b);
    return std::all_of(members.begin(), members.end(),
                       [&](const Member& m) { return !m.compared || same_value(*m.type, place_of(a, m), place_of(b, m)); });
  }
  [[nodiscard]] py::object hashed(const void* record) const {
    if (made.whole) return py::bytes(made.kept(record));
    py::list compared;
    for (const Member& m : members)
      if (m.compared) compared.append(object_of(*m.type, place_of(record, m)));
    return py::repr(compared);
  }
  /// How many members a pickle holds one by one.
  [[nodiscard]] std::size_t single() const { return made.whole ? 0 : members.size(); }
  [[nodiscard]] py::tuple state(const void* record) const {
    py::tuple out(single() + (made.kept == nullptr ? 0 : 1));
    for (std::size_t i = 0; i < single(); ++i) out[i] = object_of(*members[i].type, place_of(record, members[i]));
    if (made.kept != nullptr) out[single()] = py::bytes(made.kept(record));
    return out;
  }
  [[nodiscard]] py::dict dict(const void* record) const {
    py::dict out;
    for (const Member& m : members)
      if (const char* const key = *m.key != '\0' ? m.key : m.name; *key != '\0')
        out[key] = without_records(object_of(*m.type, place_of(record, m)));
    return out;
  }
  /// \throws ValueError for a state of another length
  [[nodiscard]] void* restored(const py::tuple& state) const {
    if (state.size() != single() + (made.kept == nullptr ? 0 : 1)) throw py::value_error("a pickle of another version of this class");
    std::unique_ptr<void, void (*)(void*)> out(made.make(), made.drop);
    for (std::size_t i = 0; i < single(); ++i)
      put_object(*members[i].type, static_cast<char*>(out.get()) + members[i].offset, py::object(state[i]));
    if (made.keep != nullptr) made.keep(out.get(), state[single()].cast<std::string>());
    return out.release();
  }
};

}  // namespace

void write_text(py::handle path, const std::string& text) { write_file(path_of(path, "path"), text, "path"); }

void add_property(py::handle type, const char* name, const char* doc, Getter get, const std::string& text) {
  const py::cpp_function getter([get = std::move(get), of = type_of(type)](py::handle self) { return get(self_in(self, of)); },
                                py::is_method(type));
  py::setattr(type, name, py::handle(reinterpret_cast<PyObject*>(&PyProperty_Type))(getter, py::none(), py::none(), doc));
  annotate(type, name, text);
}

void add_sequence(py::object type, std::size_t offset, const ValueType& list) {
  annotate(type, "__getitem__", type_text(*list.inner));
  const auto rows = [offset, of = type_of(type)](py::handle self) -> const void* { return static_cast<const char*>(self_in(self, of)) + offset; };
  const auto all = [rows, &list](py::handle self) { return object_of(list, rows(self)); };
  add_method(type, "__len__", [rows, &list](py::handle self) { return list.count(rows(self)); });
  add_method(
      type, "__getitem__",
      [rows, &list](py::handle self, py::ssize_t place) {
        const auto count = static_cast<py::ssize_t>(list.count(rows(self)));
        if (place < -count || place >= count) throw py::index_error(std::to_string(place) + " of " + std::to_string(count));
        return object_of(*list.inner, list.at(rows(self), static_cast<std::size_t>(place < 0 ? place + count : place)));
      },
      py::arg("place"));
  add_method(
      type, "__getitem__", [all](py::handle self, const py::slice& slice) { return py::object(all(self)[slice]); }, py::arg("slice"));
  add_method(type, "__iter__", [all](py::handle self) { return py::iter(all(self)); });
  add_method(
      type, "to_pandas", [all](py::handle self) { return by_python("_given", "records", all(self)); },
      "to_pandas(self)\n--\n\nA pandas.DataFrame, one line each: intervals as low_ and high_, terms as a column each. Needs pandas.");
}

void add_ends(py::object type, const std::vector<std::pair<std::string_view, bool>>& intervals) {
  for (const auto& [interval, optional] : intervals)
    for (const bool high : {false, true}) {
      const std::string of{interval}, name = (high ? "high" : "low") + of.substr(std::string_view{"interval"}.size());
      const py::cpp_function getter(
          [of, high](const py::object& self) -> py::object {
            const py::object both = self.attr(of.c_str());
            return both.is_none() ? both : py::object(both[py::int_(high ? 1 : 0)]);
          },
          py::is_method(type));
      const std::string doc = fmt::format("{} end of {}.", high ? "Upper" : "Lower", of);
      py::setattr(type, name.c_str(),
                  py::handle(reinterpret_cast<PyObject*>(&PyProperty_Type))(getter, py::none(), py::none(), doc.c_str()));
      annotate(type, name.c_str(), optional ? "float | None" : "float");
    }
}

namespace {

/// Public attributes of the object's class that begin with the name, or are that of a step.
[[nodiscard]] std::vector<std::string> attributes_like(const py::object& of, const std::string& name) {
  constexpr std::size_t shortest = 2;
  std::vector<std::string> out;
  if (name.size() < shortest) return out;
  for (const py::handle one : py::module_::import("builtins").attr("dir")(py::type::of(of)))
    if (auto own = one.cast<std::string>(); own.starts_with(name) || own == "step_" + name) out.push_back(std::move(own));
  return out;
}

/// "; did you mean low_seconds?", of a list "; a row has it: [0].tp".
[[nodiscard]] std::string attribute_meant(const py::object& self, const std::string& name) {
  if (name.starts_with('_')) return "";  // Python's own, also asked of objects that hold nothing
  if (const auto own = attributes_like(self, name); !own.empty()) return fmt::format("; did you mean {}?", fmt::join(own, " or "));
  if (!py::hasattr(py::type::of(self), "__getitem__") || py::len(self) == 0) return "";
  const auto of_row = attributes_like(self[py::int_(0)], name);
  return of_row.empty() ? "" : fmt::format("; a row has it: [0].{}", of_row.front());
}

}  // namespace

void hint_at_names(py::object type, std::vector<std::pair<std::string_view, std::string_view>> in_json) {
  add_method(
      type, "__getattr__",
      [in_json = std::move(in_json)](const py::object& self, const std::string& name) -> py::object {
        const char* const kind = Py_TYPE(self.ptr())->tp_name;
        const auto* const last = std::strrchr(kind, '.');
        const std::string message = fmt::format("{} has no {}", last == nullptr ? kind : last + 1, name);
        for (const auto& [json, here] : in_json)
          if (json == name) throw py::attribute_error(fmt::format("{}; what --json calls so is {} here, in SI units", message, here));
        for (const auto& [json, here] : in_json)
          if (json.starts_with(name + "_")) throw py::attribute_error(fmt::format("{}; did you mean {}?", message, here));  // busbw_GBps
        throw py::attribute_error(message + attribute_meant(self, name));
      },
      py::arg("name"));
}

void add_members(py::object type, Members members, const RecordType& made) {
  if (!made.whole)
    for (const Member& member : members)
      if (has_words_one_way(*member.type))
        throw std::logic_error(fmt::format("{} of {} cannot be read from a pickle: keep the record whole (is_kept_whole)", member.name,
                                           reinterpret_cast<PyTypeObject*>(type.ptr())->tp_name));
  const auto record = std::make_shared<const Record>(Record{std::move(members), made, type_of(type)});
  for (const Member& member : record->members)  // all in the order of the table
    if (*member.name != '\0')
      add_property(
          type, member.name, member.doc,
          [offset = member.offset, of = member.type](const void* self) { return object_of(*of, static_cast<const char*>(self) + offset); },
          type_text(*member.type));
  add_method(
      type, "__eq__",
      [record](py::handle self, py::handle other) -> py::object {
        const void* const b = object_in(other, record->type);
        if (b == nullptr) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
        return py::bool_(record->same(self_in(self, record->type), b));
      },
      py::is_operator());
  add_method(type, "__hash__", [record](py::handle self) { return py::hash(record->hashed(self_in(self, record->type))); });
  add_method(
      type, "to_dict", [record](py::handle self) { return record->dict(self_in(self, record->type)); },
      "to_dict(self)\n--\n\nField names and values, a dict that json.dumps takes.");
  add_method(type, "__getstate__", [record](py::handle self) { return record->state(self_in(self, record->type)); });
  add_method(
      type, "__setstate__",
      [record](py::detail::value_and_holder& place, const py::tuple& state) { place.value_ptr() = record->restored(state); },
      py::detail::is_new_style_constructor());
}

void add_copies(py::object type) {
  add_method(
      type, "__copy__", [](const py::object& self) { return self; }, "Itself: it cannot be changed.");
  add_method(
      type, "__deepcopy__", [](const py::object& self, const py::dict&) { return self; }, py::arg("memo"), "Itself: it cannot be changed.");
}

void add_to_dict(py::object type, std::vector<const char*> names) {
  std::erase_if(names, [&](const char* name) { return !py::hasattr(type, name); });
  add_method(
      type, "to_dict",
      [names = std::move(names)](const py::object& self) {
        py::dict out;
        for (const char* const name : names) out[name] = without_records(self.attr(name));
        return out;
      },
      "to_dict(self)\n--\n\nField names and values.");
}

}  // namespace fabricost::python
