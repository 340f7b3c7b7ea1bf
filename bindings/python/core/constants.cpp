/// \file constants.cpp
/// fc.constants: the constants of the model on a machine, and how a fit treats each.

#include "bindings.hpp"
#include "question.hpp"

#include <fabricost/answers/constants.hpp>
#include <fabricost/explain/assumptions.hpp>

namespace py = pybind11;

namespace fabricost::python {

void add_constants(py::module_& module) {
  using A = ConstantsAnswer;
  add_answer<ListedConstant>(module, "ListedConstant", "One constant: its value, and how a fit treats it.")
      .def("__repr__", [](const ListedConstant& c) { return fmt::format("{} {}: {:.4g}, {}", c.set, c.name, c.value, c.fit); });
  add_answer<ListedSet>(module, "ListedSet", "A set of constants, and where its values are from.").def("__repr__", [](const ListedSet& s) {
    return fmt::format("{}: {} ({})", s.name, s.calibration, s.basis);
  });
  add_answer_of_rows<A>(module, "Constants", "The constants of the model: a row each. Made by constants.", &A::constants)
      .def("__repr__", [](const A& a) {
        return fmt::format("<Constants of {}: {}>", a.system.empty() ? "no machine" : a.system,
                           counted(static_cast<double>(a.constants.size()), "constant"));
      });
  add_question<ConstantsRequest>(module, "constants", 1,
                             R"(Every constant of the model: its value on a machine, its value where nothing was measured, and how a fit
treats it: Constants.)",
                             R"(>>> import fabricost as fc
>>> [c.fit for c in fc.constants("dgx-h100", only="scale_up") if c.name in ("ll.hop", "ll.reduce")]
['own', 'held']
)");
}

}  // namespace fabricost::python
