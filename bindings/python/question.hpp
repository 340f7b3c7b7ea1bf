#pragma once
/// The Python interface of any question: keyword arguments, defaults, signature and docstring of a function from
/// the fields of its request, and a record from the fields of its answer.

#include "arguments.hpp"
#include "core/samples.hpp"
#include "machine.hpp"
#include "progress.hpp"
#include "record.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/plan/fields/named_models.hpp>

#include <pybind11/pybind11.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fabricost::python {

// Types that several questions have.
void from_object(pybind11::handle given, std::string_view name, const Range&, std::filesystem::path& out);
/// True or False; the command's words, too.
void from_object(pybind11::handle given, std::string_view name, const Range&, OnOff& out);
/// One or several counts; a single 0 means none.
void from_object(pybind11::handle given, std::string_view name, const Range& range, Counts& out);
/// Keeps a reference without a copy: the System of Python lives as long as results that use it.
void from_object(pybind11::handle given, std::string_view name, const Range&, fabricost::core::Machine& out);
/// An operation without arrays, with its bytes.
void from_object(pybind11::handle given, std::string_view name, const Range&, Operation& out);
void from_object(pybind11::handle given, std::string_view name, const Range&, NamedModel& out);
/// Of training or, by its name, a serving framework.
void from_object(pybind11::handle given, std::string_view name, const Range&, NamedStack& out);
void from_object(pybind11::handle given, std::string_view name, const Range&, Routing& out);

/// How Python gives a value of a type that is more than a number, a text or a word.
struct ArgumentType {
  void (*read)(pybind11::handle given, std::string_view name, const Range& range, void* value) = nullptr;
  std::string_view taken;                                    ///< its type in the stub
  bool none = true;                                          ///< None selects the default
  std::string (*default_text)(const void* value) = nullptr;  ///< in Python's notation; null: None
};
/// Those of the module, by type.
[[nodiscard]] std::unordered_map<const ValueType*, ArgumentType>& argument_types();
/// Tells how arguments of a type are read: by from_object(given, name, range, value), which stands beside the type or here. Called before
/// the functions that take one are added.
template <class T>
void add_argument_type(std::string_view taken, bool none = true, std::string (*default_text)(const void*) = nullptr) {
  argument_types()[&value_type<T>] = {[](pybind11::handle given, std::string_view name, const Range& range, void* value) {
                                   from_object(given, name, range, *static_cast<T*>(value));
                                 },
                                 taken, none, default_text};
}
/// A default that is an empty list.
[[nodiscard]] inline std::string no_items(const void* /*of*/) { return "()"; }
/// Reads a value of any type that requests have. \throws TypeError, RequestError
void read_object(const ValueType& type, pybind11::handle given, std::string_view name, Amount amount, const Range& range, void* out);
template <class T>
void read_object(pybind11::handle given, std::string_view name, T& out) {
  read_object(value_type<T>, given, name, Amount::number, {}, &out);
}

/// Adds those that several questions have.
void add_common_argument_types();

namespace detail {
/// Lines of at most 130 columns, later ones indented.
[[nodiscard]] std::string wrapped(const std::string& head, const std::vector<std::string>& words);
/// "cost() has no seq_len; did you mean sequence?"
[[nodiscard]] std::string no_such(std::string_view function, std::string_view given, const std::vector<std::string_view>& names);
}  // namespace detail

/// The System of Python behind an argument's Machine.
[[nodiscard]] pybind11::object object_of(const fabricost::core::Machine& machine);

/// The object given for each name; null if missing. \param by_place maximum number of positional arguments
/// \throws TypeError for an unknown argument
void place_arguments(std::string_view function, std::span<const std::string_view> names, std::size_t by_place, const pybind11::args& args,
                     const pybind11::kwargs& kwargs, std::span<pybind11::handle> given);

/// A field as an argument: "gpus=16384", "precision=\"fp8\"".
[[nodiscard]] std::string as_argument(std::string_view name, std::string_view value);

/// An argument of a function.
struct Argument {
  const Field* field = nullptr;
  std::string default_text, type;  ///< in Python's notation; in the stub
  bool may_be_none = false;        ///< None selects the default
  bool true_by_default = false;
  Range range{};  ///< of a count, its default too
};
/// The arguments of a request: its fields with a name that are not inside another, those of `by_place` first, then in the order of the
/// table.
[[nodiscard]] std::vector<Argument> arguments_of(std::span<const Field> fields, const void* defaults,
                                                 std::span<const std::string_view> by_place);
template <HasFields Request>
[[nodiscard]] std::vector<Argument> arguments_of() {
  std::span<const std::string_view> by_place;
  if constexpr (requires { Request::by_place; }) by_place = Request::by_place;
  return arguments_of(fields_of<Request>(), &one_of<Request>(), by_place);
}

/// The arguments as numpydoc has them, with type and default; for an argument that is True by default, the meaning of False.
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
[[nodiscard]] std::optional<bool> shows_progress(const Request& request) {
  if constexpr (requires { request.progress; })
    return request.progress;
  else
    return std::nullopt;
}

