/// fc.predict and fc.explain: one answer for one request, an array of answers for a request with arrays; fc.crossovers: the sizes from
/// which each pair runs, and from which each is fastest; fc.predict_inference and fc.fused_norm: all-reduces of inference engines, and the
/// norm that follows.

#include "answers/verdict.hpp"
#include "bindings.hpp"
#include "core/operations.hpp"
#include "core/predictions.hpp"
#include "question.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/answers/sweep.hpp>
#include <fabricost/explain/explain.hpp>

namespace py = pybind11;

namespace fabricost::python {
namespace {

constexpr const char* what_moves = "AllReduce, AllGather, ...; or MoeDispatch, MoeCombine, MoePrepare";

struct PredictCall : PredictRequest {
  GivenOperation given{};
  int threads = 0;

  static constexpr auto by_place = system_and_operation;
  static RequestTable<PredictCall> fields() {
    using R = PredictCall;
    using enum Amount;
    return {PredictRequest::fields(), asks(&R::given, "operation", "", "", what_moves, true),
            asks(&R::threads, "threads", "", count, {0, 1e9}, "",
                 "How many share the sizes of an array; 0: one, and as many as pay where there are millions")};
  }
};

struct ExplainCall : ExplainRequest {
  GivenOperation given{};

  static constexpr auto by_place = system_and_operation;
  static RequestTable<ExplainCall> fields() {
    return {ExplainRequest::fields(),
            asks(&ExplainCall::given, "operation", "", "", "What predict takes, without arrays; or what it returned", true)};
  }
};

/// Nothing but machine and operation. \throws RequestError
void refuse_others(const py::kwargs& kwargs, std::string_view what) {
  for (const auto& [key, value] : kwargs)
    if (const std::string_view name = text_of(key, "the name of an argument"); name != "system" && name != "operation" && !value.is_none())
      throw RequestError(fmt::format("{} does not go with {}", name, what));
}

/// Arrays of answers. \throws RequestError
[[nodiscard]] Predictions many(const PredictCall& r) {
  need_machine(r.system);
  const Choice choice = choice_of(r);
  if (choice.inference.from_host || r.fused_norm)
    throw Refusal("<launch=eager> and <fused_norm> are of one operation at a time: give no arrays");
  if (r.upgrade) throw Refusal("<upgrade> is of one operation at a time: give no arrays");
  py::object system = object_of(r.system);
  if (r.lost_rails > 0) system = system.attr("without_rails")(r.lost_rails);
  if (r.library && is_nccl(*r.library))
    system = py::cast(System{*with_library(std::make_shared<const System>(system.cast<const System&>()), r.library)});
  const Operation& operation = r.given.operation().scalar;
  check_ranges(static_cast<const PredictRequest&>(r));
  check_call(system.cast<const System&>(), choice, operation.collective, operation.dtype);
  Predictions out = predict_all(std::move(system), r.given.operation(), choice, r.threads);
  if (r.lost_rails > 0 && out.size() > 0 && !out.uses_nics)
    throw Refusal("<lost_rails>: nothing crosses the NICs here; take <nodes> of more than one scale-up domain, or leave it out");
  return out;
}

[[nodiscard]] py::object predict_request(const py::args& args, const py::kwargs& kwargs) {
  return spelled_out([&]() -> py::object {
    auto r = request_of<PredictCall>("predict", 2, args, kwargs);
    if (auto exchange = r.given.request != nullptr ? std::nullopt : exchange_request(r.given.value)) {
      refuse_others(kwargs, "an exchange of experts");
      return py::cast(exchange_answer(*exchange, r.system));
    }
    if (r.given.operation().has_arrays()) return py::cast(many(r));
    put_operation(r.given.operation(), r);
    return py::cast(answer(static_cast<const PredictRequest&>(r)));
  });
}

[[nodiscard]] std::string explain_request(const py::args& args, const py::kwargs& kwargs) {
  return spelled_out([&]() -> std::string {
    auto r = request_of<ExplainCall>("explain", 2, args, kwargs);
    const bool given = static_cast<bool>(r.given.value), made = given && py::isinstance<PredictAnswer>(r.given.value);
    if (made || (given && py::isinstance<MoeAnswer>(r.given.value))) {  // reuses the given prediction
      refuse_others(kwargs, "a prediction, which is told as it is");
      need_machine(r.system);
      const auto system = r.system.get();
      return made ? explain(*system, r.given.value.cast<const PredictAnswer&>())
                  : explain(*system, r.given.value.cast<const MoeAnswer&>().made);
    }
    if (auto exchange = exchange_request(r.given.value)) {
      refuse_others(kwargs, "an exchange of experts");
      const MoeAnswer found = exchange_answer(*exchange, r.system);
      return explain(*found.machine, found.made);
    }
    put_operation(r.given.operation(), r);
    return answer(static_cast<const ExplainRequest&>(r)).text;
  });
}

}  // namespace

void add_predict(py::module_& module) {
  add_answer<UpgradeAnswer>(module, "Upgrade", "The same question with another NCCL. Made by predict with upgrade=.");
  add_function<PredictCall>(
      module, "predict", 2, &predict_request, "Any",
      R"(Time of an operation, a Prediction: seconds = sum of its terms' seconds.

With arrays in the operation, Predictions: one for each element of what the fields broadcast to, as NumPy does it. An exchange of experts
is answered with a MoePrediction.)",
      R"(What runs between which sizes is worked out once per (ranks, nodes), so a size of an array costs some nanoseconds; other Python
threads run meanwhile. A time of an array is that of its size alone to 1e-9, and to 2e-14 where nothing overlaps.

Raises RequestError when the ranks do not fit the machine, a size is negative or not a number, or nothing allowed can run; ValueError
when the shapes do not broadcast.

>>> import fabricost as fc, numpy as np
>>> system = fc.load_system("dgx-h100")
>>> p = fc.predict(system, fc.AllReduce(bytes=256 * fc.MiB, ranks=64))
>>> p.ranks, p.nodes, p.bottleneck.tier
(64, 8, 'nic')
>>> abs(sum(term.seconds for term in p.terms) / p.seconds - 1) < 1e-12
True
>>> round(p.bus_bytes_per_second * p.seconds / (256 * fc.MiB), 6)  # 2 (n-1)/n
1.96875
>>> grid = fc.predict(system, fc.AllReduce(bytes=2.0 ** np.arange(10, 34), ranks=np.array([8, 16, 64, 512])[:, None]))
>>> grid.seconds.shape, bool((grid.seconds > 0).all())
((4, 24), True)
>>> small = fc.AllReduce(bytes=64 * fc.KiB)
>>> fc.predict("dgx-h100", small, library="vllm").seconds < fc.predict("dgx-h100", small).seconds
True
)");
  add_function<ExplainCall>(module, "explain", 2, &explain_request, "str",
                            R"(The whole story of one prediction as text.

The schedule, the arithmetic with numbers put in (s, byte, byte/s), where each constant comes from, which tier binds, and what would change
the answer. A prediction made for this system is told as it is: nothing is predicted again.)",
                            R"(Raises RequestError as predict.

>>> import fabricost as fc
>>> system = fc.load_system("dgx-h100")
>>> "nvlink" in fc.explain(system, fc.AllReduce(bytes=64 * fc.MiB))
True
>>> p = fc.predict(system, fc.AllReduce(bytes=64 * fc.KiB), library="vllm")
>>> fc.explain(system, p) == fc.explain(system, fc.AllReduce(bytes=64 * fc.KiB), library="vllm")
True
)");
}

