/// \file refused.cpp
/// Calls that pybind11 refuses before any code of ours runs, in the words of all others: no such argument, one missing, one too many.

#include "face.hpp"
#include "refused.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace fabricost::python {
namespace {

constexpr std::string_view mark = "(): incompatible ";

/// The arguments that a signature of pybind11's message names: "1. (self: T, path: object = '') -> U", of a
/// constructor "1. fabricost._core.T(path: object = '')". `needed` of them have no default.
struct Signature {
  std::vector<std::string_view> names, types;
  std::size_t needed = 0;
  bool by_name = false;  ///< it takes others by any name
};
[[nodiscard]] Signature signature_of(std::string_view message, std::string_view number = "1. ") {
  Signature out;
  std::size_t at = message.find(number);
  if (at == std::string_view::npos) return out;
  at = std::min(message.find('(', at), message.size() - 1) + 1;
  out.by_name = message.substr(at, message.find('\n', at) - at).find("**") != std::string_view::npos;
  int depth = 0;
  bool quoted = false, named = false;
  for (std::size_t start = at; at < message.size(); ++at) {
    const char c = message[at];
    if (c == '\'') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (depth > 0) {
      depth -= c == ')' || c == ']' || c == '}';
      continue;
    }
    if (c == ':' && !named) {
      std::string_view name = message.substr(start, at - start);
      name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
      out.names.push_back(name);
      named = true;
      ++out.needed;
    }
    if (named && out.types.size() < out.names.size() && (c == '=' || c == ',' || c == ')')) {
      const std::size_t from = static_cast<std::size_t>(out.names.back().data() + out.names.back().size() + 2 - message.data());
      out.types.push_back(message.substr(from, at - from - (c == '=' ? 1 : 0)));
    }
    if (c == '=' && named) out.needed = std::min(out.needed, out.names.size() - 1);
    if (c == ',') named = false, start = at + 1;
    if (c == ')') break;
  }
  return out;
}

/// A type as users write it: "int" for "typing.SupportsInt | typing.SupportsIndex", "System" for "fabricost._core.System".
[[nodiscard]] std::string plain_type(std::string_view type) {
  std::string out(type);
  for (const auto& [compiled, written] : {std::pair<std::string_view, std::string_view>{"typing.SupportsInt | typing.SupportsIndex", "int"},
                                          {"typing.SupportsFloat | typing.SupportsIndex", "float"},
                                          {"typing.SupportsInt", "int"},
                                          {"typing.SupportsFloat", "float"},
                                          {"collections.abc.", ""},
                                          {"fabricost._core.", ""}})
    for (std::size_t at = out.find(compiled); at != std::string::npos; at = out.find(compiled)) out.replace(at, compiled.size(), written);
  return out;
}

/// What the values were to be, for all signatures: "an argument of another type than place: int or place: slice".
[[nodiscard]] std::string wanted(std::string_view message) {
  std::string out;
  for (int number = 1;; ++number) {
    const Signature one = signature_of(message, fmt::format("\n    {}. ", number));
    if (one.names.empty()) return out;
    std::string takes;
    for (std::size_t i = 0; i < std::min(one.names.size(), one.types.size()); ++i)
      if (one.names[i] != "self") takes += fmt::format("{}{}: {}", takes.empty() ? "" : ", ", one.names[i], plain_type(one.types[i]));
    if (!takes.empty()) out += (out.empty() ? "" : " or ") + takes;
  }
}

/// \param placed arguments without a name, self included; \param named names of the others; \param given types of all but self
[[nodiscard]] std::string reworded(std::string_view message, std::size_t placed, const std::vector<std::string>& named,
                                   const std::vector<std::string>& given) {
  std::string function{message.substr(0, message.find(mark))};
  Signature asked = signature_of(message);
  const bool makes = function == "__init__", method = !asked.names.empty() && asked.names.front() == "self";
  if (makes) {
    const std::size_t from = std::min(message.find("1. ") + 3, message.size());
    function = plain_type(message.substr(from, message.find('(', from) - from));
  }
  if (method) {
    asked.names.erase(asked.names.begin());
    asked.needed -= asked.needed > 0;
  }
  if (makes || method) placed -= placed > 0;
  if (asked.names.empty()) return fmt::format("{}() takes {}", function, asked.by_name ? "no argument without its name" : "no arguments");
  for (const std::string& name : named) {
    const auto place = static_cast<std::size_t>(std::find(asked.names.begin(), asked.names.end(), name) - asked.names.begin());
    if (place == asked.names.size()) detail::throw_no_such(function, name, asked.names);
    if (place < placed) return fmt::format("{}() was given {} twice", function, name);
  }
  if (const std::size_t most = asked.names.size(); placed > most)
    return fmt::format("{}() takes {} argument{}, not {}", function, most, most == 1 ? "" : "s", placed);
  for (std::size_t i = placed; i < asked.needed; ++i)
    if (std::find(named.begin(), named.end(), asked.names[i]) == named.end())
      return fmt::format("{}() needs {}", function, asked.names[i]);
  const std::vector<std::string> values(given.begin() + (makes || method ? 1 : 0), given.end());
  return fmt::format("{} takes {}, not {}", function == "__getitem__" ? "[]" : function + "()", wanted(message),
                     plain_type(fmt::format("{}", fmt::join(values, ", "))));
}

/// Changes the error that is set, if it is pybind11's own.
void reword(std::size_t placed, const std::vector<std::string>& named, const std::vector<std::string>& given) {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const py::object text = py::reinterpret_steal<py::object>(value == nullptr ? nullptr : PyObject_Str(value));
  const char* const message = text ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  if (message == nullptr || std::string_view{message}.find(mark) == std::string_view::npos) {
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return;
  }
  std::string words;
  try {
    words = reworded(message, placed, named, given);
  } catch (const py::type_error& error) {
    words = error.what();
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  PyErr_SetString(PyExc_TypeError, words.c_str());
}

[[nodiscard]] std::string name_in(PyObject* key) {
  const char* const text = PyUnicode_AsUTF8(key);
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? "?" : text;
}

// pybind11 calls all its functions through one of its own, whose convention depends on its version.
_PyCFunctionFastWithKeywords fast = nullptr;
PyCFunctionWithKeywords plain = nullptr;

PyObject* fast_reworded(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  PyObject* const out = fast(self, args, count, names);
  if (out == nullptr) {
    const auto placed = PyVectorcall_NARGS(static_cast<std::size_t>(count));
    std::vector<std::string> named, given;
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) named.push_back(name_in(PyTuple_GET_ITEM(names, i)));
    for (Py_ssize_t i = 0; i < placed + static_cast<Py_ssize_t>(named.size()); ++i) given.emplace_back(Py_TYPE(args[i])->tp_name);
    reword(static_cast<std::size_t>(placed), named, given);
  }
  return out;
}

PyObject* plain_reworded(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* const out = plain(self, args, kwargs);
  if (out == nullptr) {
    std::vector<std::string> named, given;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) given.emplace_back(Py_TYPE(PyTuple_GET_ITEM(args, i))->tp_name);
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; kwargs != nullptr && PyDict_Next(kwargs, &at, &key, &value) != 0;) {
      named.push_back(name_in(key));
      given.emplace_back(Py_TYPE(value)->tp_name);
    }
    reword(static_cast<std::size_t>(PyTuple_GET_SIZE(args)), named, given);
  }
  return out;
}