/// Adds module.function(...), which answers the request.
/// \param given selects the part of the answer that Python gets; by default all of it
template <HasFields Request, class Given = std::identity>
void add_question(pybind11::module_& module, const char* function, std::size_t by_place, const char* words, const char* examples,
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

/// Adds the properties that an answer's table names to a class. \param shift of the answer in an object of the class, in bytes
/// \param members those of members too
void add_properties(pybind11::handle type, std::span<const Field> fields, std::size_t shift, bool members);
template <HasFields Answer, class Class>
[[nodiscard]] std::size_t shift_of() {
  const Class& object = one_of<Class>();
  return static_cast<std::size_t>(reinterpret_cast<const char*>(static_cast<const Answer*>(&object)) -
                                  reinterpret_cast<const char*>(&object));
}

/// A value without a class of its own in Python: a dict with the names of its table.
[[nodiscard]] pybind11::dict dict_of(std::span<const Field> fields, const void* answer);
template <HasFields Answer>
[[nodiscard]] pybind11::dict dict_of(const Answer& answer) {
  return dict_of(fields_of<Answer>(), &answer);
}

/// Names of a table as --json has them, where they differ from Python's.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>> names_in_json(std::span<const Field> fields);
/// Intervals of a table whose ends have no names of their own, and whether they may be missing: interval_seconds has low_seconds and
/// high_seconds.
[[nodiscard]] std::vector<std::pair<std::string_view, bool>> intervals_of(std::span<const Field> fields);

/// The answer as a class with properties only. \tparam Class of Python, if it is derived from Answer
template <HasFields Answer, class Class = Answer>
PyClass<Class> add_report(pybind11::module_& module, const char* name, const char* words) {
  PyClass<Class> type(module, name, words);
  const std::span<const Field> fields = fields_of<Answer>();
  add_properties(type, fields, shift_of<Answer, Class>(), true);
  std::vector<const char*> names;
  for (const Field& field : fields)
    if (!field.name.empty()) names.push_back(field.name.data());
  add_to_dict(type, std::move(names));
  add_ends(type, intervals_of(fields));
  hint_at_names(type, names_in_json(fields));
  return type;
}

/// The members that a table lists, with their names in Python; to_dict has rows without one under their name in JSON. What a search took is
/// no part of ==.
[[nodiscard]] Members members_of(std::span<const Field> fields, std::size_t shift);
/// \tparam Class of Python, if it is derived from the struct of the table
template <HasFields Answer, class Class>
[[nodiscard]] Members members_of() {
  return members_of(fields_of<Answer>(), shift_of<Answer, Class>());
}

/// The answer as a record: members with a name in Python are its fields; named functions are computed on
/// demand.
template <HasFields Answer, class Class = Answer>
PyClass<Class> add_answer(pybind11::module_& module, const char* name, const char* words, Members members = members_of<Answer, Class>()) {
  auto type = add_record<Class>(module, name, words, std::move(members));
  const std::span<const Field> fields = fields_of<Answer>();
  add_properties(type, fields, shift_of<Answer, Class>(), false);
  add_ends(type, intervals_of(fields));
  hint_at_names(type, names_in_json(fields));
  return type;
}

/// The answer as a record and a sequence of its rows, which are also a list under their name in JSON: `plans.layouts`.
template <HasFields Answer, class Row>
PyClass<Answer> add_answer_of_rows(pybind11::module_& module, const char* name, const char* words, std::vector<Row> Answer::*rows) {
  Members members = members_of<Answer, Answer>();
  const auto is_rows = [&](const Member& one) { return one.offset == offset_of(rows); };
  if (std::none_of(members.begin(), members.end(), is_rows)) {
    members.push_back(field("", rows, ""));
    members.back().key = "rows";
  }
  const Member listed = *std::find_if(members.begin(), members.end(), is_rows);
  auto type = add_answer<Answer>(module, name, words, std::move(members));
  add_sequence(type, rows);
  if (*listed.name == '\0')
    add_property(
        type, listed.key, "All of them, as a list.",
        [rows](const void* self) { return pybind11::object(pybind11::cast(static_cast<const Answer*>(self)->*rows)); }, type_text<std::vector<Row>>());
  return type;
}

/// What a search found, for what is asked of its answer later. \throws RequestError for an answer that was pickled
template <class Answer>
[[nodiscard]] const auto& found_of(const Answer& answer) {
  if (answer.found == nullptr) throw RequestError("this answer was pickled without its search; ask again where more is wanted of it");
  return *answer.found;
}

/// Rows of equal structs side by side in memory.
struct Rows {
  const void* first;
  std::size_t count, size;
  [[nodiscard]] const void* operator[](std::size_t i) const { return static_cast<const char*>(first) + i * size; }
};
template <class Row>
[[nodiscard]] Rows rows_of(const std::vector<Row>& rows) {
  return {rows.data(), rows.size(), sizeof(Row)};
}
/// One value of every row: numbers as their type has them, texts as an array of them.
[[nodiscard]] pybind11::array column_of(const Field& field, const Rows& rows);
/// Rows as a structured array, with a column per field that has a name in Python: texts, numbers and counts.
[[nodiscard]] pybind11::array record_array(std::span<const Field> fields, const Rows& rows);
template <HasFields Row>
[[nodiscard]] pybind11::array record_array(const std::vector<Row>& rows) {
  return record_array(fields_of<Row>(), rows_of(rows));
}

/// "balanced", "uniform", "zipf:1.2", or a list or an array of the tokens each expert received. \throws TypeError, RequestError naming the
/// argument
[[nodiscard]] inline Routing routing_from(pybind11::handle given, std::string_view argument) {
  if (PyUnicode_Check(given.ptr()) == 0) return {.kind = RoutingKind::histogram, .histogram = reals(given, argument, 0, 1e18)};
  const std::string written = text(given, argument);
  if (const auto found = routing_named(written, argument)) return *found;
  const std::vector<std::string> known{"balanced", "uniform", "zipf:EXPONENT", "a list of tokens by expert"};
  throw RequestError(fmt::format("{}: {}", argument, unknown_text(written, "a routing", known)));
}

/// Words their errors as those of all other calls, and those of classes that nobody makes by hand. Once all of the module is defined.
void reword_refused_calls(pybind11::module_& module);

}  // namespace fabricost::python
