/// fc.project, fc.need_machine.

#include "answers/job_verdict.hpp"
#include "bindings.hpp"
#include "core/operations.hpp"
#include "question.hpp"
#include "plan/machines.hpp"

#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/design/project.hpp>

namespace py = pybind11;

namespace fabricost::python {

namespace {

void add_need_machine(py::module_& module) {
  add_answer<NeedMachineTried>(module, "NeedMachineTried", "One machine of a choice.").def("__repr__", [](const NeedMachineTried& t) {
    return fmt::format("{}: {}", t.value, t.holds ? "enough" : t.trouble.empty() ? t.binds : t.trouble);
  });
  add_answer<NeedMachineAnswer>(module, "NeedMachine", "The best machine for a run under limits. Made by need_machine.")
      .def("__repr__", [](const NeedMachineAnswer& a) { return verdict_of(a); });
  add_question<WithProgress<NeedMachineRequest>>(
      module, "need_machine", 2,
      R"(The best of several machines for a whole training run that meets every limit, a NeedMachine: by money, power, GPUs or time.

Every machine is asked about as project does; limits are in_seconds, budget_dollars (of the run), capital_dollars (to buy),
megawatts and racks.)",
      R"(>>> import fabricost as fc
>>> found = fc.need_machine(["dgx-h100", "dgx-b200"], "llama3-8b", gpus=256, global_batch=512, tokens=1e12, by="soonest")
>>> found.value, found.next_larger, found.run.gpus
('dgx-b200', 'dgx-h100', 256)
)");
}

}  // namespace

void add_project(py::module_& module) {
  using R = ProjectedRun;
  add_answer<R>(module, "ProjectedRun", "A whole training run on one machine. Made by project.").def("__repr__", [](const R& r) {
    if (!r.trouble.empty()) return fmt::format("{}: {}", r.system, r.trouble);
    const auto said = [](const auto& value, std::string_view unit) {
      return value ? fmt::format(", {:.4g} {}", value->value() / 1e6, unit) : std::string{};
    };
    return fmt::format("{}: {} GPUs, {:.4g} days{}, goodput {:.1f} %{}{}", r.system, r.gpus, r.time.value() / day_seconds,
                       said(r.price, fmt::format("M USD {}", paid_words(r.price_kind))), 100 * r.goodput, said(r.site_power, "MW"), said(r.capital, "M USD to buy"));
  });
  add_answer_of_rows<ProjectAnswer>(module, "Project", "A training run on machines, in the order asked. Made by project.",
                                    &ProjectAnswer::rows)
      .def("__repr__", [](const ProjectAnswer& a) {
        std::string out = verdict_of(a);
        for (const R& r : a.rows) out += "\n  " + repr_of(r);
        return out;
      });
  add_question<WithProgress<ProjectRequest>>(
      module, "project", 2,
      R"(A whole training run: step and layout, GPUs, what failures leave, days, racks, power, energy and money on each machine, a Project.

GPUs are given, or found so that the run ends in time. plan, goodput, cost and need are asked, each with what the others found; `layout`,
`failures` and `cost` of a row are their answers. Money is by one kind of price for all machines, your own first.)",
      R"(>>> import fabricost as fc
>>> run = fc.project(["dgx-h100", "dgx-b200"], "llama3-8b", gpus=256, global_batch=512, tokens=1e12)
>>> run[0].seconds > run[1].seconds, run[0].failures.gpus, run[0].cost.pue
(True, 256.0, 1.2)
)");
  add_need_machine(module);
}

}  // namespace fabricost::python
