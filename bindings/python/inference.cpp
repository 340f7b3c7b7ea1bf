/// \file inference.cpp
/// All-reduces as inference engines run them: kernels of their own, NCCL beyond a size; and the norm that follows one.

#include "asked.hpp"
#include "bindings.hpp"
#include "choices.hpp"
#include "operations.hpp"
#include "record.hpp"

#include <fabricost/explain/explain.hpp>
#include <fabricost/kernels/fused_norm.hpp>
#include <fabricost/predict/predict.hpp>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

/// An all-reduce with what follows it.
struct Normed {
  std::string algorithm{};
  double all_reduce_seconds = 0, apart_seconds = 0, fused_seconds = 0, saved_seconds = 0;
  FusedNorm made{};  ///< not a field of the class in Python: what explain() prints
};

/// What runs: an engine of a version, in a CUDA graph.
[[nodiscard]] Inference engine_of(const py::object& library, const py::object& version) {
  const std::string engine = text(library, "library");
  const auto found = parse_inference_library(engine);
  const auto known = cli::listed(std::span{inference_library_names}.subspan<1>());
  if (!found) throw RequestError("library: " + cli::unknown_text(engine, "an inference engine", known));
  Inference out{.library = *found, .version = 0, .from_host = false};
  if (const auto release = text_or_none(version, "version")) {
    out.version = version_number(*release);
    if (out.version == 0) throw RequestError(fmt::format("version: \"{}\" is no version; write it as in \"0.14.0\"", *release));
  }
  return out;
}

[[nodiscard]] bool from_host(const py::object& launch, const py::object& from_python) {
  const bool called = flag(from_python, "from_python");
  const auto how = launch_of(launch);
  if (how == Launch::graph && called) throw RequestError("launch: 'graph' and from_python=True contradict each other; leave one out");
  return called || how == Launch::eager;
}

void check_launch(const Inference& engine, const Operation& op) {
  if (engine.from_host && op.collective != Collective::all_reduce)
    throw RequestError(
        fmt::format("launch: eager is known for AllReduce alone, not for {}", class_names[static_cast<std::size_t>(op.collective)]));
}

[[nodiscard]] Prediction predict_inference(const py::object& given, const AskedOperation& asked, const py::object& library,
                                           const py::object& version, const py::object& from_python, const py::object& launch) {
  const System system = system_from(given);
  const Operation& op = asked.one();
  Inference inference = engine_of(library, version);
  inference.from_host = from_host(launch, from_python);
  check_launch(inference, op);
  return predict(system, op, Choice{.inference = inference});
}

[[nodiscard]] Normed normed(const py::object& given, const AskedOperation& asked, const py::object& library, const py::object& version) {
  const System system = system_from(given);
  const Operation& op = asked.one();
  const Prediction p = predict(system, op, Choice{.inference = engine_of(library, version)});
  const FusedNorm both = fused_norm(system, p);
  return {.algorithm = std::string{p.algorithm.view()},
          .all_reduce_seconds = p.seconds,
          .apart_seconds = both.apart,
          .fused_seconds = both.fused,
          .saved_seconds = both.saved(),
          .made = both};
}

void add_fused_norm(py::module_& module) {
  using N = Normed;
  add_record<N>(module, "FusedNorm", "An all-reduce, then residual and norm, as two kernels and as one. Made by fused_norm.",
                field("algorithm", &N::algorithm, "What runs the all-reduce, as in `one_shot`."),
                field("all_reduce_seconds", &N::all_reduce_seconds, "The all-reduce alone, s."),
                field("apart_seconds", &N::apart_seconds, "Two kernels: all-reduce + 1.8 us between them + 4 S / M, s."),
                field("fused_seconds", &N::fused_seconds, "One kernel: all-reduce + 3 S / M, s; where NCCL runs nothing fuses."),
                field("saved_seconds", &N::saved_seconds, "apart_seconds - fused_seconds, s."))
      .def(
          "explain", [](const N& n) { return explain(n.made); },
          "explain(self)\n--\n\nBoth times with the numbers they are made of, as text.")
      .def("__repr__", [](const N& n) {
        return fmt::format("all-reduce {:.4g} us; with residual and norm {:.4g} us apart, {:.4g} us fused", 1e6 * n.all_reduce_seconds,
                           1e6 * n.apart_seconds, 1e6 * n.fused_seconds);
      });
  module.def("fused_norm", &normed, "system"_a, "operation"_a, py::kw_only(), "library"_a = "vllm", "version"_a = py::none(),
             R"(fused_norm(system, operation, *, library='vllm', version=None)
--

An all-reduce of an inference engine followed by adding the residual and normalising, in a CUDA graph: a FusedNorm.

apart = all-reduce + 1.8 us + 4 S / M;  fused = all-reduce + 3 S / M: the sum is still in registers. S is the operation's bytes, M what
kernels reach of the memory's rate. Arguments as in predict_inference; RequestError for anything but an AllReduce.

>>> import fabricost as fc
>>> norm = fc.fused_norm("dgx-h100", fc.AllReduce(bytes=64 * fc.KiB))
>>> norm.fused_seconds < norm.apart_seconds
True
)");
}

}  // namespace

Choice engine_choice_of(Choice choice, const Operation& operation, const py::object& library, const py::object& version,
                        const py::object& launch) {
  if (!library.is_none()) choice.inference = engine_of(library, version);
  if (library.is_none() && !version.is_none()) throw RequestError("version is that of an engine: add library");
  choice.inference.from_host = launch_of(launch) == Launch::eager;
  check_launch(choice.inference, operation);
  return choice;
}

void add_inference(py::module_& module) {
  module.def("predict_inference", &predict_inference, "system"_a, "operation"_a, py::kw_only(), "library"_a = "vllm",
             "version"_a = py::none(), "from_python"_a = false, "launch"_a = py::none(),
             R"(predict_inference(system, operation, *, library='vllm', version=None, from_python=False, launch=None)
--

Time of one all-reduce as an inference engine runs it, a Prediction: its own one-shot or two-shot kernel up to a size, NCCL beyond.

library: vllm, sglang or trtllm. version: as in '0.14.0', default the newest known.
launch: 'graph', replayed in a CUDA graph, the default; 'eager', called from Python: max(kernel, launch) on the host, known for
AllReduce alone. from_python=True says eager, too.
Any other operation runs as NCCL's. fused_norm adds what follows.

>>> import fabricost as fc
>>> p = fc.predict_inference("dgx-h100", fc.AllReduce(bytes=64 * fc.KiB, ranks=8), library="vllm")
>>> p.seconds < fc.predict(fc.load_system("dgx-h100"), fc.AllReduce(bytes=64 * fc.KiB, ranks=8)).seconds
True
)");
  add_fused_norm(module);
}

}  // namespace fabricost::python