namespace {

struct CrossoversCall : CrossoversRequest {
  GivenOperation given{};

  static constexpr auto by_place = system_and_operation;
  static RequestTable<CrossoversCall> fields() {
    return {CrossoversRequest::fields(),
            asks(&CrossoversCall::given, "operation", "", "", "An Operation without arrays; its bytes do not matter", true)};
  }
};
[[nodiscard]] CrossoversAnswer answer(const CrossoversCall& call) {
  CrossoversRequest r = call;
  const OperationRequest& of = call.given.operation();
  if (of.ranks || of.nodes) throw RequestError("ranks and nodes of the operation are arrays; give lists: crossovers(..., ranks=[8, 16])");
  const Operation& op = of.scalar;
  r.operation = op.collective;
  r.dtype = op.dtype;
  if (op.collective == Collective::send_recv) r.path = op.path;
  if (r.nodes.values.empty() && op.nodes > 0) r.nodes.values = {op.nodes};
  if (r.ranks.values.empty() && op.ranks > 0) r.ranks.values = {op.ranks};
  return fabricost::core::answer(r);
}

}  // namespace

void add_crossovers(py::module_& module) {
  using A = CrossoversAnswer;
  add_answer<CrossoverAnswer>(module, "Crossover", "What it is from a size on.").def("__repr__", [](const CrossoverAnswer& c) {
    return fmt::format("{} {} from {:.0f} bytes", c.algorithm, c.protocol, c.from.value());
  });
  add_answer<CrossoversAtCount>(module, "CrossoversAtCount", "What runs and what is fastest on so many ranks.")
      .def("__repr__", [](const CrossoversAtCount& c) {
        return fmt::format("{} ranks on {}: {} run, {} are fastest", c.ranks, counted(c.nodes, "node"), c.runs.size(), c.fastest.size());
      });
  add_answer_of_rows<A>(module, "Crossovers", "Sizes at which what runs, and what is fastest, change: a row a count. Made by crossovers.",
                        &A::rows)
      .def("__repr__", [](const A& a) {
        return verdict_of(a);
      });
  add_question<CrossoversCall>(module, "crossovers", 2,
                           R"(For each count from which size what runs, by the library's own choice, and what is fastest: Crossovers.)",
                           R"(>>> import fabricost as fc
>>> row = fc.crossovers("dgx-b200", fc.AllReduce(), sizes=[fc.KiB, fc.GiB])[0]
>>> row.runs[-1].algorithm, row.fastest[0].algorithm
('nvls', 'one_shot')
)");
}

void add_inference(py::module_& module) {
  using N = FusedNormAnswer;
  add_answer<N>(module, "FusedNorm", "An all-reduce, then residual and norm, as two kernels and as one: Prediction.norm.")
      .def(
          "explain", [](const N& n) { return explain(n.made); },
          "explain(self)\n--\n\nBoth times with the numbers they are made of, as text.")
      .def("__repr__", [](const N& n) {
        return fmt::format("all-reduce {:.4g} us; with residual and norm {:.4g} us apart, {:.4g} us fused", 1e6 * n.all_reduce.value(),
                           1e6 * n.apart.value(), 1e6 * n.fused.value());
      });
}

}  // namespace fabricost::python
