/// Signatures and messages of functions made from fields.

#include "question.hpp"

#include "answers/typed.hpp"
#include "core/operations.hpp"
#include "fields/other_words.hpp"
#include "specs/near_or_all.hpp"
#include "specs/store.hpp"
#include "text/joined.hpp"

#include <fabricost/specs/load.hpp>
#include <fabricost/text/ranges.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <stdexcept>

namespace py = pybind11;

namespace fabricost::python {

std::string as_argument(std::string_view name, std::string_view value) {
  const bool word = !value.empty() && std::islower(static_cast<unsigned char>(value.front())) != 0;
  return std::string{name} + (value.empty() ? "" : "=") + (word ? fmt::format("\"{}\"", value) : std::string{value});
}

void from_object(py::handle given, std::string_view name, const Range& range, Counts& out) {
  if (PyLong_Check(given.ptr()) != 0) {
    if (const int one = whole(given, name, 0, range.max); one > 0) out.values.push_back(one);
  } else if (py::isinstance<py::iterable>(given) && PyUnicode_Check(given.ptr()) == 0 && PyBytes_Check(given.ptr()) == 0) {
    for (const py::handle one : given) out.values.push_back(whole(one, name, range.min, range.max));
  } else {
    throw_type(name, "a whole number or a list of them", given);
  }
}

namespace {

/// Releases the last reference to a System of Python on any thread.
struct LetGo {
  py::object system;
  void operator()(const System*) {
    const py::gil_scoped_acquire held;
    system = {};
  }
};

}  // namespace

void from_object(py::handle given, std::string_view name, const Range&, fabricost::core::Machine& out) {
  if (const auto* const machine = held<Machine>(given)) {
    out = machine->origin.extends;
    out.value = std::shared_ptr<const System>(machine, LetGo{py::reinterpret_borrow<py::object>(given)});
    out.overrides = machine->origin.set;
    out.calibration = machine->origin.calibration;
  } else if (is_path(given)) {
    out = path_of(given, name);
  } else {
    throw_type(name, "a System, or its name or path,", given);
  }
}

py::object object_of(const fabricost::core::Machine& machine) {
  if (machine.value == nullptr) return py::cast(loaded({.extends = machine.name, .set = {}, .calibration = {}}));
  return std::get_deleter<LetGo>(machine.value)->system;
}

void from_object(py::handle given, std::string_view name, const Range&, Operation& out) {
  if (!py::isinstance<OperationRequest>(given)) throw_type(name, "an Operation", given);
  out = given.cast<const OperationRequest&>().one();
}

/// \throws TypeError where a machine stands in the place of another argument
static void check_order(std::string_view function, std::span<const std::string_view> names, const py::args& args) {
  const auto is_system = [](std::string_view name) { return name == "system" || name == "systems"; };
  if (names.empty() || !is_system(names.front())) return;
  for (std::size_t i = 1; i < args.size(); ++i) {
    const py::handle one = args[i];
    const auto* const machine = held<Machine>(one);
    const bool written = PyUnicode_Check(one.ptr()) != 0;
    const std::string name = machine != nullptr ? machine->name : written ? std::string{text_of(one, names[i])} : "";
    if (machine != nullptr || (written && !SpecStore{}.find("systems", name).empty()))
      throw py::type_error(
          fmt::format("{}() takes {} in this order; {} is a machine, given as {}", function, joined(names), name, names[i]));
  }
}

void place_arguments(std::string_view function, std::span<const std::string_view> names, std::size_t by_place, const py::args& args,
                     const py::kwargs& kwargs, std::span<py::handle> given) {
  const std::size_t count = args.size();
  if (count > 0 && names.empty()) throw py::type_error(fmt::format("{}() takes no arguments", function));
  if (count > by_place)
    throw py::type_error(fmt::format("{}() takes {} without a name, not {}; write {}=...", function, by_place, count,
                                     names[std::min(by_place, names.size() - 1)]));
  check_order(function, names.first(by_place), args);
  for (std::size_t i = 0; i < count; ++i) given[i] = PyTuple_GET_ITEM(args.ptr(), static_cast<Py_ssize_t>(i));
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(kwargs.ptr(), &at, &key, &value) != 0;) {
    const std::string_view name = text_of(key, "the name of an argument");
    const auto place = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (place == names.size()) throw py::type_error(detail::no_such(function, name, {names.begin(), names.end()}));
    if (place < count) throw py::type_error(fmt::format("{}() was given {} twice", function, name));
    given[place] = value;
  }
}

