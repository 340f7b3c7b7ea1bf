/// \file pipeline.cpp
/// fc.pipeline: what a step waits and holds, and its chart as an array.

#include "bindings.hpp"
#include "face.hpp"
#include "plain.hpp"

#include <fabricost/answers/pipeline.hpp>

#include <pybind11/numpy.h>

namespace py = pybind11;

namespace fabricost::python {
namespace {

/// One column of all bars.
template <class T, class Value>
[[nodiscard]] py::array_t<T> column(const PipelineRun& run, Value&& value) {
  std::size_t count = 0;
  for (const auto& stage : run.bars) count += stage.size();
  py::array_t<T> out{static_cast<py::ssize_t>(count)};
  T* at = out.mutable_data();
  for (std::size_t s = 0; s < run.bars.size(); ++s)
    for (const Bar& bar : run.bars[s]) *at++ = value(s, bar);
  return out;
}

/// A structured array: one element per piece of work, stage by stage, in order of time.
[[nodiscard]] py::array bars_of(const PipelineAnswer& p) {
  const auto each = [&](auto value) { return column<decltype(value(std::size_t{}, Bar{}))>(p.run, value); };
  const py::array kind = each([](std::size_t, const Bar& b) { return static_cast<int>(b.work.kind); });
  return structured({{"stage", each([](std::size_t s, const Bar&) { return static_cast<int>(s); })},
                     {"kind", py::array(numpy().attr("array")(work_kind_names).attr("take")(kind))},
                     {"chunk", each([](std::size_t, const Bar& b) { return b.work.chunk; })},
                     {"microbatch", each([](std::size_t, const Bar& b) { return b.work.microbatch; })},
                     {"start_seconds", each([](std::size_t, const Bar& b) { return b.start; })},
                     {"end_seconds", each([](std::size_t, const Bar& b) { return b.end; })}});
}

[[nodiscard]] py::array_t<double> waits_of(const PipelineAnswer& p) {
  py::array_t<double> out{static_cast<py::ssize_t>(p.run.bars.size())};
  std::transform(p.run.bars.begin(), p.run.bars.end(), out.mutable_data(), waiting);
  return out;
}

void add_run(py::module_& module) {
  using P = PipelineAnswer;
  py::class_<P> type(module, "PipelineRun", "One step of a pipeline schedule, worked off piece by piece. Made by pipeline.");
  for_each_field<P>([&](const auto& gives) {
    if (!gives.name.empty())
      type.def_property_readonly(
          gives.name.data(), [m = gives.member](const P& p) { return std::invoke(m, p); }, gives.words.data());
  });
  const auto array = [&type](const char* name, auto get, const char* doc) { type.def_property_readonly(name, get, doc); };
  array(
      "peak_activations",
      [](const P& p) {
        return py::array_t<double>(static_cast<py::ssize_t>(p.run.peak_activations.size()), p.run.peak_activations.data());
      },
      "By stage: microbatches' activations in 1/stages of the layers that it holds at the most.");
  array("waits_seconds", &waits_of, "By stage: waiting between its first and last piece, s.");
  array("bars", &bars_of,
        "The Gantt chart, a structured array: stage, kind (forward, backward, weight, full_backward), chunk, microbatch, start_seconds,\n"
        "end_seconds; stage by stage, in order of time.");
  type.def(
      "to_pandas", [](const P& p) { return pandas().attr("DataFrame")(bars_of(p)); },
      "to_pandas(self)\n--\n\nThe bars as a pandas.DataFrame. Needs pandas.");
  type.def(
      "__eq__", [](const P& a, const P& b) { return a.request == b.request; }, py::is_operator());
  type.def("__hash__", [](const P& p) { return py::hash(py::bytes(bytes_of(p.request))); });
  type.def("__repr__", [](const P& p) {
    return fmt::format("{}, {} stages, {} microbatches: {:.4g} s, bubble {:.2f} %", p.schedule, p.stages, p.microbatches, p.step_seconds,
                       100 * p.bubble_over_total);
  });
  type.def(py::pickle([](const P& p) { return py::bytes(detail::stamped<PipelineRequest>(bytes_of(p.request))); },
                      [](const py::bytes& state) {
                        return answer(value_of<PipelineRequest>(detail::unstamped<PipelineRequest>(static_cast<std::string_view>(state))));
                      }));
}

}  // namespace

void add_pipeline(py::module_& module) {
  add_run(module);
  add_face<PipelineRequest>(
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
