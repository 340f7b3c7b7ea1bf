/// fc.plan_rl.

#include "answers/job_verdict.hpp"
#include "bindings.hpp"
#include "question.hpp"

#include <fabricost/plan/answers/rl.hpp>

namespace py = pybind11;

namespace fabricost::python {

void add_rl(py::module_& module) {
  using D = PlannedRl;
  using P = RlAnswer;
  add_answer<D>(module, "RlPlan", "One division of GPUs between training and generation, with its iteration. Made by plan_rl.")
      .property(
          "bottleneck", [](const D& p) { return largest(p.terms); }, "The largest StepTerm of an iteration.")
      .def("__repr__", [](const D& p) {
        return fmt::format("{}: {:.4g} s an iteration, {:.4g} tokens/s/GPU",
                           p.colocated ? fmt::format("{} GPUs in turn", p.gpus)
                                       : fmt::format("{} train, {} generate", p.train_gpus, p.rollout_gpus),
                           p.iteration.value(), p.tokens_per_second_per_gpu);
      });
  add_answer_of_rows<P>(module, "RlPlans", "Divisions of GPUs, shortest iteration first. Made by plan_rl.", &P::layouts)
      .def("__repr__", [](const P& p) { return verdict_of(p); });
  add_question<RlRequest>(
      module, "plan_rl", 2,
      R"(How GPUs are best divided between generating answers and training on them, RlPlans.

iteration = generation until the last answer ends + reward + forward passes + updates + weights to the engines; with overlap the longer of
generation and training, + weights

Lengths of answers are log-normal with mean osl, cut at max_osl. Training and engines are those of plan and plan_serve: what is given is
fixed, the rest is searched.)",
      R"(Other Python threads run during the search. Raises RequestError where nothing fits (its reason is 'memory').

>>> import fabricost as fc
>>> best = fc.plan_rl("dgx-h100", "llama3-8b", gpus=8, prompts=64, osl=1024, max_osl=4096)[0]
>>> abs(sum(term.seconds for term in best.terms) / best.iteration_seconds - 1) < 1e-9
True
)");
}

}  // namespace fabricost::python