std::unordered_map<const ValueType*, ArgumentType>& argument_types() {
  static std::unordered_map<const ValueType*, ArgumentType> all;
  return all;
}

namespace {

[[nodiscard]] const ArgumentType* special(const ValueType& type) {
  const auto found = argument_types().find(&type);
  return found == argument_types().end() ? nullptr : &found->second;
}

/// In Python's notation: None, 1.0, 'default', False, ().
[[nodiscard]] std::string default_text(const ValueType& type, const void* value) {
  if (const ArgumentType* const own = special(type)) return own->default_text == nullptr ? "None" : own->default_text(value);
  switch (type.kind) {
    case ValueKind::flag: return type.number(value) != 0 ? "True" : "False";
    case ValueKind::whole: return fmt::format("{:.0f}", type.number(value));
    case ValueKind::number: return py::repr(py::float_(type.number(value))).cast<std::string>();
    case ValueKind::text: return fmt::format("'{}'", type.text(value));
    case ValueKind::word: return fmt::format("'{}'", type.words[static_cast<std::size_t>(type.number(value))]);
    case ValueKind::optional: return type.count(value) == 0 ? "None" : default_text(*type.inner, type.at(value, 0));
    case ValueKind::list: return "()";
    default: return "None";
  }
}
/// Whether a number may be given as the command has it, "15T", "5%", "500km". Texts of times, sizes and rates are read by the unit that the
/// argument's name ends with.
[[nodiscard]] bool is_read_as_typed(Amount amount) {
  return amount == Amount::large_count || amount == Amount::share || amount == Amount::kilometres;
}
[[nodiscard]] bool takes_text(Amount amount) {
  return is_read_as_typed(amount) || amount == Amount::seconds || amount == Amount::bytes_per_second || amount == Amount::one_way_rate ||
         amount == Amount::size;
}
/// The type of an argument in the stub.
[[nodiscard]] std::string taken_text(const ValueType& type, Amount amount) {
  if (const ArgumentType* const own = special(type)) return std::string{own->taken};
  switch (type.kind) {
    case ValueKind::optional: return taken_text(*type.inner, amount);
    case ValueKind::whole: return amount == Amount::length ? "int | str" : "int";
    case ValueKind::number: return takes_text(amount) ? "float | str" : type_text(type);
    case ValueKind::word: {
      std::string out;
      for (const std::string_view name : type.words) out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", name);
      return "Literal[" + out + "]";
    }
    case ValueKind::list: return type.inner->kind == ValueKind::text ? "Iterable[str]" : "float | Iterable[float] | ArrayLike";
    default: return type_text(type);
  }
}
[[nodiscard]] bool may_be_none(const ValueType& type) {
  if (const ArgumentType* const own = special(type)) return own->none;
  return type.kind == ValueKind::optional;
}

/// One number or many.
void read_numbers(const ValueType& type, py::handle given, std::string_view name, const Range& range, void* out) {
  type.clear(out);
  if (PyNumber_Check(given.ptr()) != 0 && numpy().attr("ndim")(given).cast<int>() == 0)
    type.inner->set_number(type.add(out), real(given, name, range.min, range.max));
  else
    for (const double number : reals(given, name, range.min, range.max)) type.inner->set_number(type.add(out), number);
}
void read_word(const ValueType& type, py::handle given, std::string_view name, void* out) {
  const std::string written = text(given, name);
  if (!type.set_word(out, written)) throw RequestError(fmt::format("{}: {}", name, unknown_text(written, type.what, type.words)));
}
void read_texts(const ValueType& type, py::handle given, std::string_view name, void* out) {
  if (PyUnicode_Check(given.ptr()) != 0) {
    const std::string written = text(given, name);
    for (const std::string_view one : listed(written)) type.inner->set_text(type.add(out), std::string{one});
    return;
  }
  if (!py::isinstance<py::iterable>(given)) throw_type(name, "a list of texts", given);
  for (const py::handle one : given) type.inner->set_text(type.add(out), text(one, name));
}

}  // namespace

