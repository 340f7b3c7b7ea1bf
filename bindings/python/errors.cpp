/// Converts C++ exceptions to Python ones with the same attributes, and words calls that pybind11 refuses before any code of ours runs as
/// all others: no such argument, one missing, one too many.

#include "bindings.hpp"
#include "plain.hpp"
#include "question.hpp"
#include "text/plain_text.hpp"

#include <fabricost/error.hpp>
#include <fabricost/plan/economics/unmet.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <string>
#include <string_view>
#include <vector>

namespace py = pybind11;

namespace fabricost::python {
namespace {

// They live as long as the process, since exceptions may be raised until its end.
PyObject* error_type = nullptr;
PyObject* request_error_type = nullptr;
PyObject* spec_error_type = nullptr;
PyObject* warning_type = nullptr;

[[nodiscard]] PyObject* new_type(py::module_& module, const char* name, const char* doc, PyObject* base) {
  PyObject* const type = PyErr_NewExceptionWithDoc((std::string{"fabricost."} + name).c_str(), doc, base, nullptr);
  if (type == nullptr) throw py::error_already_set();
  module.add_object(name, py::reinterpret_borrow<py::object>(type));
  return type;
}

void raise_with_text(PyObject* type, std::string_view message) {
  PyErr_SetObject(type, text_object(brief_text(std::string{message})).ptr());
}

void raise(const SpecError& error) {
  const py::object instance = py::reinterpret_borrow<py::object>(spec_error_type)(text_object(error.text(as_argument)));
  std::vector<Issue> issues = error.issues();
  for (Issue& issue : issues) issue.remedy = with_fields(issue.remedy, as_argument);
  instance.attr("issues") = py::cast(issues);
  const Issue first = issues.empty() ? Issue{} : issues.front();
  instance.attr("file") = first.file;
  instance.attr("line") = first.line;
  instance.attr("column") = first.column;
  PyErr_SetObject(spec_error_type, instance.ptr());
}

void raise_request(const char* message, std::string_view reason) {
  const py::object instance = py::reinterpret_borrow<py::object>(request_error_type)(text_object(message));
  instance.attr("reason") = reason;
  PyErr_SetObject(request_error_type, instance.ptr());
}

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const SpecError& error) {
    raise(error);
  } catch (const UnmetError& error) {
    raise_request(error.what(), name(error.why()));
  } catch (const Refusal& error) {
    raise_with_text(request_error_type, with_fields(error.text(), as_argument));
  } catch (const RequestError& error) {
    raise_with_text(request_error_type, error.what());
  } catch (const Error& error) {
    raise_with_text(error_type, error.what());
  }
}

}  // namespace

void warn(const std::string& message) {
  if (PyErr_WarnEx(warning_type, py::str(text_object(message)).cast<std::string>().c_str(), 1) != 0) throw py::error_already_set();
}

void add_errors(py::module_& module) {
  PyClass<Issue> type(module, "Issue", "One fault of an input file.");
  type.property("file", &Issue::file, "Path of the file.")
      .property("line", &Issue::line, "Line, counted from 1; 0 when the whole file is meant.")
      .property("column", &Issue::column, "Column, counted from 1.")
      .property("path", &Issue::path, "Where the value is inside the document, as in `tiers[0].bandwidth`; may be empty.")
      .property("message", &Issue::message, "What is wrong, with the value.")
      .property("remedy", &Issue::remedy, "What to write instead; may be empty.")
      .def("__str__", [](const Issue& issue) { return issue.text(); })
      .def("__repr__", [](const Issue& issue) {
        return "Issue(" + issue.file + ":" + std::to_string(issue.line) + ":" + std::to_string(issue.column) + ": " + issue.message + ")";
      });
  add_value_semantics(type);
  error_type =
      new_type(module, "Error", "Anything the caller can mend: a wrong file, a wrong number, an impossible question.", PyExc_ValueError);
  request_error_type = new_type(module, "RequestError",
                                "A question the machine or the model cannot answer: an unknown name, ranks that do not fit, an algorithm\n"
                                "that does not exist for the operation. `reason` is 'memory' where a plan could be but does not fit,\n"
                                "'limits' where it fits but misses the limits on time, and 'request' for everything else.",
                                error_type);
  py::reinterpret_borrow<py::object>(request_error_type).attr("reason") = "request";
  spec_error_type = new_type(
      module, "SpecError",
      "Faults of input files, all at once: `issues` is a list of Issue; `file`, `line` and `column` are those of the first.", error_type);
  warning_type = new_type(module, "FabricostWarning",
                          "An answer that should be read with care: measurements that speak against themselves.", PyExc_UserWarning);
  py::register_exception_translator(&translate);
}

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
