/// fc.plan.

#include "bindings.hpp"
#include "core/operations.hpp"
#include "question.hpp"

#include <answers/job_verdict.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <text/write_file.hpp>

#include <filesystem>

namespace py = pybind11;

namespace fabricost::python {

static auto explained(const FoundPlan& found) { return explain_step(found.system, found.question, found.plan.layouts.front()); }

void add_plan(py::module_& module) {
  using T = StepTerm;
  using L = PlannedLayout;
  using S = PlanChange;
  using P = PlanAnswer;
  using W = ExplainedTerm;
  using E = PlanExplanation;
  add_answer<T>(module, "StepTerm", "One thing a step or a token is spent on.").def("__repr__", [](const T& t) {
    return fmt::format("{}: {:.4g} s", t.name, t.time.value());
  });
  add_answer<MemoryPart>(module, "MemoryPart", "One part of a GPU's memory.").def("__repr__", [](const MemoryPart& m) {
    return fmt::format("{}: {:.2f} GiB", m.name, m.bytes.value() / gibibyte);
  });
  add_answer<L>(module, "TrainingPlan", "One layout of a training job, with its step. Made by plan.")
      .property(
          "bottleneck", [](const L& p) { return largest(p.terms); }, "The largest StepTerm.")
      .def("__repr__", [](const L& p) {
        return fmt::format("{:.4g} s a step ({:.3g} to {:.3g} s): tp {} pp {} cp {} ep {} dp {}, microbatch {}, {}, {:.1f} GiB, MFU {:.1f} %",
                           p.step.value(), p.interval.first.value(), p.interval.second.value(), p.tp, p.pp, p.cp, p.ep, p.dp, p.microbatch,
                           p.schedule, p.memory_size.value() / gibibyte, 100 * p.mfu);
      });
  add_answer<S>(module, "Sensitivity", "What one change of the machine gives a training job. Made by Plans.sensitivity.")
      .def("__repr__", [](const S& s) { return fmt::format("{}: {:.4g} s, {:+.2f} %", s.change, s.step.value(), 100 * s.gain); });
  add_answer<W>(module, "ExplainedTerm", "A term of a step with its arithmetic.").def("__repr__", [](const W& w) {
    return fmt::format("{}: {:.4g} s", w.name, w.time.value());
  });
  add_answer<E>(module, "PlanExplanation", "Why a layout takes as long as it does. Made by Plans.explanation.")
      .def("__repr__", [](const E& e) { return e.against_usual; });
  add_answer<PlannedSites>(module, "PlannedSites", "A training job on several sites. Stands in Plans.sites.")
      .def("__repr__", [](const PlannedSites& a) {
        return fmt::format("{} sites of {} GPUs: {:.4g} s a step with exchange, {:.4g} tokens/s ({:.4g} useful)", a.sites, a.gpus / a.sites,
                           a.step.value(), a.tokens_per_second, a.useful_tokens_per_second);
      });
  auto plans = add_answer_of_rows<P>(
      module, "Plans", "Layouts of a training job, fastest first: `plans[0]`, `plans[:3]`, `for plan in plans`. Made by plan.", &P::layouts);
  py::setattr(plans, "to_dict",
              py::cpp_function(
                  [values = py::object(plans.attr("to_dict"))](const py::object& self) {
                    py::dict out = values(self);
                    const py::object best = self.attr("unrestricted");
                    out["best"] = best.is_none() ? best : best.attr("to_dict")();
                    return out;
                  },
                  py::is_method(plans), py::name("to_dict"), "to_dict(self)\n--\n\nField names and values, a dict that json.dumps takes."));
  plans.property("best", [](const P& p) { return p.layouts.front(); }, "The fastest layout of those asked for, `plans[0]`.")
      .property(
          "unrestricted", [](const P& p) { return answered([&] { return best_of_job(p); }); },
          "Where one layout was named that fits, the best with its fields open, in the same stack, a search of its own; None: none was.")
      .def(
          "sensitivity", [](const P& p) { return answered([&] { return changes_of(found_of(p)); }); },
          R"(sensitivity(self)
--

The search again with 10 % more of each tier's bandwidth, of memory and of arithmetic, and with a domain twice as large: a list of
Sensitivity, the most helpful first.

>>> import fabricost as fc
>>> plans = fc.plan("dgx-h100", "llama3-8b", gpus=16, global_batch=64)
>>> plans.sensitivity()[0].gain > 0
True
)")
      .def(
          "explanation",
          [](const P& p) {
            return answered([&] { return explanation_of(found_of(p), explained(found_of(p))); });
          },
          "explanation(self)\n--\n\nThe fastest layout term by term: arithmetic, groups of ranks, links, what would change it, and the "
          "usual "
          "layout beside it.")
      .def(
          "explain",
          [](const P& p) {
            return answered([&] { return explain(explained(found_of(p))); });
          },
          "explain(self)\n--\n\nThe same as text, as `plan --explain` prints it.")
      .def(
          "pareto",
          [](const P& p) {
            return answered([&] {
              P out = p;
              out.layouts = planned(found_of(p).question, found_of(p).system, pareto_of(found_of(p).system, found_of(p).question));
              return out;
            });
          },
          "pareto(self)\n--\n\nLayouts that no other beats in both time and memory, fastest first: Plans. Every layout that fits is priced "
          "for it.")
      .def(
          "save_trace",
          [](const P& p, const py::object& folder) {
            const std::filesystem::path into = path_of(folder, "folder");
            const auto files = answered([&] { return timeline_of(found_of(p)); });
            std::error_code error;
            std::filesystem::create_directories(into, error);
            if (error) throw RequestError(fmt::format("folder: {} cannot be made: {}", into.string(), error.message()));
            for (const TimelineFile& file : files) write_file((into / file.name).string(), file.text, "folder");
          },
          py::arg("folder"),
          "save_trace(self, folder)\n--\n\nWrites the step of the fastest layout as traces of one rank of each stage, which "
          "read_trace reads.")
      .def("__repr__", [](const P& p) {
        if (p.layouts.empty()) return fmt::format("no layouts of {} on {} GPUs of {}", p.model, p.gpus, p.system);
        return fmt::format("{}\n  {} layouts of {} on {} GPUs of {}", verdict_of(p), p.layouts.size(), p.model, p.gpus, p.system);
      });
  add_question<WithProgress<PlanRequest>>(
      module, "plan", 2,
      R"(The layouts that train a model fastest on a machine, Plans: every layout of the space is priced or shown not to
be needed.

step = microbatches x (forward + backward + weight gradient of the fullest stage + accumulation) + bubble + exposed communication
+ optimizer

What is given of a layout is fixed, the rest is searched. A layout is named where tp, pp and one of cp, dp, microbatch are given: without
recompute it is priced with none, whether it fits or not (Plans.fits, Plans.advice). Near the last bytes of a GPU PyTorch's allocator frees
its cache and asks again, and steps slow down: hence headroom.)",
      R"(Other Python threads run during the search. Raises RequestError where nothing fits or is possible, with what comes nearest.

>>> import fabricost as fc
>>> plans = fc.plan(fc.load_system("dgx-h100"), fc.load_model("llama3-8b"), gpus=16, global_batch=64)
>>> best = plans[0]
>>> best.tp * best.pp * best.cp * best.dp, best.bottleneck.name
(16, 'compute')
>>> abs(sum(term.seconds for term in best.terms) / best.step_seconds - 1) < 1e-9
True
)");
}

}  // namespace fabricost::python