void read_object(const ValueType& type, py::handle given, std::string_view name, Amount amount, const Range& range, void* out) {
  if (const ArgumentType* const own = special(type)) return own->read(given, name, range, out);
  switch (type.kind) {
    case ValueKind::flag: return type.set_number(out, flag(given, name) ? 1 : 0);
    case ValueKind::whole: return type.set_number(out, (amount == Amount::length ? length : whole)(given, name, range.min, range.max));
    case ValueKind::number: {
      const bool written = is_read_as_typed(amount) && PyUnicode_Check(given.ptr()) != 0;
      const double number = written ? amount_of(text(given, name), name, amount, range) : real(given, name, range.min, range.max);
      if (!range.holds(number)) refuse_range(name, number, range);
      return type.set_number(out, number);
    }
    case ValueKind::text: return type.set_text(out, text(given, name));
    case ValueKind::word: return read_word(type, given, name, out);
    case ValueKind::optional: return read_object(*type.inner, given, name, amount, range, type.add(out));
    case ValueKind::list:
      if (type.inner->kind == ValueKind::number) return read_numbers(type, given, name, range, out);
      if (type.inner->kind == ValueKind::text) return read_texts(type, given, name, out);
      break;
    default: break;
  }
  throw std::logic_error(fmt::format("{}: no way to read a {}", name, type.id->name()));
}

void from_object(py::handle given, std::string_view name, const Range&, std::filesystem::path& out) { out = path_of(given, name); }
void from_object(py::handle given, std::string_view name, const Range&, OnOff& out) {
  if (PyUnicode_Check(given.ptr()) == 0) {
    out = flag(given, name) ? OnOff::on : OnOff::off;
    return;
  }
  read_word(value_type<OnOff>, given, name, &out);
}
void from_object(py::handle given, std::string_view name, const Range&, NamedModel& out) {
  out = model_from(given, name);
}
void from_object(py::handle given, std::string_view name, const Range&, NamedStack& out) {
  if (PyUnicode_Check(given.ptr()) != 0)
    out = text(given, name);
  else
    out = stack_from(given, name);
}
void from_object(py::handle given, std::string_view name, const Range&, Routing& out) { out = routing_from(given, name); }

void add_common_argument_types() {
  add_argument_type<std::filesystem::path>("_Path", false);
  add_argument_type<OnOff>("bool | Literal[\"on\", \"off\"]", false, [](const void* value) -> std::string {
    return *static_cast<const OnOff*>(value) == OnOff::on ? "True" : "False";
  });
  add_argument_type<Counts>("int | Iterable[int]", false, &no_items);
  add_argument_type<fabricost::core::Machine>("System | _Path");
  add_argument_type<Operation>("Any");
  add_argument_type<NamedModel>("Model | _Path");
  add_argument_type<NamedStack>("Stack | _Path", true, [](const void* value) -> std::string {
    const auto& stack = *static_cast<const NamedStack*>(value);
    return stack ? "'" + stack.name + "'" : "None";
  });
  add_argument_type<Routing>("Any");
  add_argument_type<Inference>("str", true,
                               [](const void* value) { return fmt::format("'{}'", name(static_cast<const Inference*>(value)->library)); });
  add_argument_type<std::vector<Sample>>("_Samples", false, &no_items);
}

