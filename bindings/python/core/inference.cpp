/// \file inference.cpp
/// All-reduces of inference engines: own kernels, NCCL above a size, and the norm that follows.

#include "bindings.hpp"
#include "core/operations.hpp"
#include "question.hpp"

#include <fabricost/answers/predict.hpp>

namespace py = pybind11;

namespace fabricost::python {
namespace {

/// predict with the kernels of an engine, unless it is said otherwise.
struct EngineCall : PredictRequest {
  GivenOperation given{};
  bool from_python = false;
  EngineCall() { library = Inference{.library = InferenceLibrary::vllm}; }

  template <class R>
  static constexpr auto engine_fields() {
    using enum Amount;
    return Table{fabricost::core::field::ask_system<R>, asks(&R::given, "operation", "", "", "An Operation without arrays", true),
                 asks(&R::library, "library", "", "", "vllm, sglang or trtllm"),
                 asks(&R::version, "version", "", "", "As in 0.14.0; default the newest known")};
  }
  static constexpr auto by_place = system_and_operation;
  static constexpr auto fields() {
    using R = EngineCall;
    using enum Amount;
    return tables(engine_fields<R>(),
                  Table{asks(&R::from_python, "from_python", "", "", "The same as <launch=eager>"),
                        asks(&R::launch, "launch", "", "",
                             "graph, replayed in a CUDA graph, the default; eager, called from Python: max(kernel, launch) on "
                             "the host, known for AllReduce alone")});
  }
};
[[nodiscard]] PredictAnswer answer(const EngineCall& call) {
  PredictRequest r = call;
  if (call.from_python && r.launch && *r.launch != LaunchMode::eager)
    throw Refusal("<launch=graph> and <from_python=True> contradict each other; leave one out");
  if (call.from_python) r.launch = LaunchMode::eager;
  put_operation(call.given.operation(), r);
  return fabricost::core::answer(r);
}

struct NormCall : EngineCall {
  static constexpr auto fields() { return engine_fields<NormCall>(); }
};
[[nodiscard]] FusedNormAnswer answer(const NormCall& call) {
  EngineCall r = call;
  r.fused_norm = true;
  return *answer(r).norm;
}

}  // namespace

void add_inference(py::module_& module) {
  using N = FusedNormAnswer;
  add_answer<N>(module, "FusedNorm", "An all-reduce, then residual and norm, as two kernels and as one. Made by fused_norm.")
      .def(
          "explain", [](const N& n) { return explain(n.made); },
          "explain(self)\n--\n\nBoth times with the numbers they are made of, as text.")
      .def("__repr__", [](const N& n) {
        return fmt::format("all-reduce {:.4g} us; with residual and norm {:.4g} us apart, {:.4g} us fused", 1e6 * n.all_reduce.value(),
                           1e6 * n.apart.value(), 1e6 * n.fused.value());
      });
  add_question<EngineCall>(module, "predict_inference", 2,
                       R"(Time of one all-reduce as an inference engine runs it, a Prediction: predict with library='vllm'.

Its own one-shot or two-shot kernel up to a size, NCCL beyond. Any other operation runs as NCCL's. fused_norm adds what follows.)",
                       R"(>>> import fabricost as fc
>>> p = fc.predict_inference("dgx-h100", fc.AllReduce(bytes=64 * fc.KiB, ranks=8), library="vllm")
>>> p.seconds < fc.predict(fc.load_system("dgx-h100"), fc.AllReduce(bytes=64 * fc.KiB, ranks=8)).seconds
True
)");
  add_question<NormCall>(module, "fused_norm", 2,
                     R"(An all-reduce of an inference engine, then adding the residual and normalising, in a CUDA graph: a FusedNorm.

apart = all-reduce + 1.8 us + 4 S / M;  fused = all-reduce + 3 S / M: the sum is still in registers. S is the operation's bytes, M what
kernels reach of the memory's rate.)",
                     R"(Raises RequestError for anything but an AllReduce.

>>> import fabricost as fc
>>> norm = fc.fused_norm("dgx-h100", fc.AllReduce(bytes=64 * fc.KiB))
>>> norm.fused_seconds < norm.apart_seconds
True
)");
}

}  // namespace fabricost::python
