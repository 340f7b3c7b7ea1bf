/// \file inference.cpp
/// All-reduces as inference engines run them: kernels of their own, NCCL beyond a size.

#include "asked.hpp"
#include "bindings.hpp"
#include "operations.hpp"

#include <fabricost/predict/predict.hpp>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

[[nodiscard]] Prediction predict_inference(const py::object& given, const AskedOperation& asked, const py::object& library,
                                           const py::object& version, const py::object& from_python) {
  const System system = system_from(given);
  const Operation& op = asked.one();
  const std::string engine = text(library, "library");
  const auto found = parse_inference_library(engine);
  const auto known = cli::listed(std::span{inference_library_names}.subspan<1>());
  if (!found) throw RequestError("library: " + cli::unknown_text(engine, "an inference engine", known));
  Inference inference{.library = *found, .version = 0, .from_host = flag(from_python, "from_python")};
  if (const auto release = text_or_none(version, "version")) {
    inference.version = version_number(*release);
    if (inference.version == 0) throw RequestError(fmt::format("version: \"{}\" is no version; write it as in \"0.14.0\"", *release));
  }
  return predict(system, op, Choice{.inference = inference});
}

}  // namespace

void add_inference(py::module_& module) {
  module.def("predict_inference", &predict_inference, "system"_a, "operation"_a, py::kw_only(), "library"_a = "vllm",
             "version"_a = py::none(), "from_python"_a = false,
             R"(predict_inference(system, operation, *, library='vllm', version=None, from_python=False)
--

Time of one all-reduce as an inference engine runs it, a Prediction: its own one-shot or two-shot kernel up to a size, NCCL beyond.

library: vllm, sglang or trtllm, in a CUDA graph. version: as in '0.14.0', default the newest known.
from_python: called from Python, not replayed in a graph: max(kernel, launch) on the host.
Any other operation runs as NCCL's.

>>> import fabricost as fc
>>> p = fc.predict_inference("dgx-h100", fc.AllReduce(bytes=64 * fc.KiB, ranks=8), library="vllm")
>>> p.seconds < fc.predict(fc.load_system("dgx-h100"), fc.AllReduce(bytes=64 * fc.KiB, ranks=8)).seconds
True
)");
}

}  // namespace fabricost::python