std::vector<Argument> arguments_of(std::span<const Field> fields, const void* defaults, std::span<const std::string_view> by_place) {
  std::vector<const Field*> order;
  for (const std::string_view name : by_place)
    for (const Field& field : fields)
      if (field.name == name && !field.inside) order.push_back(&field);
  for (const Field& field : fields)
    if (!field.name.empty() && !field.inside && std::find(by_place.begin(), by_place.end(), field.name) == by_place.end())
      order.push_back(&field);
  std::vector<Argument> out;
  for (const Field* const field : order) {
    const ValueType& type = *field->type;
    const void* const value = field->in(defaults);
    const std::string taken = taken_text(type, field->amount);
    const bool none = may_be_none(type);
    Argument one{.field = field,
                 .default_text = default_text(type, value),
                 .type = taken + (none && !field->needed ? " | None" : ""),
                 .may_be_none = none,
                 .true_by_default = false,
                 .range = field->range};
    one.true_by_default = one.default_text == "True" && taken == "bool";
    if (type.kind == ValueKind::whole) one.range.min = std::min(one.range.min, type.number(value));
    out.push_back(std::move(one));
  }
  return out;
}

void tell_types(const py::module_& module, const char* function, std::span<const Argument> arguments, const std::string& gives) {
  py::dict types;
  for (const Argument& one : arguments) types[one.field->name.data()] = one.type;
  types["return"] = gives;
  module.attr("_types")[function] = types;
}

void read_arguments(std::span<const Argument> arguments, std::string_view function, std::size_t by_place, const py::args& args,
                    const py::kwargs& kwargs, void* request) {
  std::vector<std::string_view> names;
  names.reserve(arguments.size());
  for (const Argument& one : arguments) names.push_back(one.field->name);
  std::vector<py::handle> given(names.size());
  place_arguments(function, names, by_place, args, kwargs, given);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Argument& one = arguments[i];
    const Field& field = *one.field;
    if (given[i] && !(one.may_be_none && given[i].is_none()))
      read_object(*field.type, given[i], field.name, field.amount, one.range, field.in(request));
  }
}

std::string detail::wrapped(const std::string& head, const std::vector<std::string>& words) {
  constexpr std::size_t max = 130;
  std::string out, line = head;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? "," : "");
    if (line.size() + word.size() + 1 > max) {
      out += line + "\n";
      line = "   ";
    }
    line += (i == 0 ? "" : " ") + word;
  }
  return out + line;
}

/// A type as a reader knows it: the aliases of the stub have words.
[[nodiscard]] static std::string type_in_words(std::string type) {
  for (const auto& [alias, words] : {std::pair{std::string_view{"_Path"}, "path"}, {"_Samples", "samples"}})
    for (std::size_t at = type.find(alias); at != std::string::npos; at = type.find(alias)) type.replace(at, alias.size(), words);
  return type;
}

std::string lines_of(std::span<const Argument> arguments) {
  std::string out = arguments.empty() ? "" : "Parameters\n----------\n";
  for (const Argument& one : arguments) {
    std::string words = with_fields(one.field->words, as_argument);
    std::replace(words.begin(), words.end(), '\n', ' ');
    const std::string otherwise = one.field->needed ? "" : one.default_text == "None" ? ", optional" : ", default " + one.default_text;
    out += fmt::format("{} : {}{}\n    {}{}{}\n", one.field->name, type_in_words(one.type), otherwise, one.true_by_default ? "False: " : "", words,
                       words.ends_with('?') ? "" : ".");
  }
  return out;
}

std::string docstring_of(std::span<const Argument> arguments, std::string_view function, std::size_t by_place, std::string_view words,
                         std::string_view examples) {
  std::vector<std::string> signature;
  for (const Argument& one : arguments) {
    if (signature.size() == by_place) signature.emplace_back("*");
    signature.push_back(std::string{one.field->name} + (one.field->needed ? "" : "=" + one.default_text));
  }
  return detail::wrapped(fmt::format("{}(", function), signature) + ")\n--\n\n" + std::string{words} + "\n\n" + lines_of(arguments) +
         "\n" + std::string{examples};
}

