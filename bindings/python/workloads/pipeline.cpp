/// \file pipeline.cpp
/// fc.pipeline: what a step waits and holds, and its chart as an array.

#include "bindings.hpp"
#include "face.hpp"

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
[[nodiscard]] py::object bars_of(const PipelineAnswer& p) {
  const py::module_ numpy = py::module_::import("numpy");
  py::list type;
  for (const auto& [name, kind] :
       {std::pair{"stage", "i4"}, {"kind", "U13"}, {"chunk", "i4"}, {"microbatch", "i4"}, {"start_seconds", "f8"}, {"end_seconds", "f8"}})
    type.append(py::make_tuple(name, kind));
  const auto stage = column<int>(p.run, [](std::size_t s, const Bar&) { return static_cast<int>(s); });
  py::object out = numpy.attr("empty")(stage.size(), type);
  const auto set = [&out](const char* name, const py::object& values) { out.attr("__setitem__")(name, values); };
  set("stage", stage);
  const py::object kinds = numpy.attr("array")(work_kind_names);
  set("kind", kinds.attr("take")(column<int>(p.run, [](std::size_t, const Bar& b) { return static_cast<int>(b.work.kind); })));
  set("chunk", column<int>(p.run, [](std::size_t, const Bar& b) { return b.work.chunk; }));
  set("microbatch", column<int>(p.run, [](std::size_t, const Bar& b) { return b.work.microbatch; }));
  set("start_seconds", column<double>(p.run, [](std::size_t, const Bar& b) { return b.start; }));
  set("end_seconds", column<double>(p.run, [](std::size_t, const Bar& b) { return b.end; }));
  return out;
}

[[nodiscard]] py::array_t<double> waits_of(const PipelineAnswer& p) {
  py::array_t<double> out{static_cast<py::ssize_t>(p.run.bars.size())};
  std::transform(p.run.bars.begin(), p.run.bars.end(), out.mutable_data(), waiting);
  return out;
}

/// What makes it: the question, nothing left out.
[[nodiscard]] py::tuple question(const PipelineAnswer& p) {
  const PipelineRequest& r = p.request;
  return py::make_tuple(p.schedule, *r.stages, *r.chunks, *r.microbatches, *r.forward_seconds, *r.backward_seconds, *r.weight_seconds,
                        r.exchange_seconds, r.head_seconds, r.overlapped_seconds, *r.held);
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
  type.def("__hash__", [](const P& p) { return py::hash(question(p)); });
  type.def("__repr__", [](const P& p) {
    return fmt::format("{}, {} stages, {} microbatches: {:.4g} s, bubble {:.2f} %", p.schedule, p.stages, p.microbatches, p.step_seconds,
                       100 * p.bubble_over_total);
  });
  type.def(py::pickle(&question, [](const py::tuple& s) {
    if (s.size() != 11) throw py::value_error("a pickle of another version of this class");
    const auto schedule = worded<PipelineSchedule>(s[0].cast<std::string>());
    if (!schedule) throw py::value_error("a pickle of another version of this class");
    const auto time = [&s](std::size_t i) { return s[i].cast<double>(); };
    return answer(PipelineRequest{.schedule = schedule,
                                  .stages = s[1].cast<int>(),
                                  .microbatches = s[3].cast<int>(),
                                  .chunks = s[2].cast<int>(),
                                  .forward_seconds = time(4),
                                  .backward_seconds = time(5),
                                  .weight_seconds = time(6),
                                  .exchange_seconds = time(7),
                                  .head_seconds = time(8),
                                  .overlapped_seconds = time(9),
                                  .held = time(10)});
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
