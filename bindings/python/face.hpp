#pragma once
/// \file face.hpp
/// The Python face of any question: keyword arguments, defaults, signature and docstring of a function from
/// the fields of its request, and a record from the fields of its answer.

#include "arguments.hpp"
#include "machine.hpp"
#include "measured/samples.hpp"
#include "progress.hpp"
#include "record.hpp"
#include "routing.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/plan/fields/named_models.hpp>
#include <fabricost/fields/spelled.hpp>

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace fabricost::python {

namespace detail {

/// Parses one value from an object. Overloaded for the types of requests; types of a single question are
/// overloaded in its own file, in namespace fabricost.
template <class E>
requires std::is_enum_v<E>
void from_object(pybind11::handle given, std::string_view name, const Range&, E& out) {
  const std::string written = text(given, name);
  const auto found = worded<E>(written);
  if (!found) throw RequestError(fmt::format("{}: {}", name, unknown_value<E>(written)));
  out = *found;
}
inline void from_object(pybind11::handle given, std::string_view name, const Range&, bool& out) { out = flag(given, name); }
/// True or False; the command's words, too.
inline void from_object(pybind11::handle given, std::string_view name, const Range&, OnOff& out) {
  if (PyUnicode_Check(given.ptr()) == 0)
    out = flag(given, name) ? OnOff::on : OnOff::off;
  else
    from_object<OnOff>(given, name, {}, out);
}
inline void from_object(pybind11::handle given, std::string_view name, const Range&, std::string& out) { out = text(given, name); }
inline void from_object(pybind11::handle given, std::string_view name, const Range& range, int& out) {
  out = whole(given, name, range.min, range.max);
}
inline void from_object(pybind11::handle given, std::string_view name, const Range& range, double& out) {
  out = real(given, name, range.min, range.max);
  if (!range.holds(out)) refuse_range(name, out, range);
}
inline void from_object(pybind11::handle given, std::string_view name, const Range&, std::filesystem::path& out) {
  out = path_of(given, name);
}
/// One or several counts; a single 0 means none.
void from_object(pybind11::handle given, std::string_view name, const Range& range, Counts& out);
/// Keeps a reference without a copy: the System of Python lives as long as results that use it.
void from_object(pybind11::handle given, std::string_view name, const Range&, fabricost::Machine& out);
/// An operation without arrays, with its bytes.
void from_object(pybind11::handle given, std::string_view name, const Range&, Operation& out);
inline void from_object(pybind11::handle given, std::string_view name, const Range&, NamedModel& out) {
  out.value = std::make_shared<const Model>(model_from(given, name));
}
inline void from_object(pybind11::handle given, std::string_view name, const Range&, NamedStack& out) {
  if (PyUnicode_Check(given.ptr()) != 0)
    out = {text(given, name), nullptr};  // also of a serving framework
  else
    out.value = std::make_shared<const Stack>(stack_from(given, name));
}
inline void from_object(pybind11::handle given, std::string_view name, const Range&, Routing& out) { out = routing_from(given, name); }
inline void from_object(pybind11::handle given, std::string_view name, const Range&, std::vector<std::string>& out) {
  if (PyUnicode_Check(given.ptr()) != 0 || !pybind11::isinstance<pybind11::iterable>(given)) throw_type(name, "a list of texts", given);
  for (const pybind11::handle one : given) out.push_back(text(one, name));
}
/// One number or many.
inline void from_object(pybind11::handle given, std::string_view name, const Range& range, std::vector<double>& out) {
  if (PyNumber_Check(given.ptr()) != 0 && numpy().attr("ndim")(given).cast<int>() == 0)
    out = {real(given, name, range.min, range.max)};
  else
    out = reals(given, name, range.min, range.max);
}
template <class T>
void from_object(pybind11::handle given, std::string_view name, const Range& range, std::optional<T>& out) {
  from_object(given, name, range, out.emplace());
}

/// Whether a list's default is None instead of (), for vectors that are not lists in Python.
template <class T>
inline constexpr bool empty_is_none = false;

/// A default in Python's notation: None, 1.0, 'default', False, ().
template <class T>
[[nodiscard]] std::string default_text(const T& value) {
  if constexpr (std::same_as<T, bool>)
    return value ? "True" : "False";
  else if constexpr (std::same_as<T, OnOff>)
    return value == OnOff::on ? "True" : "False";
  else if constexpr (std::same_as<T, std::string>)
    return "'" + value + "'";
  else if constexpr (std::same_as<T, NamedStack>)
    return value ? default_text(value.name) : "None";
  else if constexpr (requires { name(value->library); })
    return value ? fmt::format("'{}'", name(value->library)) : "None";
  else if constexpr (std::same_as<T, double>)
    return pybind11::repr(pybind11::float_(value)).template cast<std::string>();
  else if constexpr (std::same_as<T, int>)
    return std::to_string(value);
  else if constexpr (std::is_enum_v<T>)
    return "'" + std::string{words_of(value).names[static_cast<std::size_t>(value)]} + "'";
  else if constexpr ((is_list<T> && !empty_is_none<T>) || std::same_as<T, Counts>)
    return "()";
  else
    return "None";
}

/// Whether None selects the default.
template <class T>
inline constexpr bool may_be_none =
    !std::is_arithmetic_v<T> && !std::is_enum_v<T> && (!is_list<T> || empty_is_none<T>)&&!std::same_as<T, std::string> &&
    !std::same_as<T, std::filesystem::path> && !std::same_as<T, Counts>;

/// Lines of at most 130 columns, later ones indented.
[[nodiscard]] std::string wrapped(const std::string& head, const std::vector<std::string>& words);
/// "cost() has no seq_len; did you mean sequence?"
[[nodiscard]] std::string no_such(std::string_view function, std::string_view given, const std::vector<std::string_view>& names);

}  // namespace detail

/// The System of Python behind an argument's Machine.
[[nodiscard]] pybind11::object object_of(const fabricost::Machine& machine);

/// The object given for each name; null if missing. \param by_place maximum number of positional arguments
/// \throws TypeError for an unknown argument
void place_arguments(std::string_view function, std::span<const std::string_view> names, std::size_t by_place, const pybind11::args& args,
                     const pybind11::kwargs& kwargs, std::span<pybind11::handle> given);

/// A field as an argument: "gpus=16384", "precision=\"fp8\"".
[[nodiscard]] std::string as_argument(std::string_view name, std::string_view value);

/// Whether a field is an argument.
template <class Field>
[[nodiscard]] constexpr bool is_argument(const Field& field) {
  return !field.name.empty() && !field.inside;
}
/// Places in the table of the fields that are arguments, in the order of a call, and how many they are: those that Request::by_place
/// names, if it does, then the others in the order of the table.
template <HasFields Request>
inline constexpr auto argument_order = table_of<Request>.apply([](const auto&... field) {
  constexpr std::size_t count = sizeof...(field);
  const std::array<std::string_view, count> names{(is_argument(field) ? field.name : std::string_view{})...};
  std::span<const std::string_view> first;
  if constexpr (requires { Request::by_place; }) first = Request::by_place;
  std::pair<std::array<std::size_t, count>, std::size_t> out{};
  for (const std::string_view name : first)
    out.first[out.second++] = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  for (std::size_t i = 0; i < count; ++i)
    if (!names[i].empty() && std::find(first.begin(), first.end(), names[i]) == first.end()) out.first[out.second++] = i;
  return out;
});
/// The functions that read a value from a call and write it into a signature: shared by all requests with such a value.
struct ArgumentType {
  void (*read)(pybind11::handle given, std::string_view name, const Range& range, void* value);
  std::string (*default_text)(const void* value);
  std::string (*taken)();  ///< its type in the stub
  bool may_be_none;
  const int* (*count)(const void* value);  ///< an int as such, else null
};
template <class T>
inline constexpr ArgumentType argument_type{
    [](pybind11::handle given, std::string_view name, const Range& range, void* value) {
      using detail::from_object;
      if constexpr (HasQuantities<T>) {
        Numbers<T> numbers{};
        from_object(given, name, range, numbers);
        *static_cast<T*>(value) = with_units<T>(numbers);
      } else {
        from_object(given, name, range, *static_cast<T*>(value));
      }
    },
    [](const void* value) { return detail::default_text(numbers_in(*static_cast<const T*>(value))); },
    [] { return taken_text(Numbers<T>{}); }, detail::may_be_none<Numbers<T>>,
    [](const void* value) -> const int* {
      if constexpr (std::same_as<T, int>) return static_cast<const int*>(value);
      return nullptr;
    }};

/// The same for a length of a text (Amount::length); other types have none.
template <class T>
inline constexpr ArgumentType length_type = [] {
  ArgumentType out = argument_type<T>;
  if constexpr (std::same_as<T, int> || std::same_as<T, std::optional<int>>) {
    out.read = [](pybind11::handle given, std::string_view name, const Range& range, void* value) {
      *static_cast<T*>(value) = length(given, name, range.min, range.max);
    };
    out.taken = [] { return std::string{"int | str"}; };
  }
  return out;
}();

/// An argument of a function, in words.
struct Argument {
  std::string_view name, words;
  std::string default_text, type;
  bool needed = false, true_by_default = false;
  Range range{};           ///< of a count, its default too
  std::size_t offset = 0;  ///< bytes from the beginning of the request
  const ArgumentType* of = nullptr;
};
void add_argument(std::vector<Argument>& out, std::string_view name, std::string_view words, bool needed, const Range& range,
                  const void* request, const void* value, const ArgumentType& type);

/// The arguments of a request, in their order.
template <HasFields Request>
[[nodiscard]] std::vector<Argument> arguments_of() {
  std::vector<Argument> out;
  const Request& defaults = one_of<Request>();
  const auto add = [&](const auto& field) {
    using T = typename std::remove_cvref_t<decltype(field)>::Value;
    add_argument(out, field.name, field.words, field.needed, field.range, &defaults, &(defaults.*(field.member)),
                 field.amount == Amount::length ? length_type<T> : argument_type<T>);
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) { (add(table_of<Request>.template at<argument_order<Request>.first[i]>()), ...); }
  (std::make_index_sequence<argument_order<Request>.second>{});
  return out;
}

/// One line per argument; for an argument that is True by default, the meaning of False.
[[nodiscard]] std::string lines_of(std::span<const Argument> arguments);
/// "cost(system, *, gpus=None, ...)\n--\n\n", the description of the function, and a line per argument.
/// \param by_place maximum number of positional arguments
[[nodiscard]] std::string docstring_of(std::span<const Argument> arguments, std::string_view function, std::size_t by_place,
                                       std::string_view words, std::string_view examples);

/// Tells the stub the types of a function or class. \param gives that of its answer
void tell_types(const pybind11::module_& module, const char* function, std::span<const Argument> arguments, const std::string& gives);

/// Reads a call into a request. \throws TypeError for an unknown argument, RequestError for an invalid value
void read_arguments(std::span<const Argument> arguments, std::string_view function, std::size_t by_place, const pybind11::args& args,
                    const pybind11::kwargs& kwargs, void* request);
/// The request of a call. \throws as read_arguments
template <HasFields Request>
[[nodiscard]] Request request_of(std::string_view function, std::size_t by_place, const pybind11::args& args,
                                 const pybind11::kwargs& kwargs) {
  static const std::vector<Argument> arguments = arguments_of<Request>();
  Request out;
  read_arguments(arguments, function, by_place, args, kwargs, &out);
  return out;
}

/// Calls `ask` and rethrows a Refusal with arguments for its fields: TypeError for a missing one, UnmetError
/// as such, else RequestError.
template <class Ask>
[[nodiscard]] auto spelled_out(Ask&& ask) {
  try {
    return ask();
  } catch (const UnmetError& error) {
    throw UnmetError(error.why(), with_fields(error.text(), as_argument));
  } catch (const Refusal& refusal) {
    const std::string message = with_fields(refusal.text(), as_argument);
    if (refusal.missing()) throw pybind11::type_error(message);
    throw RequestError(message);
  }
}

/// The same for a search, with the GIL released.
template <class Ask>
[[nodiscard]] auto answered(Ask&& ask) {
  return spelled_out([&] { return searched(std::forward<Ask>(ask)); });
}

/// Adds module.function(...) with the arguments of a request. \param call of (args, kwargs) \param gives type of its answer in the stub
template <HasFields Request, class Call>
void add_function(pybind11::module_& module, const char* function, std::size_t by_place, Call call, const std::string& gives,
                  const char* words, const char* examples) {
  const std::vector<Argument> arguments = arguments_of<Request>();
  tell_types(module, function, arguments, gives);
  module.def(function, std::move(call), docstring_of(arguments, function, by_place, words, examples).c_str());
}

/// Whether the search of a request shows a bar; other requests have none.
template <class Request>
[[nodiscard]] bool shows_progress(const Request& request) {
  if constexpr (requires { request.progress; })
    return request.progress;
  else
    return false;
}

/// Adds module.function(...), which answers the request.
/// \param given selects the part of the answer that Python gets; by default all of it
template <HasFields Request, class Given = std::identity>
void add_face(pybind11::module_& module, const char* function, std::size_t by_place, const char* words, const char* examples,
              Given given = {}) {
  const auto call = [function, by_place, given](const pybind11::args& args, const pybind11::kwargs& kwargs) {
    const auto request = spelled_out([&] { return request_of<Request>(function, by_place, args, kwargs); });
    [[maybe_unused]] const ProgressBar bar(shows_progress(request));
    auto found = answered([&] { return answer(request); });
    spell_fields(found, as_argument);
    return given(std::move(found));
  };
  add_function<Request>(module, function, by_place, call, type_text<decltype(given(answer(std::declval<const Request&>())))>(), words,
                        examples);
}

/// Adds the properties that the answer's table names to a class: members, functions or both.
template <HasFields Answer, bool members, class Class>
void add_properties(PyClass<Class>& type) {
  for_each_field<Answer>([&](const auto& gives) {
    using T = typename std::remove_cvref_t<decltype(gives)>::Value;
    if (gives.name.empty()) return;
    if constexpr (std::is_function_v<T>) {
      if constexpr (std::invocable<decltype(gives.member), const Class&>) {
        const auto value_of = [member = gives.member](const Class& self) { return plain(std::invoke(member, self)); };
        add_property(
            type, gives.name.data(), gives.words.data(),
            [value_of](const void* self) { return pybind11::cast(value_of(*static_cast<const Class*>(self))); },
            type_text<std::invoke_result_t<decltype(value_of), const Class&>>());
      }
    } else if constexpr (members) {
      add_property(
          type, gives.name.data(), gives.words.data(),
          [offset = offset_of<Class, T>(gives.member)](const void* self) {
            return plain_object<T>(static_cast<const char*>(self) + offset);
          },
          type_text<decltype(plain(std::declval<const T&>()))>());
    }
  });
}

/// A value without a class of its own in Python: a dict with the names of its table.
template <HasFields Answer>
[[nodiscard]] pybind11::dict dict_of(const Answer& answer) {
  pybind11::dict out;
  for_each_field<Answer>([&](const auto& gives) {
    if (!gives.name.empty()) out[gives.name.data()] = pybind11::cast(plain(std::invoke(gives.member, answer)));
  });
  return out;
}

/// Names of a table as --json has them, where they differ from Python's.
template <HasFields Answer>
[[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>> names_in_json() {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for_each_field<Answer>([&](const auto& gives) {
    std::string_view json = gives.json;
    if (json.ends_with("[]")) json.remove_suffix(2);
    json = json.substr(json.rfind('.') + 1);
    if (!gives.name.empty() && !json.empty() && json != gives.name) out.emplace_back(json, gives.name);
  });
  return out;
}

/// Intervals of a table whose ends have no names of their own, and whether they may be missing: interval_seconds has low_seconds and
/// high_seconds.
template <HasFields Answer>
[[nodiscard]] std::vector<std::pair<std::string_view, bool>> intervals_of() {
  using Interval = std::pair<double, double>;
  std::vector<std::pair<std::string_view, bool>> out;
  bool named = false;
  for_each_field<Answer>([&](const auto& gives) {
    using T = decltype(plain(std::invoke(gives.member, std::declval<const Answer&>())));
    constexpr bool optional = std::same_as<std::remove_cvref_t<T>, std::optional<Interval>>;
    if constexpr (optional || std::same_as<std::remove_cvref_t<T>, Interval>)
      if (gives.name.starts_with("interval")) out.emplace_back(gives.name, optional);
    named = named || gives.name == "low_seconds";
  });
  if (named) std::erase_if(out, [](const auto& one) { return one.first == "interval_seconds"; });
  return out;
}

/// The answer as a class with properties only. \tparam Class of Python, if it is derived from Answer
template <HasFields Answer, class Class = Answer>
PyClass<Class> add_report(pybind11::module_& module, const char* name, const char* words) {
  PyClass<Class> type(module, name, words);
  add_properties<Answer, true>(type);
  std::vector<const char*> names;
  for_each_field<Answer>([&](const auto& gives) {
    if (!gives.name.empty()) names.push_back(gives.name.data());
  });
  add_to_dict(type, std::move(names));
  add_ends(type, intervals_of<Answer>());
  hint_at_names(type, names_in_json<Answer>());
  return type;
}

/// The members that a table lists, with their names in Python; to_dict has rows without one under their name in JSON. What a search took is
/// no part of ==. \tparam Class of Python, if it is derived from the struct of the table
template <HasFields Answer, class Class>
[[nodiscard]] Members members_of() {
  Members out;
  for_each_field<Answer>([&](const auto& gives) {
    using T = typename std::remove_cvref_t<decltype(gives)>::Value;
    if constexpr (!std::is_function_v<T>) {
      out.push_back(field<Class, T>(gives.name.data(), gives.member, gives.words.data()));
      if constexpr (requires(T rows) { requires HasFields<typename decltype(rows)::value_type>; })
        if (gives.name.empty()) out.back().key = gives.json.data();
      // threads that search side by side leave out more or less of what cannot be among the best
      out.back().compared = gives.name != "search_seconds" && gives.name != "evaluated" && gives.name != "pruned";
    }
  });
  return out;
}

/// The answer as a record: members with a name in Python are its fields; named functions are computed on
/// demand.
template <HasFields Answer, class Class = Answer>
PyClass<Class> add_answer(pybind11::module_& module, const char* name, const char* words, Members members = members_of<Answer, Class>()) {
  auto type = add_record<Class>(module, name, words, std::move(members));
  add_properties<Answer, false>(type);
  add_ends(type, intervals_of<Answer>());
  hint_at_names(type, names_in_json<Answer>());
  return type;
}

/// The answer as a record and a sequence of its rows.
template <HasFields Answer, class Row>
PyClass<Answer> add_answer_of_rows(pybind11::module_& module, const char* name, const char* words, std::vector<Row> Answer::*rows) {
  Members members = members_of<Answer, Answer>();
  if (std::none_of(members.begin(), members.end(), [&](const Member& one) { return one.offset == offset_of(rows); })) {
    members.push_back(field("", rows, ""));
    members.back().key = "rows";
  }
  auto type = add_answer<Answer>(module, name, words, std::move(members));
  add_sequence(type, rows);
  return type;
}

/// What a search found, for what is asked of its answer later. \throws RequestError for an answer that was pickled
template <class Answer>
[[nodiscard]] const auto& found_of(const Answer& answer) {
  if (answer.found == nullptr) throw RequestError("this answer was pickled without its search; ask again where more is wanted of it");
  return *answer.found;
}

/// Rows as a structured array, with a column per field that has a name in Python: texts, numbers and counts.
template <HasFields Row>
[[nodiscard]] pybind11::array columns_of(const std::vector<Row>& rows) {
  std::vector<std::pair<const char*, pybind11::array>> columns;
  for_each_field<Row>([&](const auto& field) {
    if (!field.name.empty()) columns.emplace_back(field.name.data(), column_of(rows, field.member));
  });
  return structured(columns);
}

}  // namespace fabricost::python
