/// \file pipeline.cpp
/// Pipeline schedules: what a step waits and holds, and its chart as an array.

#include "asked.hpp"
#include "bindings.hpp"

#include <fabricost/pipeline/pipeline.hpp>
#include <fabricost/pipeline/run.hpp>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

constexpr double most_pieces = 1e6;   ///< of work in one chart, as the command has it
constexpr double longest_time = 1e6;  ///< s

struct Pipelined {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int stages = 1, chunks = 1, microbatches = 1;
  StageTimes times;
  PipelineRun run;
  PipelineCost cost;
};

[[nodiscard]] Pipelined worked_off(PipelineSchedule schedule, int stages, int chunks, int microbatches, const StageTimes& times) {
  return searched([&] {
    check_pipeline(schedule, stages, chunks, microbatches, times);
    if (6.0 * stages * chunks * microbatches > most_pieces)
      throw RequestError(fmt::format("{} stages, {} chunks and {} microbatches are more than can be worked off; take fewer of them", stages,
                                     chunks, microbatches));
    return Pipelined{schedule,
                     stages,
                     chunks,
                     microbatches,
                     times,
                     run_pipeline(schedule, stages, chunks, microbatches, times),
                     pipeline_cost(schedule, stages, chunks, microbatches, times)};
  });
}

[[nodiscard]] Pipelined pipeline(const py::object& schedule, const py::object& stages, const py::object& microbatches,
                                 const py::object& forward, const py::object& backward, const py::object& weight,
                                 const py::object& exchange, const py::object& head, const py::object& overlapped, const py::object& chunks,
                                 const py::object& held) {
  needed(schedule, "schedule", "schedule=\"1f1b\"");
  needed(stages, "stages", "stages=8");
  needed(microbatches, "microbatches", "microbatches=24");
  needed(forward, "forward_seconds", "forward_seconds=18.5e-3");
  const std::string given = text(schedule, "schedule");
  const auto found = parse_pipeline_schedule(given);
  if (!found || given.empty())
    throw RequestError("schedule: " + cli::unknown_text(given, "a schedule", cli::listed(pipeline_schedule_names)));
  const auto seconds = [](const py::object& value, const char* name, double otherwise) {
    return real_or_none(value, name, 0, longest_time).value_or(otherwise);
  };
  StageTimes times;
  times.forward = seconds(forward, "forward_seconds", 0);
  times.backward = seconds(backward, "backward_seconds", times.forward);  // a GEMM's two gradients cost as much as its forward each
  times.weight = seconds(weight, "weight_seconds", times.forward);
  times.exchange = seconds(exchange, "exchange_seconds", 0);
  times.last_extra = seconds(head, "head_seconds", 0);
  times.overlapped = seconds(overlapped, "overlapped_seconds", 0);
  if (const auto share = real_or_none(held, "held", 0, 1)) times.held_for_weight = *share;
  if (times.overlapped > 0 && !runs_both_ways(*found))
    throw RequestError("overlapped_seconds: is for dualpipe and dualpipe_v, where a forward and a backward run as one");
  const int cut = whole_or_none(chunks, "chunks").value_or(*found == PipelineSchedule::interleaved ? 2 : 1);
  return worked_off(*found, whole(stages, "stages"), cut, whole(microbatches, "microbatches"), times);
}

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
[[nodiscard]] py::object bars_of(const Pipelined& p) {
  const py::module_ numpy = py::module_::import("numpy");
  py::list type;
  for (const auto& [name, kind] :
       {std::pair{"stage", "i4"}, {"kind", "U13"}, {"chunk", "i4"}, {"microbatch", "i4"}, {"start_seconds", "f8"}, {"end_seconds", "f8"}})
    type.append(py::make_tuple(name, kind));
  const auto stage = column<int>(p.run, [](std::size_t s, const Bar&) { return static_cast<int>(s); });
  py::object out = numpy.attr("empty")(stage.size(), type);
  const auto set = [&out](const char* name, const py::object& values) { out.attr("__setitem__")(name, values); };
  set("stage", stage);
  const py::object kinds = numpy.attr("array")(cli::listed(work_kind_names));
  set("kind", kinds.attr("take")(column<int>(p.run, [](std::size_t, const Bar& b) { return static_cast<int>(b.work.kind); })));
  set("chunk", column<int>(p.run, [](std::size_t, const Bar& b) { return b.work.chunk; }));
  set("microbatch", column<int>(p.run, [](std::size_t, const Bar& b) { return b.work.microbatch; }));
  set("start_seconds", column<double>(p.run, [](std::size_t, const Bar& b) { return b.start; }));
  set("end_seconds", column<double>(p.run, [](std::size_t, const Bar& b) { return b.end; }));
  return out;
}