namespace {

/// What a word of other tools means here, as on the command line: "dtype" is "precision".
[[nodiscard]] std::vector<std::string> meant(std::string_view given, std::span<const std::string_view> names) {
  const auto with = [](std::string text, char from, char to) {
    std::replace(text.begin(), text.end(), from, to);
    return text;
  };
  std::vector<std::string> options;
  for (const std::string_view name : names) options.push_back("--" + with(std::string{name}, '_', '-'));
  const std::string_view option = option_meant(with(std::string{given}, '_', '-'), options);
  if (option.empty()) return {};
  return {with(std::string{option.substr(2, option.find_first_of(" ,") - 2)}, '-', '_')};
}

/// Names with a word that begins as one of the given name does, or the other way round: "seq_len" is near "sequence", "num_gpus" near
/// "gpus". Those with the fewest further letters come first; at most three.
[[nodiscard]] std::vector<std::string> near_by_words(std::string_view given, std::span<const std::string_view> names) {
  constexpr std::size_t shortest = 3, most = 3;
  const auto each_word = [](std::string_view text, const auto& visit) {
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t end = std::min(text.find('_', from), text.size());
      if (end - from >= shortest) visit(text.substr(from, end - from));
      from = end + 1;
    }
  };
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string_view name : names) {
    std::size_t shared = 0;
    each_word(name, [&](std::string_view own) {
      each_word(given, [&](std::string_view word) {
        if (own.starts_with(word) || word.starts_with(own)) shared = std::max(shared, std::min(own.size(), word.size()));
      });
    });
    if (shared > 0) near.emplace_back(name.size() - shared, name);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(near.size(), most); ++i) out.push_back(near[i].second);
  return out;
}

}  // namespace

std::string detail::no_such(std::string_view function, std::string_view given, const std::vector<std::string_view>& names) {
  if (function.starts_with('_')) function.remove_prefix(1);  // _explore stands behind explore
  constexpr std::array of_operations{"size", "bytes", "ranks", "gpus", "nodes", "dtype"};
  if ((function == "predict" || function == "explain") &&
      std::find(of_operations.begin(), of_operations.end(), given) != of_operations.end())
    return fmt::format("{}() has no {}; it is of the operation, as in AllReduce(bytes=2**28, ranks=16)", function, given);
  constexpr std::array<std::array<std::string_view, 3>, 5> elsewhere{{{"plan", "sensitivity", "it is Plans.sensitivity of the answer"},
                                                                     {"plan", "pareto", "it is Plans.pareto of the answer"},
                                                                     {"plan", "explain", "it is Plans.explanation of the answer"},
                                                                     {"compare", "tokens", "project takes whole runs: fabricost.project(systems, model, tokens=15e12, ...)"},
                                                                     {"compare", "own_prices", "here it is prices, a dict"}}};
  for (const auto& [asked, name, words] : elsewhere)
    if (function == asked && given == name) return fmt::format("{}() has no {}; {}", function, given, words);
  std::vector<std::string> near = meant(given, names);
  if (const std::string several = std::string{given} + "s"; std::find(names.begin(), names.end(), several) != names.end())
    near.insert(near.begin(), several);  // gpu: how many, or which
  if (near.empty()) near = near_names(given, std::vector<std::string>(names.begin(), names.end()));
  if (near.empty()) near = near_by_words(given, names);
  constexpr std::size_t read_at_once = 25;
  const std::string all = names.size() > read_at_once ? fmt::format("help(fabricost.{}) lists the {} that it takes", function, names.size())
                                                      : fmt::format("it takes {}", joined(names));
  constexpr std::array<std::string_view, 3> units{"_seconds", "_bytes", "_bytes_per_second"};
  const bool lacks_unit = std::any_of(units.begin(), units.end(), [&](std::string_view unit) {
    return !near.empty() && near.front() == std::string{given} + std::string{unit};
  });
  return fmt::format("{}() has no {}; {}{}", function, given, did_you_mean(near, all), lacks_unit ? " Names end with their unit" : "");
}

