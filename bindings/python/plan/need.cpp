/// fc.need, fc.need_serve.

#include "answers/job_verdict.hpp"
#include "bindings.hpp"
#include "core/operations.hpp"
#include "question.hpp"
#include "plan/si.hpp"

#include <fabricost/plan/answers/design/need.hpp>

namespace py = pybind11;

namespace fabricost::python {
namespace {

/// The answer with the unknown in SI units.
[[nodiscard]] NeedAnswer needed_in_si(NeedAnswer a) {
  for (std::optional<double>* const value : {&a.value, &a.fast_value, &a.slow_value, &a.next_smaller, &a.next_larger})
    if (*value) **value *= a.worth;
  for (NeedTried& one : a.tried) one.value *= a.worth;
  a.unit = si_unit(a.unit, a.worth);
  a.worth = 1;
  return a;
}

}  // namespace

void add_need(py::module_& module) {
  add_answer<NeedTried>(module, "NeedTried", "One value of the unknown at which the forward question was asked.")
      .def("__repr__", [](const NeedTried& t) {
        return fmt::format("{:.4g}: {}", t.value, t.measure ? fmt::format("{:.4g}{}", *t.measure, t.holds ? ", enough" : "") : t.trouble);
      });
  add_answer<NeedAnswer>(module, "Need", "The least of something that meets a goal. Made by need and need_serve.")
      .def("__repr__", [](const NeedAnswer& a) { return verdict_of(a); });
  add_question<WithProgress<NeedRequest>>(
      module, "need", 3,
      R"(The least of one thing that is enough to train a model, a Need: NIC bandwidth, GPUs, the domain's size, sequences a step.

plan is asked at every value of a range, so that the unknown need not be monotone; a continuous one is bisected to 1 %. One goal is given:
within, step_seconds, mfu, share_of ("expert below 10%"), or tokens with in_seconds. Its values are in SI units, as with_ takes them.)",
      R"(>>> import fabricost as fc
>>> found = fc.need("dgx-h100", "llama3-8b", "nic.bandwidth", gpus=64, global_batch=256, within="5%")
>>> found.satisfied, found.unit, found.layout.gpus
(True, 'byte/s', 64)
)",
      &needed_in_si);
  add_question<WithProgress<NeedServeRequest>>(
      module, "need_serve", 3,
      R"(The least of one thing that is enough to serve a model, a Need: as need, with plan_serve asked at every value.)",
      R"(>>> import fabricost as fc
>>> fc.need_serve("dgx-h100", "llama3-70b", "nodes", tokens_per_second=20000, tpot_seconds=0.05, over="1:16:x2").satisfied
True
)",
      &needed_in_si);
}

}  // namespace fabricost::python
