/// \file prediction.cpp
/// The answer to one request: time, pair that ran, terms that sum to the time, bottleneck, certainty;
/// and the explanation as text.

#include "bindings.hpp"
#include "collectives/operations.hpp"
#include "face.hpp"
#include "plain.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/explain/explain.hpp>
#include <fabricost/pictures/picture.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <type_traits>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost {

// Found by fields.hpp. Types with constructors or a base have their fields named here; one that is added there stops the build here.
template <class F, class Visit>
static void each_field_of_fabric(F& fabric, Visit&& visit) {
  static_assert(sizeof(Fabric) == 360, "a field was added to Fabric or taken from it: here, too, then write its new size");
  auto& base = static_cast<std::conditional_t<std::is_const_v<F>, const Connectivity, Connectivity>&>(fabric);
  auto& [levels, in_switch, sharp, neighbours_only, wrap, open_axes, torus_axes, torus] = base;
  [&visit](auto&... each) {
    (visit(each), ...);
  }(levels.sizes, levels.count, fabric.nodes, fabric.inner_rate, fabric.inner_latency, fabric.full_rate, fabric.inner_exchanges,
    fabric.outer_rate, fabric.outer_latency, fabric.nics, fabric.ring_taper, fabric.all_to_all_taper, fabric.inner_tier, fabric.outer_tier,
    fabric.held_tier, fabric.ring_taper_tier, fabric.all_to_all_taper_tier, fabric.planned_per_gpu, fabric.channels, fabric.host_link_rate,
    fabric.host_latency, fabric.pcie_rate, fabric.over_pcie, fabric.per_socket, fabric.peer_to_peer, in_switch, fabric.switched,
    neighbours_only, fabric.host_bridge, fabric.gpu_direct, sharp, wrap, open_axes, torus_axes, torus, fabric.generation, fabric.library,
    fabric.tuner, fabric.cpu, fabric.ll128, fabric.tuner_assumed, fabric.back_to_back, fabric.communicator, fabric.pcie_carried,
    fabric.pcie_exchanged, fabric.ll_until, fabric.ll128_until, fabric.ring_until, fabric.plugin);
}
static void write_fields(python::FieldWriter& out, const Fabric& fabric) { each_field_of_fabric(fabric, out); }
static void read_fields(python::FieldReader& in, Fabric& fabric) { each_field_of_fabric(fabric, in); }

template <class A, class Visit>
static void each_field_of_answer(A& answer, Visit&& visit) {
  visit(static_cast<std::conditional_t<std::is_const_v<A>, const Prediction, Prediction>&>(answer));
  visit(answer.system), visit(answer.assumed), visit(answer.norm);
}
static void write_fields(python::FieldWriter& out, const PredictAnswer& answer) { each_field_of_answer(answer, out); }
static void read_fields(python::FieldReader& in, PredictAnswer& answer) { each_field_of_answer(answer, in); }

}  // namespace fabricost

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
      add_report<P>(module, "Prediction", "How long, what ran, the terms that sum to the time, what binds and how sure. str() is a table.");
  type.def_property_readonly(
          "operation", [](const P& p) { return operation_object({.scalar = p.operation, .bytes = {}, .ranks = {}, .nodes = {}}); },
          "The question, an Operation.")
      .def_property_readonly(
          "bottleneck", [](const P& p) { return p.bottleneck(); }, "The largest Term.")
      .def(
          "explain",
          [](const P& p, const py::object& system) { return system.is_none() ? explain_alone(p) : explain(system_from(system), p); },
          "system"_a = py::none(),
          "explain(self, system=None)\n--\n\nThe story of this prediction as text: its own terms, arithmetic and what ran; nothing is "
          "predicted "
          "again.\nWith the system it was made for also why that ran, what naive arithmetic says, what would change it, and where the\n"
          "constants come from, as fc.explain.")
      .def("__str__", [](const P& p) { return explain(p); })
      .def("__repr__", [](const P& p) {
        return fmt::format("{}: {:.4g} us over {} on {}, {} {}, mostly {}", name(p.operation.collective), p.seconds * 1e6,
                           counted(p.ranks, "rank"), counted(p.nodes, "node"), p.algorithm.view(), p.protocol.view(),
                           p.bottleneck().tier.view());
      });
  add_value_semantics(type);
}

}  // namespace fabricost::python
