/// fc.cost.

#include "answers/job_verdict.hpp"
#include "bindings.hpp"
#include "question.hpp"

#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/serve.hpp>

namespace py = pybind11;

namespace fabricost::plan {

static void from_object(py::handle given, std::string_view name, const Range&, PlannedRate& out) {
  if (python::is_path(given)) return from_text(python::path_of(given, name), name, Amount::number, Range{}, out);
  const auto first_of = [&](const auto& plans) {
    if (plans.layouts.empty()) throw RequestError(fmt::format("{}: no layout was found", name));
    return plans.layouts.front();
  };
  if (py::isinstance<ServeAnswer>(given) || py::isinstance<PlannedDeployment>(given)) {
    const PlannedDeployment plan = py::isinstance<ServeAnswer>(given) ? first_of(given.cast<const ServeAnswer&>()) : given.cast<const PlannedDeployment&>();
    out = {.system = plan.system,
           .model = plan.model,
           .gpus = static_cast<double>(plan.gpus),
           .tokens_per_second_per_gpu = plan.tokens_per_second_per_gpu,
           .source = "the plan",
           .tokens = plan.token_prices,
           .between = plan.interval_tokens_per_second_per_gpu};
    if (!plan.prefill_system.empty()) throw RequestError(of_two_kinds(name, plan.prefill_system));
    return;
  }
  const bool many = py::isinstance<PlanAnswer>(given);
  if (!many && !py::isinstance<PlannedLayout>(given))
    python::throw_type(name, "a TrainingPlan or ServePlan, or several, of which the first counts, or a file of plan --json", given);
  const PlannedLayout plan = many ? first_of(given.cast<const PlanAnswer&>()) : given.cast<const PlannedLayout&>();
  out = {plan.system, plan.model, static_cast<double>(plan.gpus), plan.tokens_per_second_per_gpu, "the plan"};
  out.idle_gpus = plan.idle_gpus;
}

}  // namespace fabricost::plan

namespace fabricost::python {

void add_cost(py::module_& module) {
  add_argument_type<PlannedRate>("TrainingPlan | Plans | ServePlan | ServePlans | str");
  add_answer<MoneyAnswer>(module, "Money", "What something costs, both ways of paying; None for what is not known.")
      .def("__repr__", [](const MoneyAnswer& m) {
        const auto shown = [](const auto& value, const char* unit) {
          return value ? fmt::format("{:.6g}{}", value->value(), unit) : std::string{"unknown"};
        };
        return fmt::format("rented {}, owned {}, {}", shown(m.rented, " USD"), shown(m.owned, " USD"),
                           shown(m.energy, " J"));
      });
  add_answer<CostAnswer>(module, "Cost",
                         "What GPUs cost by the hour, by the token and by the run, and what a share of the time is worth. Made by cost.")
      .def("__repr__", [](const CostAnswer& c) { return verdict_of(c); });
  add_question<CostRequest>(module, "cost", 1, R"(What GPUs, tokens and training runs cost in dollars and joules, a Cost.

rented = GPUs x time x price of a GPU-hour
owned = (servers + network) x time / lifetime + energy x electricity + rated power x time x site

One speed: step_seconds, tokens_per_second_per_gpu, mfu, or plan: what plan or plan_serve gave, of several the first. Of a served one
the price of a million tokens is divided over input, cached and output tokens, too (token_prices). Your own prices come before those of `prices`, a name of data/prices or a YAML file; each has source and date there.)",
                        R"(>>> import fabricost as fc
>>> c = fc.cost("dgx-h100", gpus=16384, dollars_per_gpu_hour=3)
>>> round(c.share_dollars_per_day)  # 1 % of 16,384 GPUs at 3 USD an hour
11796
)");
}

}  // namespace fabricost::python
