/// \file refused.cpp
/// Calls that pybind11 refuses before any code of ours runs, in the words of all others: no such argument, one missing, one too many.

#include "question.hpp"
#include "refused.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace py = pybind11;

namespace fabricost::python {
namespace {

/// Changes the error that is set, if it is pybind11's own (fabricost/_refused.py). \param placed arguments without a name, self included
/// \param named names of the others \param given types of all
void reword(std::size_t placed, const std::vector<std::string>& named, const std::vector<std::string>& given) {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return;
  py::error_already_set error;
  try {
    const std::string message = py::str(error.value());
    if (message.find("(): incompatible ") != std::string::npos)
      return PyErr_SetString(PyExc_TypeError, by_python("_refused", "reworded", message, placed, named, given).cast<std::string>().c_str());
  } catch (const py::error_already_set&) {  // where it has no other words it keeps its own
  }
  error.restore();
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

void reword_refused_calls(py::module_& module) {
  module.def("_unknown", [](const std::string& given, const std::string& what, const std::vector<std::string>& names) {
    return unknown_text(given, what, names);
  });
  module.def("_no_such", [](const std::string& function, const std::string& given, const std::vector<std::string>& names) {
    return detail::no_such(function, given, {names.begin(), names.end()});
  });
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
