/// \file errors.cpp
/// Converts C++ exceptions to Python ones with the same attributes.

#include "bindings.hpp"
#include "question.hpp"
#include "plain.hpp"

#include <text/plain_text.hpp>

#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/refusal.hpp>

#include <pybind11/stl.h>

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
                                "'limits' where it fits but keeps no limit on time, and 'request' for everything else.",
                                error_type);
  py::reinterpret_borrow<py::object>(request_error_type).attr("reason") = "request";
  spec_error_type = new_type(
      module, "SpecError",
      "Faults of input files, all at once: `issues` is a list of Issue; `file`, `line` and `column` are those of the first.", error_type);
  warning_type = new_type(module, "FabricostWarning",
                          "An answer that should be read with care: measurements that speak against themselves.", PyExc_UserWarning);
  py::register_exception_translator(&translate);
}

}  // namespace fabricost::python
