/// fc.tune: where NCCL's own choice of algorithm and protocol loses time, and a file for its tuner plugin.

#include "answers/job_verdict.hpp"
#include "bindings.hpp"
#include "question.hpp"

#include <fabricost/plan/answers/tune.hpp>
#include <fabricost/explain/assumptions.hpp>

namespace py = pybind11;

namespace fabricost::python {

void add_tuning(py::module_& module) {
  add_answer<TunedGroup>(module, "TunedGroup", "A group of ranks that was asked for.").def("__repr__", [](const TunedGroup& g) {
    return fmt::format("{} ranks on {}", g.ranks, counted(g.nodes, "node"));
  });
  add_answer<UnmeasuredChoice>(module, "UnmeasuredChoice", "A pair NCCL could run whose price no fit covers.")
      .def("__repr__",
           [](const UnmeasuredChoice& u) { return fmt::format("{} over {} ranks: {} {}", u.operation, u.ranks, u.algorithm, u.protocol); });
  add_answer<SlowChoice>(module, "SlowRange", "Sizes over which NCCL runs one pair and another is faster.")
      .def("__repr__", [](const SlowChoice& r) {
        return fmt::format("{} over {} ranks, {:.0f} to {:.0f} B: {} {} loses {:.0f} % to {} {}{}", r.operation, r.ranks, r.smallest.value(),
                           r.largest.value(), r.algorithm, r.protocol, 100 * r.lost_share, r.better_algorithm, r.better_protocol,
                           r.sure ? "" : " (not sure)");
      });
  auto type =
      add_answer<TuneAnswer>(module, "Tuning", "Where NCCL's own choice is slower than another it could be made to run. Made by tune.");
  add_sequence(type, &TuneAnswer::ranges);
  type.def(
          "config", [](const TuneAnswer& a) { return a.config; },
          "config(self)\n--\n\nThe sure ranges as the CSV that NCCL's example tuner plugin reads (NVIDIA/nccl, ext-tuner/example).")
      .saves("save", &TuneAnswer::config, "save(self, path)\n--\n\nWrites config() to a file.")
      .def("__repr__", [](const TuneAnswer& a) { return verdict_of(a); });
  add_question<TuneRequest>(module, "tune", 1,
                        R"(Compares NCCL's choice with every pair it could be made to run, from 1 KiB to 8 GiB: a range is listed when
log(t_now / t_better) > 0.05 and is sure when it exceeds the square root of both intervals' squares. A Tuning.

Raises RequestError for an operation without a table, a library that takes no such orders, ranks that do not fit.)",
                        R"(>>> import fabricost as fc
>>> found = fc.tune("dgx-b200", operation="all_reduce")
>>> all(r.better_seconds < r.seconds for r in found.ranges)
True
)");
}

}  // namespace fabricost::python
