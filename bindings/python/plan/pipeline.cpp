/// fc.pipeline: the time, bubble and memory of a schedule, and its chart as an array.

#include "answers/job_verdict.hpp"
#include "bindings.hpp"
#include "question.hpp"
#include "plain.hpp"

#include <fabricost/plan/answers/pipeline.hpp>

#include <pybind11/numpy.h>

#include <functional>

namespace py = pybind11;

namespace fabricost::python {
namespace {

/// A structured array: one element per piece of work, stage by stage, in order of time.
[[nodiscard]] py::array bars_of(const PipelineAnswer& p) {
  std::vector<std::pair<int, const Bar*>> bars;
  for (std::size_t s = 0; s < p.run.bars.size(); ++s)
    for (const Bar& bar : p.run.bars[s]) bars.emplace_back(static_cast<int>(s), &bar);
  const auto column = [&](auto value) { return column_of(bars, [&](const auto& at) { return value(*at.second); }); };
  const py::array kind = column([](const Bar& b) { return static_cast<int>(b.work.kind); });
  return structured({{"stage", column_of(bars, [](const auto& at) { return at.first; })},
                     {"kind", py::array(numpy().attr("array")(work_kind_names).attr("take")(kind))},
                     {"chunk", column([](const Bar& b) { return b.work.chunk; })},
                     {"microbatch", column([](const Bar& b) { return b.work.microbatch; })},
                     {"start_seconds", column([](const Bar& b) { return b.start; })},
                     {"end_seconds", column([](const Bar& b) { return b.end; })}});
}

void add_run(py::module_& module) {
  using P = PipelineAnswer;
  auto type = add_report<P>(module, "PipelineRun", "One step of a pipeline schedule, executed piece by piece. Made by pipeline.");
  type.property(
      "peak_activations", [](const P& p) { return column_of(p.run.peak_activations, std::identity{}); },
      "By stage: microbatches' activations in 1/stages of the layers that it holds at the most.", numbers_array);
  type.property(
      "waits_seconds", [](const P& p) { return column_of(p.run.bars, waiting); }, "By stage: waiting between its first and last piece, s.",
      numbers_array);
  type.property(
      "bars", &bars_of,
      "The Gantt chart, a structured array: stage, kind (forward, backward, weight, full_backward), chunk, microbatch, start_seconds,\n"
      "end_seconds; stage by stage, in order of time.",
      records_array);
  type.def(
      "to_pandas", [](const P& p) { return frame_of(bars_of(p)); },
      "to_pandas(self)\n--\n\nThe bars as a pandas.DataFrame. Needs pandas.");
  type.def(
      "__eq__", [](const P& a, const P& b) { return a.request == b.request; }, py::is_operator());
  type.def("__hash__", [](const P& p) { return py::hash(py::bytes(bytes_of(p.request))); });
  type.def("__repr__", [](const P& p) { return verdict_of(p); });
  type.def(py::pickle([](const P& p) { return py::bytes(detail::stamped<PipelineRequest>(bytes_of(p.request))); },
                      [](const py::bytes& state) {
                        return answer(value_of<PipelineRequest>(detail::unstamped<PipelineRequest>(static_cast<std::string_view>(state))));
                      }));
}

}  // namespace

void add_pipeline(py::module_& module) {
  add_run(module);
  module.def("_schedule", [](const std::string& spelled) {  // the schedule's name, and whether it splits the backward pass
    const auto schedule = parse_pipeline_schedule(spelled);
    return schedule ? std::pair{std::string{name(*schedule)}, splits_backward(*schedule)} : std::pair{std::string{}, false};
  });
  add_question<PipelineRequest>(
      module, "pipeline", 0,
      R"(What one step of a pipeline schedule takes, waits and holds: a PipelineRun, every piece of work placed in time.

1f1b without hand-overs waits (p - 1) (F + B + W) (arXiv 2104.04473); held is 32/34 by default (arXiv 2205.05198, fused attention).
Raises RequestError for a schedule that cannot run so; sources of the schedules: the model's page.)",
      R"(>>> import fabricost as fc
>>> run = fc.pipeline(schedule="1f1b", stages=4, microbatches=8, forward_seconds=1.0)
>>> run.bubble_seconds, run.step_seconds
(9.0, 33.0)
>>> run.bars[0]["kind"].item(), run.bars["end_seconds"].max().item(), len(run.bars)
('forward', 33.0, 64)
)");
}

}  // namespace fabricost::python