void add_properties(py::handle type, std::span<const Field> fields, std::size_t shift, bool members) {
  for (const Field& field : fields)
    if (!field.name.empty() && (members || !field.is_member()))
      add_property(
          type, field.name.data(), field.words.data(),
          [&field, shift](const void* self) { return object_of(*field.type, field.value(static_cast<const char*>(self) + shift).get()); },
          type_text(*field.type));
}

py::dict dict_of(std::span<const Field> fields, const void* answer) {
  py::dict out;
  for (const Field& field : fields)
    if (!field.name.empty()) out[field.name.data()] = object_of(*field.type, field.value(answer).get());
  return out;
}

std::vector<std::pair<std::string_view, std::string_view>> names_in_json(std::span<const Field> fields) {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for (const Field& field : fields) {
    std::string_view json = field.json;
    if (json.ends_with("[]")) json.remove_suffix(2);
    json = json.substr(json.rfind('.') + 1);
    if (!field.name.empty() && !json.empty() && json != field.name) out.emplace_back(json, field.name);
  }
  return out;
}

std::vector<std::pair<std::string_view, bool>> intervals_of(std::span<const Field> fields) {
  std::vector<std::pair<std::string_view, bool>> out;
  bool named = false;
  for (const Field& field : fields) {
    const bool optional = field.type->kind == ValueKind::optional;
    const ValueType& type = field.type->bare();
    if (type.kind == ValueKind::pair && type.inner->kind == ValueKind::number && type.second->kind == ValueKind::number &&
        field.name.starts_with("interval"))
      out.emplace_back(field.name, optional);
    named = named || field.name == "low_seconds";
  }
  if (named) std::erase_if(out, [](const auto& one) { return one.first == "interval_seconds"; });
  return out;
}

Members members_of(std::span<const Field> fields, std::size_t shift) {
  Members out;
  for (const Field& field : fields) {
    if (!field.is_member()) continue;
    Member one{field.name.data(), field.words.data(), shift + field.offset, field.type};
    const ValueType& type = *field.type;
    const bool rows = (type.kind == ValueKind::list || type.kind == ValueKind::optional) && type.inner->kind == ValueKind::record;
    if (rows && field.name.empty()) one.key = field.json.data();
    // threads that search side by side leave out more or less of what cannot be among the best
    one.compared = field.name != "search_seconds" && field.name != "evaluated" && field.name != "pruned";
    out.push_back(one);
  }
  return out;
}

namespace {
template <class T>
[[nodiscard]] py::array numbers_of(const Field& field, const Rows& rows) {
  py::array_t<T> out(static_cast<py::ssize_t>(rows.count));
  for (std::size_t i = 0; i < rows.count; ++i) out.mutable_data()[i] = static_cast<T>(field.type->number(field.value(rows[i]).get()));
  return out;
}
}  // namespace

py::array column_of(const Field& field, const Rows& rows) {
  if (field.type->kind == ValueKind::flag) return numbers_of<bool>(field, rows);
  if (field.type->kind == ValueKind::number) return numbers_of<double>(field, rows);
  if (field.type->kind == ValueKind::whole)
    return is_type<int>(*field.type) ? numbers_of<int>(field, rows) : numbers_of<std::int64_t>(field, rows);
  std::vector<std::shared_ptr<const void>> kept;
  std::vector<std::string_view> texts;
  for (std::size_t i = 0; i < rows.count; ++i) texts.push_back(field.type->text(kept.emplace_back(field.value(rows[i])).get()));
  return text_column(texts);
}

py::array record_array(std::span<const Field> fields, const Rows& rows) {
  std::vector<std::pair<const char*, py::array>> columns;
  for (const Field& field : fields)
    if (!field.name.empty()) columns.emplace_back(field.name.data(), column_of(field, rows));
  return structured(columns);
}

}  // namespace fabricost::python