[[nodiscard]] py::array_t<double> waits_of(const Pipelined& p) {
  py::array_t<double> out{static_cast<py::ssize_t>(p.run.bars.size())};
  std::transform(p.run.bars.begin(), p.run.bars.end(), out.mutable_data(), waiting);
  return out;
}

[[nodiscard]] py::tuple question(const Pipelined& p) {
  const StageTimes& t = p.times;
  return py::make_tuple(std::string{name(p.schedule)}, p.stages, p.chunks, p.microbatches, t.forward, t.backward, t.weight, t.exchange,
                        t.last_extra, t.overlapped, t.held_for_weight);
}

void add_run(py::module_& module) {
  using P = Pipelined;
  py::class_<P> type(module, "PipelineRun", "One step of a pipeline schedule, worked off piece by piece. Made by pipeline.");
  const auto number = [&type](const char* name, auto get, const char* doc) { type.def_property_readonly(name, get, doc); };
  number(
      "schedule", [](const P& p) { return std::string{name(p.schedule)}; }, "Its name: gpipe, 1f1b, interleaved, zb_h1, ..., dualpipe_v.");
  number(
      "stages", [](const P& p) { return p.stages; }, "Pipeline stages.");
  number(
      "chunks", [](const P& p) { return chunks_of(p.schedule, p.chunks); }, "Chunks of layers a stage holds.");
  number(
      "microbatches", [](const P& p) { return p.microbatches; }, "Microbatches of a step.");
  number(
      "step_seconds", [](const P& p) { return p.run.longest_stage; }, "The longest stage, first to last piece, s.");
  number(
      "work_seconds", [](const P& p) { return p.run.work; }, "microbatches x (forward + backward + weight), s.");
  number(
      "bubble_seconds", [](const P& p) { return p.run.bubble(); }, "step_seconds - work_seconds.");
  number(
      "bubble_over_total", [](const P& p) { return bubble_over_total(p.run.bubble(), p.run.work); },
      "bubble / (work + bubble), as the zero-bubble papers have it.");
  number(
      "bubble_over_ideal", [](const P& p) { return bubble_over_ideal(p.run.bubble(), p.run.work); }, "bubble / work, as Megatron has it.");
  number(
      "makespan_seconds", [](const P& p) { return p.run.makespan; }, "First start to last end of all stages, s.");
  number(
      "closed_form_bubble_seconds", [](const P& p) { return p.cost.bubble; }, "The bubble by the closed form that searches use, s.");
  number(
      "closed_form_exact", [](const P& p) { return p.cost.exact; }, "Whether that is exact, or an estimate.");
  number(
      "exposed_exchange_seconds", [](const P& p) { return p.cost.exposed_exchange; }, "What of that bubble hand-overs cause, s.");
  number(
      "hops", [](const P& p) { return p.cost.hops; }, "Hand-overs of one microbatch, forward and backward.");
  number(
      "peak_activations",
      [](const P& p) {
        return py::array_t<double>(static_cast<py::ssize_t>(p.run.peak_activations.size()), p.run.peak_activations.data());
      },
      "By stage: microbatches' activations in 1/stages of the layers that it holds at the most.");
  number("waits_seconds", &waits_of, "By stage: waiting between its first and last piece, s.");
  number("bars", &bars_of,
         "The Gantt chart, a structured array: stage, kind (forward, backward, weight, full_backward), chunk, microbatch, start_seconds,\n"
         "end_seconds; stage by stage, in order of time.");
  type.def(
      "to_pandas", [](const P& p) { return pandas().attr("DataFrame")(bars_of(p)); },
      "to_pandas(self)\n--\n\nThe bars as a pandas.DataFrame. Needs pandas.");
  type.def(
      "__eq__", [](const P& a, const P& b) { return question(a).equal(question(b)); }, py::is_operator());
  type.def("__hash__", [](const P& p) { return py::hash(question(p)); });
  type.def("__repr__", [](const P& p) {
    return fmt::format("{}, {} stages, {} microbatches: {:.4g} s, bubble {:.2f} %", name(p.schedule), p.stages, p.microbatches,
                       p.run.longest_stage, 100 * bubble_over_total(p.run.bubble(), p.run.work));
  });
  type.def(py::pickle(&question, [](const py::tuple& s) {
    if (s.size() != 11) throw py::value_error("a pickle of another version of this class");
    const auto schedule = parse_pipeline_schedule(s[0].cast<std::string>());
    if (!schedule) throw py::value_error("a pickle of another version of this class");
    const auto time = [&s](std::size_t i) { return s[i].cast<double>(); };
    return worked_off(*schedule, s[1].cast<int>(), s[2].cast<int>(), s[3].cast<int>(),
                      {time(4), time(5), time(6), time(7), time(8), time(9), time(10)});
  }));
}

}  // namespace

