/// The answer to one request: time, pair that ran, terms that sum to the time, bottleneck, certainty;
/// and the explanation as text.

#include "answers/verdict.hpp"
#include "bindings.hpp"
#include "core/operations.hpp"
#include "core/prediction_fields.hpp"
#include "plain.hpp"
#include "question.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/explain/explain.hpp>
#include <fabricost/pictures/picture.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::core {

// Found by fields.hpp.
static void pass_fields(python::FieldStream& stream, PredictAnswer& answer) {
  python::pass(stream, static_cast<Prediction&>(answer), answer.system, answer.assumed, answer.norm, answer.upgrade);
}

}  // namespace fabricost::core

namespace fabricost::python {
namespace {

void add_term(py::module_& module) {
  auto type = add_report<Term>(module, "Term", "One contribution to a predicted time.");
  type.def("__repr__", [](const Term& t) { return fmt::format("{} ({}): {:.4g} us", t.name.view(), t.tier.view(), t.time.value() * 1e6); });
  add_value_semantics(type);
}

}  // namespace

void add_prediction(py::module_& module) {
  add_term(module);
  using P = PredictAnswer;
  auto type =
      add_report<P>(module, "Prediction", "How long, what ran, the terms that sum to the time, what binds and how sure. str() is a sentence and a table.");
  type.property(
          "operation", [](const P& p) { return operation_object({.scalar = p.operation, .bytes = {}, .ranks = {}, .nodes = {}}); },
          "The question, an Operation.", "Operation[Prediction]")
      .property("bottleneck", &P::bottleneck, "The largest Term.")
      .def(
          "explain",
          [](const P& p, const py::object& system) { return system.is_none() ? explain_alone(p) : explain(system_from(system), p); },
          "system"_a = py::none(),
          "explain(self, system=None)\n--\n\nThe story of this prediction as text: its own terms, arithmetic and what ran; nothing is "
          "predicted "
          "again.\nWith the system it was made for also why that ran, what naive arithmetic says, what would change it, and where the\n"
          "constants come from, as fc.explain.")
      .def("__str__", [](const P& p) { return verdict_of(p) + "\n" + explain(p); })
      .def("__repr__", [](const P& p) {
        return fmt::format("{}, {} {}, mostly {}", verdict_of(p), p.algorithm.view(), p.protocol.view(), p.bottleneck().tier.view());
      });
  add_value_semantics(type);
}

}  // namespace fabricost::python
