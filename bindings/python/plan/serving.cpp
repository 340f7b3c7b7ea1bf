/// fc.plan_serve.

#include "bindings.hpp"
#include "question.hpp"

#include <answers/job_verdict.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/serving/arrivals/requests.hpp>

namespace py = pybind11;

namespace fabricost::plan {

/// A number of requests per second, or the command's notation.
static void from_object(py::handle given, std::string_view name, const Range& range, RequestRate& out) {
  if (PyUnicode_Check(given.ptr()) != 0) return from_text(std::string{python::text_of(given, name)}, name, Amount::number, range, out);
  out.per_second = python::real(given, name, range.min, range.max);
}

/// A share below 1, a number of tokens, or the command's notation.
static void from_object(py::handle given, std::string_view name, const Range& range, RepeatedTokens& out) {
  from_text(
      PyUnicode_Check(given.ptr()) != 0 ? std::string{python::text_of(given, name)} : fmt::format("{}", python::real(given, name, 0, 1e7)),
      name, Amount::number, range, out);
}

/// The command's notation.
static void from_object(py::handle given, std::string_view name, const Range& range, PrefixTiers& out) {
  from_text(std::string{python::text_of(given, name)}, name, Amount::number, range, out);
}

/// A path, or a table with the columns of a trace.
static void from_object(py::handle given, std::string_view name, const Range&, RequestTrace& out) {
  if (python::is_path(given)) {
    out.file = python::file_of(given, name);
    return;
  }
  if (!py::hasattr(given, "__getitem__") || !(py::hasattr(given, "keys") || py::hasattr(given, "columns")))
    python::throw_type(name, "a path, or a table with timestamp, input_length and output_length,", given);
  const auto column = [&](const char* of) {
    py::object values;
    try {
      values = given[py::str(of)];
    } catch (const py::error_already_set&) {
      throw RequestError(fmt::format("{}: a table with a column \"{}\" is wanted", name, of));
    }
    return python::reals(values, fmt::format("{}: {}", name, of), 0, 1e15);
  };
  const std::vector<double> at = column("timestamp"), prompts = column("input_length"), answers = column("output_length");
  if (at.empty() || at.size() != prompts.size() || at.size() != answers.size())
    throw RequestError(fmt::format("{}: the columns have {}, {} and {} values", name, at.size(), prompts.size(), answers.size()));
  RequestLoad load;
  for (std::size_t i = 0; i < at.size(); ++i)
    if (const std::string wrong = add_request(load, at[i], prompts[i], answers[i]); !wrong.empty())
      throw RequestError(fmt::format("{}: request {}: {}", name, i, wrong));
  complete(load);
  out.value = std::make_shared<const RequestLoad>(std::move(load));
}

}  // namespace fabricost::plan

namespace fabricost::python {

void add_serving(py::module_& module) {
  using D = PlannedDeployment;
  using P = ServeAnswer;
  add_argument_type<RequestRate>("float | str");
  add_argument_type<RepeatedTokens>("float | str");
  add_argument_type<PrefixTiers>("str");
  add_argument_type<RequestTrace>("Any");
  add_answer<RequestTimes>(module, "RequestTimes", "Times of requests: their mean and percentiles.")
      .def("__repr__", [](const RequestTimes& t) {
        return fmt::format("mean {:.4g} s, p50 {:.4g}, p90 {:.4g}, p99 {:.4g}", t.mean.value(), t.p50.value(), t.p90.value(),
                           t.p99.value());
      });
  add_answer<ServedArrivals>(module, "ServedArrivals", "A deployment under requests that arrive. Made by plan_serve.")
      .def("__repr__", [](const ServedArrivals& a) {
        return fmt::format("{:.4g} of {:.4g} requests/s, {:.1f} % within the limits, p99 TTFT {:.4g} s", a.rate, a.asked, 100 * a.within,
                           a.ttft.p99.value());
      });
  add_answer<TokenPrice>(module, "TokenPrice", "What tokens of one kind cost, by the GPU time that they take; all kinds together pay for all GPUs.")
      .def("__repr__", [](const TokenPrice& t) {
        return fmt::format("{}: {}{:.1f} % of the price", t.tokens, t.dollars ? fmt::format("{:.4g} USD a million, ", *t.dollars) : "", 100 * t.share);
      });
  add_answer<D>(module, "ServePlan", "One deployment of a served model. Made by plan_serve.")
      .property(
          "bottleneck", [](const D& p) { return largest(p.terms); }, "The largest StepTerm of a token.")
      .def("__repr__", [](const D& p) {
        const auto [low, high] = p.interval_tokens_per_second_per_gpu;
        return fmt::format("{:.4g} tokens/s/GPU ({:.3g} to {:.3g}): {} x tp {} pp {} ep {} dp {}, batch {:.0f}, TTFT {:.4g} s, TPOT {:.4g} ms",
                           p.tokens_per_second_per_gpu, low, high, p.replicas, p.tp, p.pp, p.ep, p.dp, p.batch, p.ttft.value(),
                           1e3 * p.tpot.value());
      });
  add_answer_of_rows<P>(module, "ServePlans", "Deployments, most tokens per second and GPU first. Made by plan_serve.", &P::layouts)
      .def(
          "pareto",
          [](const P& p) {
            return answered([&] {
              P out = p;
              out.layouts = planned(found_of(p).question, found_of(p).system, serving_pareto(found_of(p).system, found_of(p).question));
              return out;
            });
          },
          R"(pareto(self)
--

Throughput against interactivity: deployments and batches within the limits that no other beats in tokens per second and GPU without
being slower for a user, most per user first: ServePlans. Both ends, and between them rows that differ by a tenth in one of the two.

>>> import fabricost as fc
>>> front = fc.plan_serve("dgx-h100", "llama3-70b", gpus=8).pareto()
>>> front[0].tokens_per_second_per_user > front[-1].tokens_per_second_per_user
True
)")
      .def("__repr__", [](const P& p) {
        if (p.layouts.empty()) return fmt::format("no deployments of {} on {} GPUs of {}", p.model, p.gpus, p.system);
        return fmt::format("{}\n  {} deployments of {} on {} GPUs of {}", verdict_of(p), p.layouts.size(), p.model, p.gpus, p.system);
      });
  add_question<WithProgress<ServeRequest>>(
      module, "plan_serve", 2,
      R"(The deployments that answer most tokens per second on so many GPUs within limits on time, ServePlans.

tokens/s = concurrency x osl / (TTFT + osl TPOT)

What is given of a layout is fixed, the rest is searched. What lies in the host's memory every pass fetches; a deployment puts no more there
than its batch needs.

With request_rate, or requests of a trace, requests arrive and wait for their turn in a simulated scheduler; limits are then of a percentile,
and each deployment has its arrivals.)",
      R"(Other Python threads run during the search. Raises RequestError where nothing fits (its reason is 'memory') or meets the limits
('limits'), with what comes nearest.

>>> import fabricost as fc
>>> best = fc.plan_serve(fc.load_system("dgx-h100"), fc.load_model("llama3-70b"), gpus=8, tpot_seconds=0.03)[0]
>>> best.tpot_seconds <= 0.03
True
>>> abs(sum(term.seconds for term in best.terms) / best.tpot_seconds - 1) < 1e-9
True
)");
}

}  // namespace fabricost::python