void add_pipeline(py::module_& module) {
  add_run(module);
  const py::none none;
  module.def(
      "pipeline", &pipeline, py::kw_only(), "schedule"_a = none, "stages"_a = none, "microbatches"_a = none, "forward_seconds"_a = none,
      "backward_seconds"_a = none, "weight_seconds"_a = none, "exchange_seconds"_a = 0.0, "head_seconds"_a = 0.0,
      "overlapped_seconds"_a = 0.0, "chunks"_a = none, "held"_a = none,
      R"(pipeline(*, schedule, stages, microbatches, forward_seconds, backward_seconds=None, weight_seconds=None, exchange_seconds=0.0,
    head_seconds=0.0, overlapped_seconds=0.0, chunks=None, held=None)
--

What one step of a pipeline schedule takes, waits and holds: a PipelineRun, every piece of work placed in time.

schedule: gpipe, 1f1b, interleaved, zb_h1, zb_h2, zb_1p, zb_2p, zb_v, v_half, v_min, dualpipe or dualpipe_v (sources: the model's page).
forward_seconds: of one microbatch in all layers of a stage. backward_seconds, weight_seconds: gradient of the input and of the weights,
default as forward. exchange_seconds: one hand-over, one way. head_seconds: what the last layers take more, forward and both backwards.
overlapped_seconds: dualpipe, a forward and a full backward as one; 0 for their sum. chunks: of a stage when interleaved, default 2.
held: share of activations kept for the weight gradient, default 32/34 (arXiv 2205.05198, fused attention).

1f1b without hand-overs waits (p - 1) (F + B + W) (arXiv 2104.04473). Raises RequestError for a schedule that cannot run so.

>>> import fabricost as fc
>>> run = fc.pipeline(schedule="1f1b", stages=4, microbatches=8, forward_seconds=1.0)
>>> run.bubble_seconds, run.step_seconds
(9.0, 33.0)
>>> run.bars[0]["kind"].item(), run.bars["end_seconds"].max().item(), len(run.bars)
('forward', 33.0, 64)
)");
}

}  // namespace fabricost::python