void reword_function(py::handle function) {
  if (function && PyInstanceMethod_Check(function.ptr())) function = PyInstanceMethod_GET_FUNCTION(function.ptr());
  if (!function || PyCFunction_Check(function.ptr()) == 0) return;
  PyMethodDef* const method = reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml;
  void (*const theirs)() = reinterpret_cast<void (*)()>(method->ml_meth);
  if (method->ml_flags == (METH_FASTCALL | METH_KEYWORDS)) {
    const auto called = reinterpret_cast<_PyCFunctionFastWithKeywords>(theirs);
    if (fast == nullptr) fast = called;
    if (called == fast) method->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&fast_reworded));
  } else if (method->ml_flags == (METH_VARARGS | METH_KEYWORDS)) {
    const auto called = reinterpret_cast<PyCFunctionWithKeywords>(theirs);
    if (plain == nullptr) plain = called;
    if (called == plain) method->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&plain_reworded));
  }
}

int refuse_to_make(PyObject* self, PyObject* /*args*/, PyObject* /*kwargs*/) {
  const std::string_view name = Py_TYPE(self)->tp_name;
  const std::size_t last = name.rfind('.');
  PyErr_SetString(PyExc_TypeError, fmt::format("{} is not made by hand; functions of fabricost answer with it",
                                               last == std::string_view::npos ? name : name.substr(last + 1))
                                       .c_str());
  return -1;
}

}  // namespace

void reword_refused_calls(const py::module_& module) {
  for (const auto& [name, thing] : py::dict(module.attr("__dict__"))) {
    reword_function(thing);
    if (PyType_Check(thing.ptr()) == 0 || PyExceptionClass_Check(thing.ptr())) continue;
    const py::dict own(thing.attr("__dict__"));
    for (const auto& [key, member] : own) reword_function(member);
    auto* const type = reinterpret_cast<PyTypeObject*>(thing.ptr());
    const bool bare = type->tp_init == reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base)->tp_init;
    if (bare) type->tp_init = &refuse_to_make;
  }
}

}  // namespace fabricost::python
