/// \file face.cpp
/// Signatures and messages of functions made from fields.

#include "face.hpp"

#include "collectives/operations.hpp"

#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace py = pybind11;

namespace fabricost::python {

std::string as_argument(std::string_view name, std::string_view value) {
  const bool word = !value.empty() && std::islower(static_cast<unsigned char>(value.front())) != 0;
  return std::string{name} + (value.empty() ? "" : "=") + (word ? fmt::format("\"{}\"", value) : std::string{value});
}

void detail::from_object(py::handle given, std::string_view name, const Range& range, Counts& out) {
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

void detail::from_object(py::handle given, std::string_view name, const Range&, fabricost::Machine& out) {
  if (const auto* const machine = held<Machine>(given))
    out = {machine->origin.extends, std::shared_ptr<const System>(machine, LetGo{py::reinterpret_borrow<py::object>(given)}),
           machine->origin.set, machine->origin.calibration};
  else if (is_path(given))
    out = {path_of(given, name), nullptr};
  else
    throw_type(name, "a System, or its name or path,", given);
}

py::object object_of(const fabricost::Machine& machine) {
  if (machine.value == nullptr) return py::cast(loaded({.extends = machine.name, .set = {}, .calibration = {}}));
  return std::get_deleter<LetGo>(machine.value)->system;
}

void detail::from_object(py::handle given, std::string_view name, const Range&, Operation& out) {
  if (!py::isinstance<OperationRequest>(given)) throw_type(name, "an Operation", given);
  out = given.cast<const OperationRequest&>().one();
}

void place_arguments(std::string_view function, std::span<const std::string_view> names, std::size_t by_place, const py::args& args,
                     const py::kwargs& kwargs, std::span<py::handle> given) {
  const std::size_t count = args.size();
  if (count > 0 && names.empty()) throw py::type_error(fmt::format("{}() takes no arguments", function));
  if (count > by_place)
    throw py::type_error(fmt::format("{}() takes {} without a name, not {}; write {}=...", function, by_place, count,
                                     names[std::min(by_place, names.size() - 1)]));
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

void add_argument(std::vector<Argument>& out, std::string_view name, std::string_view words, bool needed, const Range& range,
                  const void* request, const void* value, const ArgumentType& type) {
  const std::string written = type.default_text(value);
  Argument argument{name,    words,
                    written, type.taken() + (type.may_be_none && !needed ? " | None" : ""),
                    needed,  written == "True" && type.taken() == "bool",
                    range,   0,
                    &type};
  argument.offset = static_cast<std::size_t>(static_cast<const char*>(value) - static_cast<const char*>(request));
  if (const int* const count = type.count(value)) argument.range.min = std::min<double>(range.min, *count);
  out.push_back(std::move(argument));
}

void tell_types(const py::module_& module, const char* function, std::span<const Argument> arguments, const std::string& gives) {
  py::dict types;
  for (const Argument& one : arguments) types[one.name.data()] = one.type;
  types["return"] = gives;
  module.attr("_types")[function] = types;
}

void read_arguments(std::span<const Argument> arguments, std::string_view function, std::size_t by_place, const py::args& args,
                    const py::kwargs& kwargs, void* request) {
  std::vector<std::string_view> names;
  names.reserve(arguments.size());
  for (const Argument& one : arguments) names.push_back(one.name);
  std::vector<py::handle> given(names.size());
  place_arguments(function, names, by_place, args, kwargs, given);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Argument& one = arguments[i];
    if (given[i] && !(one.of->may_be_none && given[i].is_none()))
      one.of->read(given[i], one.name, one.range, static_cast<char*>(request) + one.offset);
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

std::string lines_of(std::span<const Argument> arguments) {
  std::string out;
  for (const Argument& one : arguments) {
    std::string words = with_fields(one.words, as_argument);
    std::replace(words.begin(), words.end(), '\n', ' ');
    out += fmt::format("{}: {}{}{}\n", one.name, one.true_by_default ? "False: " : "", words, words.ends_with('?') ? "" : ".");
  }
  return out;
}

std::string docstring_of(std::span<const Argument> arguments, std::string_view function, std::size_t by_place, std::string_view words,
                         std::string_view examples) {
  std::vector<std::string> signature;
  for (const Argument& one : arguments) {
    if (signature.size() == by_place) signature.emplace_back("*");
    signature.push_back(std::string{one.name} + (one.needed ? "" : "=" + one.default_text));
  }
  return detail::wrapped(fmt::format("{}(", function), signature) + ")\n--\n\n" + std::string{words} + "\n\n" + lines_of(arguments) +
         "\n" + std::string{examples};
}

namespace {

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
  std::vector<std::string> near = near_names(given, std::vector<std::string>(names.begin(), names.end()));
  if (near.empty()) near = near_by_words(given, names);
  return near.empty() ? fmt::format("{}() has no {}; it takes {}", function, given, fmt::join(names, ", "))
                      : fmt::format("{}() has no {}; did you mean {}?", function, given, fmt::join(near, " or "));
}

}  // namespace fabricost::python
