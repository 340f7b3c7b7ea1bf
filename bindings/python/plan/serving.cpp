/// \file serving.cpp
/// fc.plan_serve.

#include "bindings.hpp"
#include "face.hpp"

#include <fabricost/plan/answers/serve.hpp>

namespace py = pybind11;

namespace fabricost::python {

void add_serving(py::module_& module) {
  using D = PlannedDeployment;
  using P = ServeAnswer;
  add_answer<D>(module, "ServePlan", "One deployment of a served model. Made by plan_serve.")
      .property(
          "bottleneck", [](const D& p) { return largest(p.terms); }, "The largest StepTerm of a token.")
      .def("__repr__", [](const D& p) {
        return fmt::format("{} x tp {} pp {} ep {}, batch {:.0f}: {:.4g} tokens/s/GPU, TTFT {:.4g} s, TPOT {:.4g} ms", p.replicas, p.tp,
                           p.pp, p.ep, p.batch, p.tokens_per_second_per_gpu, p.ttft.value(), 1e3 * p.tpot.value());
      });
  add_answer_of_rows<P>(module, "ServePlans", "Deployments, most tokens per second and GPU first. Made by plan_serve.", &P::layouts)
      .def(
          "pareto",
          [](const P& p) {
            return answered([&] {
              P out = p;
              out.layouts = planned(found_of(p).question, found_of(p).system, serving_pareto(found_of(p).question, found_of(p).system));
              return out;
            });
          },
          R"(pareto(self)
--

Throughput against interactivity: deployments and batches within the limits that no other beats in tokens per second and GPU without
being slower for a user, most per user first: ServePlans. Both ends, and between them rows that differ by a tenth in one of the two.

>>> import fabricost as fc
>>> front = fc.plan_serve("dgx-h100", "llama3-70b", gpus=8).pareto()
>>> front[0].tokens_per_second_per_user > front[-1].tokens_per_second_per_user
True
)")
      .def("__repr__", [](const P& p) {
        std::string out = fmt::format("{} deployments of {} on {} GPUs of {}", p.layouts.size(), p.model, p.gpus, p.system);
        if (!p.layouts.empty()) out += "; first " + repr_of(p.layouts.front());
        return out;
      });
  add_face<WithProgress<ServeRequest>>(
      module, "plan_serve", 2,
      R"(The deployments that answer most tokens per second on so many GPUs within limits on time, ServePlans.

tokens/s = concurrency x osl / (TTFT + osl TPOT)

What is given of a layout is fixed, the rest is searched. What lies in the host's memory every pass fetches; a deployment puts no more there
than its batch needs.)",
      R"(Other Python threads run during the search. Raises RequestError where nothing fits (its reason is 'memory') or keeps the limits
('limits'), with what comes nearest.

>>> import fabricost as fc
>>> best = fc.plan_serve(fc.load_system("dgx-h100"), fc.load_model("llama3-70b"), gpus=8, tpot_seconds=0.03)[0]
>>> best.tpot_seconds <= 0.03
True
>>> abs(sum(term.seconds for term in best.terms) / best.tpot_seconds - 1) < 1e-9
True
)");
}

}  // namespace fabricost::python
