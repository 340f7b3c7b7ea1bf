/// The Python module, with all parts of bindings.hpp; fabricost/__init__.py exports its names.

#include "bindings.hpp"
#include "question.hpp"

#include "text/amounts.hpp"

#include <fabricost/text/quantity.hpp>
#include <fabricost/version.hpp>

#include <fmt/format.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {

/// For an object without initialisation (`cls.__new__(cls)`), pybind11 allocates uninitialised memory on
/// first access, and reading it crashes. This function replaces that allocation.
[[nodiscard]] void* refuse_uninitialised(std::size_t /*size*/) {
  throw pybind11::type_error("this object was made by __new__ alone and holds nothing; make it as the documentation of its class says");
}

/// Applies this to every class of the module.
void refuse_uninitialised_objects(const pybind11::module_& module) {
  const pybind11::dict names = module.attr("__dict__");
  for (const auto& [name, thing] : names) {
    if (PyType_Check(thing.ptr()) == 0) continue;
    auto* const type = reinterpret_cast<PyTypeObject*>(thing.ptr());
    const auto& known = pybind11::detail::get_internals().registered_types_py;
    if (known.find(type) != known.end()) pybind11::detail::get_type_info(type)->operator_new = &refuse_uninitialised;
  }
}

/// repr() of classes with to_dict and none of their own: their numbers and texts.
void add_reprs(const pybind11::module_& module) {
  namespace py = pybind11;
  for (const auto& [name, thing] : py::dict(module.attr("__dict__"))) {
    if (PyType_Check(thing.ptr()) == 0) continue;
    const py::object type = py::reinterpret_borrow<py::object>(thing), own = type.attr("__dict__");
    if (!own.contains("to_dict") || own.contains("__repr__")) continue;
    const py::cpp_function repr(
        [name = name.cast<std::string>()](const py::object& self) {
          std::string out;
          for (const auto& [key, value] : self.attr("to_dict")().cast<py::dict>()) {
            const bool number = py::isinstance<py::float_>(value);
            if (!number && !py::isinstance<py::int_>(value) && !py::isinstance<py::str>(value)) continue;
            out += fmt::format("{}{}={}", out.empty() ? "" : ", ", key.cast<std::string>(),
                               number ? fmt::format("{:.4g}", value.cast<double>()) : py::repr(value).cast<std::string>());
          }
          return fmt::format("{}({})", name, out);
        },
        py::name("__repr__"), py::is_method(type));
    py::setattr(type, "__repr__", repr);
  }
}

/// Parsers of amounts, for arguments with units (_given.py) and the package's own command.
void add_amounts(pybind11::module_& module) {
  using namespace fabricost::core;
  const auto read = [&module](const char* name, auto&& parse) {
    module.def(name, [parse](const pybind11::object& text, const std::string& option) {
      return parse(std::string{fabricost::python::text_of(text, option)}, option);
    });
  };
  read("_size_of", [](const std::string& text, const std::string& option) { return size_of(text, option).value(); });
  read("_sizes_of", [](const std::string& text, const std::string& option) {
    std::vector<double> out;
    for (const Bytes& size : sizes_of(text, option)) out.push_back(size.value());
    return out;
  });
  read("_seconds_of", [](const std::string& text, const std::string& option) { return duration_of(text, option); });
  read("_rate_of", [](const std::string& text, const std::string& option) { return one_way_rate_of(text, option); });
  module.def("_size_text", [](double bytes) { return size_text(Bytes::from_value(bytes)); });
  module.def("_seconds_text", [](double seconds) { return time_text(Time::from_value(seconds)); });
  module.def("_rate_text", [](double rate) { return rate_text(Bandwidth::from_value(rate)); });
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  // Docstrings start with a readable signature, which inspect.signature also parses.
  pybind11::options options;
  options.disable_function_signatures();
  module.doc() = "Compiled part of fabricost.";
  module.attr("__version__") = FABRICOST_VERSION;
  module.attr("_types") = pybind11::dict();  // of arguments and answers, for the stub (stub.py)
  using namespace fabricost::python;
  add_amounts(module);
  add_common_argument_types();
#define FABRICOST_ADD(name) add_##name(module);
  FABRICOST_PARTS(FABRICOST_ADD)
#undef FABRICOST_ADD
  add_reprs(module);
  refuse_uninitialised_objects(module);
  reword_refused_calls(module);
  pybind11::list names;
  for (const auto& [name, thing] : pybind11::dict(module.attr("__dict__")))
    if (!name.cast<std::string>().starts_with('_')) names.append(name);
  module.attr("__all__") = names;  // what the package offers of it
}
