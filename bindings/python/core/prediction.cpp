/// The answer to one request: time, pair that ran, terms that sum to the time, bottleneck, certainty;
/// and the explanation as text.

#include "answers/verdict.hpp"
#include "bindings.hpp"
#include "core/operations.hpp"
#include "question.hpp"
#include "plain.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/explain/explain.hpp>
#include <fabricost/pictures/picture.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::core {

// Found by fields.hpp. Types with constructors or a base have their fields named here; one that is added there stops the build here.
template <class Stream>
static void pass_fields(Stream& stream, Fabric& f) {
  static_assert(sizeof(Fabric) == 376, "a field was added to Fabric or taken from it: here, too, then write its new size");
  auto& [levels, in_switch, sharp, neighbours_only, wrap, open_axes, torus_axes, torus] = static_cast<Connectivity&>(f);
  python::pass(stream, levels.sizes, levels.count, in_switch, sharp, neighbours_only, wrap, open_axes, torus_axes, torus, f.nodes,
               f.inner_rate, f.inner_latency_shift, f.full_rate, f.inner_exchanges, f.outer_rate, f.outer_latency_shift, f.nics, f.ring_taper,
               f.all_to_all_taper, f.inner_tier, f.inner_limit_tier, f.outer_tier, f.nic_limit_tier, f.ring_taper_tier, f.all_to_all_taper_tier, f.planned_per_gpu,
               f.channels, f.host_link_rate, f.pcie_rate, f.over_pcie, f.per_socket, f.peer_to_peer, f.switched,
               f.host_bridge, f.gpu_direct, f.generation, f.library, f.tuner, f.cpu, f.ll128, f.tuner_assumed, f.back_to_back,
               f.communicator, f.pcie_carried, f.pcie_exchanged, f.ll_until, f.ll128_until, f.ring_until, f.plugin, f.nccl_release);
}
template <class Stream>
static void pass_fields(Stream& stream, PredictAnswer& answer) {
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
