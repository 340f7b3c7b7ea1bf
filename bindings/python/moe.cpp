/// \file moe.cpp
/// Dispatch and combine of experts with the kernels that inference engines run.

#include "asked.hpp"
#include "bindings.hpp"
#include "record.hpp"
#include "routing.hpp"

#include <fabricost/explain/assumed.hpp>
#include <fabricost/explain/moe.hpp>
#include <fabricost/kernels/moe_kernels.hpp>

#include <array>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

constexpr std::array<std::string_view, 3> operation_names{"moe_prepare", "moe_dispatch", "moe_combine"};
constexpr std::array<const char*, 3> exchange_classes{"MoePrepare", "MoeDispatch", "MoeCombine"};

/// A question of one phase, so that Python has a class of its own.
template <MoePhase P>
struct Exchange {
  double tokens = 0;
  int hidden = 0, experts = 0, top_k = 0, ranks = 0, nodes = 0;
  std::string implementation{}, distribution{};
  std::vector<double> histogram{};
  std::optional<std::string> dtype{};
  int groups = 0, group_limit = 0, sms = 0;
};

struct Predicted {
  std::string operation{}, system{}, implementation{}, dtype{};
  int nodes = 1, ranks = 1;
  double tokens = 0, copies = 0, bytes = 0, inside_bytes = 0, across_bytes = 0, seconds = 0;
  double algorithm_bytes_per_second = 0, bus_bytes_per_second = 0;
  std::string basis{};
  std::vector<std::string> extrapolated{}, assumed{};
  std::pair<double, double> interval_seconds{};
  std::vector<Term> terms{};
  MoePrediction made{};  ///< not a field of the class in Python: what explain() prints
};

/// As it is kept: a name, or the tokens each expert was seen to receive.
[[nodiscard]] Routing routing_of(const std::string& distribution, const std::vector<double>& histogram) {
  if (!histogram.empty()) return {.kind = RoutingKind::histogram, .histogram = histogram};
  return routing_named(distribution, "distribution", "a distribution");
}

[[nodiscard]] std::optional<Precision> precision_of(const std::optional<std::string>& given) {
  if (!given) return std::nullopt;
  const std::string t = fabricost::detail::folded(*given);
  if (t == "half" || t == "fp16" || t == "bfloat16" || t == "bf16") return Precision::bf16;
  if (t == "fp8") return Precision::fp8;
  if (t == "nvfp4" || t == "fp4") return Precision::fp4;
  throw RequestError(
      "dtype: " + cli::unknown_text(*given, "a type that tokens travel in", std::vector<std::string>{"bfloat16", "half", "fp8", "nvfp4"}));
}
[[nodiscard]] const char* type_name(Precision p) { return p == Precision::fp8 ? "fp8" : p == Precision::fp4 ? "nvfp4" : "bfloat16"; }

template <MoePhase P>
[[nodiscard]] Exchange<P> ask(const py::object& tokens, const py::object& hidden, const py::object& experts, const py::object& top_k,
                              const py::object& ranks, const py::object& nodes, const py::object& implementation, const py::object& dtype,
                              const py::object& distribution, const py::object& groups, const py::object& group_limit,
                              const py::object& sms) {
  needed(hidden, "hidden", "hidden=7168 numbers of a token");
  needed(experts, "experts", "experts=256 over all ranks");
  needed(top_k, "top_k", "top_k=8 experts a token goes to");
  Exchange<P> out{.tokens = real(tokens, "tokens", 0, 1e12),
                  .hidden = whole(hidden, "hidden"),
                  .experts = whole(experts, "experts"),
                  .top_k = whole(top_k, "top_k"),
                  .ranks = whole(ranks, "ranks", 0),
                  .nodes = whole(nodes, "nodes", 0),
                  .implementation = {},
                  .distribution = {},
                  .histogram = {},
                  .dtype = text_or_none(dtype, "dtype"),
                  .groups = whole(groups, "groups", 0),
                  .group_limit = whole(group_limit, "group_limit", 0),
                  .sms = whole(sms, "sms", 0)};
  const std::string kernel = text(implementation, "implementation");
  const auto found = parse_moe_kernel(kernel);
  if (!found) throw RequestError("implementation: " + cli::unknown_text(kernel, "an implementation", cli::listed(moe_kernel_names)));
  out.implementation = name(*found);
  if (PyUnicode_Check(distribution.ptr()) != 0) {
    out.distribution = text(distribution, "distribution");
  } else {
    out.distribution = "histogram";
    out.histogram = reals(distribution, "distribution", 0, 1e18);
  }
  static_cast<void>(routing_of(out.distribution, out.histogram));  // refuses what is none
  static_cast<void>(precision_of(out.dtype));
  fabricost::check(Gate{.experts = out.experts, .top_k = out.top_k, .groups = out.groups, .group_limit = out.group_limit});
  return out;
}

template <MoePhase P>
[[nodiscard]] std::string shown(const Exchange<P>& e) {
  std::string out = fmt::format("{}({:.15g}, hidden={}, experts={}, top_k={}", exchange_classes[static_cast<std::size_t>(P)], e.tokens,
                                e.hidden, e.experts, e.top_k);
  for (const auto& [name, value] :
       {std::pair{"ranks", e.ranks}, {"nodes", e.nodes}, {"groups", e.groups}, {"group_limit", e.group_limit}, {"sms", e.sms}})
    if (value > 0) out += fmt::format(", {}={}", name, value);
  out += fmt::format(", implementation='{}'", e.implementation);
  if (e.dtype) out += fmt::format(", dtype='{}'", *e.dtype);
  return out + (e.histogram.empty() ? fmt::format(", distribution='{}')", e.distribution)
                                    : fmt::format(", distribution=[{:.6g}])", fmt::join(e.histogram, ", ")));
}

/// \param nodes of the question, 0: not said
[[nodiscard]] Predicted predicted(const System& system, MoeQuestion q, int nodes) {
  if (nodes > 0) {
    const long long most = static_cast<long long>(nodes) * system.gpus_per_node;
    if (q.ranks == 0) q.ranks = static_cast<int>(std::min<long long>(most, 10'000'000));
    if (q.ranks > most)
      throw RequestError(fmt::format("ranks: {} do not fit on {} of {} GPUs", q.ranks, counted(nodes, "node"), system.gpus_per_node));
  }
  const MoePrediction p = searched([&] { return predict(system, q); });
  Predicted out{.operation = std::string{operation_names[static_cast<std::size_t>(q.phase)]},
                .system = system.name,
                .implementation = std::string{name(q.kernel)},
                .dtype = type_name(p.precision),
                .nodes = p.nodes,
                .ranks = p.placement.ranks,
                .tokens = q.tokens,
                .copies = p.copies,
                .bytes = p.bytes,
                .inside_bytes = p.inside_bytes,
                .across_bytes = p.across_bytes,
                .seconds = p.seconds,
                .algorithm_bytes_per_second = p.algorithm_bandwidth(),
                .bus_bytes_per_second = p.bus_bandwidth(),
                .basis = std::string{name(p.basis)},
                .extrapolated = names_of(p.extrapolated),
                .assumed = assumed(system, p.nodes),
                .interval_seconds = {p.low, p.high},
                .terms = {p.terms.begin(), p.terms.end()},
                .made = p};
  return out;
}

template <MoePhase P>
[[nodiscard]] MoeQuestion question_of(const Exchange<P>& e) {
  return {.phase = P,
          .kernel = *parse_moe_kernel(e.implementation),
          .gate = {e.experts, e.top_k, e.groups, e.group_limit},
          .routing = routing_of(e.distribution, e.histogram),
          .hidden = e.hidden,
          .tokens = e.tokens,
          .ranks = e.ranks,
          .precision = precision_of(e.dtype),
          .sms = e.sms};
}

template <MoePhase P>
[[nodiscard]] Predicted predict_exchange(const py::object& given, const Exchange<P>& e) {
  return predicted(system_from(given), question_of(e), e.nodes);
}

template <MoePhase P>
[[nodiscard]] std::string explain_exchange(const py::object& given, const Exchange<P>& e) {
  const System system = system_from(given);
  return explain(system, predicted(system, question_of(e), e.nodes).made);
}

template <MoePhase P>
void add_exchange(py::module_& module, const char* what) {
  using E = Exchange<P>;
  const std::string doc = fmt::format(
      "{}\n\n"
      "tokens: of every rank. hidden: numbers of a token. experts: over all ranks. top_k: experts a token goes to.\n"
      "ranks: GPUs, 0 for one scale-up domain or all of `nodes`. nodes: nodes they sit on, 0 for as few as hold the ranks.\n"
      "implementation: deepep-normal, deepep-low-latency, trtllm-NVLinkOneSided, trtllm-NVLinkTwoSided or nccl.\n"
      "dtype: bfloat16, half, fp8 or nvfp4 on the wire; default what the kernel sends.\n"
      "distribution: uniform, balanced, zipf:EXPONENT, or a list of the tokens each expert received.\n"
      "groups, group_limit: a token may use group_limit of the groups of experts. sms: SMs of deepep-normal, 0 for its default of 20.",
      what);
  const py::none none;
  add_record<E>(
      module, exchange_classes[static_cast<std::size_t>(P)], doc.c_str(), field("tokens", &E::tokens, "Tokens of every rank."),
      field("hidden", &E::hidden, "Numbers of a token."), field("experts", &E::experts, "Experts over all ranks."),
      field("top_k", &E::top_k, "Experts a token goes to."), field("ranks", &E::ranks, "GPUs asked for; 0: a domain, or all of the nodes."),
      field("nodes", &E::nodes, "Nodes asked for; 0: as few as hold the ranks."),
      field("implementation", &E::implementation, "The kernels, as in deepep-normal."),
      field("distribution", &E::distribution, "How tokens choose: uniform, balanced, zipf:EXPONENT or histogram."),
      field("histogram", &E::histogram, "Tokens by expert, of a histogram."),
      field("dtype", &E::dtype, "On the wire; None: what the kernel sends."), field("groups", &E::groups, "Groups of experts; 0: none."),
      field("group_limit", &E::group_limit, "Groups a token may use; 0: all."),
      field("sms", &E::sms, "SMs of deepep-normal; 0: its default."))
      .def(py::init(&ask<P>), "tokens"_a, py::kw_only(), "hidden"_a = none, "experts"_a = none, "top_k"_a = none, "ranks"_a = 0,
           "nodes"_a = 0, "implementation"_a = "deepep-normal", "dtype"_a = none, "distribution"_a = "uniform", "groups"_a = 0,
           "group_limit"_a = 0, "sms"_a = 0,
           "__init__(self, tokens, *, hidden, experts, top_k, ranks=0, nodes=0, implementation='deepep-normal', dtype=None, "
           "distribution='uniform', groups=0, group_limit=0, sms=0)\n--\n\nArguments as the class says.")
      .def("__repr__", &shown<P>);
}

void add_predicted(py::module_& module) {
  using P = Predicted;
  add_record<P>(module, "MoePrediction", "How long dispatch or combine of one expert layer takes, and why. Made by predict_moe.",
                field("operation", &P::operation, "moe_dispatch, moe_combine or moe_prepare."),
                field("system", &P::system, "Name of the machine."), field("implementation", &P::implementation, "The kernels."),
                field("dtype", &P::dtype, "What travels: bfloat16, fp8 or nvfp4."), field("nodes", &P::nodes, "Nodes the ranks sit on."),
                field("ranks", &P::ranks, "GPUs that took part."), field("tokens", &P::tokens, "Tokens of every rank."),
                field("copies", &P::copies, "Expected copies of a token that kernels count."),
                field("bytes", &P::bytes, "Bytes a rank's tokens send, copies that stay included: what kernels report."),
                field("inside_bytes", &P::inside_bytes, "Of a rank, bytes to other GPUs of its domain."),
                field("across_bytes", &P::across_bytes, "Of a rank, bytes to other domains."),
                field("seconds", &P::seconds, "The time, s: the sum of terms[i].seconds."),
                field("algorithm_bytes_per_second", &P::algorithm_bytes_per_second, "bytes / seconds."),
                field("bus_bytes_per_second", &P::bus_bytes_per_second, "(inside_bytes + across_bytes) / seconds: what leaves the rank."),
                field("basis", &P::basis, "What the constants rest on: calibrated, sibling or datasheet."),
                field("extrapolated", &P::extrapolated, "Which of sizes, ranks, nodes lie outside what was measured."),
                field("assumed", &P::assumed, "What is taken for granted beyond the machine's description, a sentence each."),
                field("interval_seconds", &P::interval_seconds, "(low, high), s: nine in ten measurements fall between."),
                field("terms", &P::terms, "List of Term."))
      .def_property_readonly(
          "bottleneck",
          [](const P& p) {
            return *std::max_element(p.terms.begin(), p.terms.end(), [](const Term& a, const Term& b) { return a.time < b.time; });
          },
          "The largest Term.")
      .def(
          "explain", [](const P& p, const py::object& system) { return explain(system_from(system), p.made); }, "system"_a,
          "explain(self, system)\n--\n\nThe story of this prediction as text, on the system it was made for; nothing is predicted again.")
      .def("__repr__", [](const P& p) {
        return fmt::format("{}: {:.4g} us over {} on {}, {}, {:.4g} MB", p.operation, p.seconds * 1e6, counted(p.ranks, "rank"),
                           counted(p.nodes, "node"), p.implementation, p.bytes / 1e6);
      });
}

}  // namespace

void add_moe(py::module_& module) {
  add_exchange<MoePhase::dispatch>(module, "Tokens of every rank travel to the experts they chose.");
  add_exchange<MoePhase::combine>(module, "What the experts made of them travels back and is added up.");
  add_exchange<MoePhase::prepare>(module, "What trtllm-NVLinkTwoSided exchanges before it dispatches.");
  add_predicted(module);
  constexpr const char* doc = R"(predict_moe(system, operation)
--

Time of one dispatch, combine or prepare of experts, a MoePrediction: seconds = sum of its terms' seconds.

system: a System, or its name or path. operation: MoeDispatch, MoeCombine or MoePrepare.
Copies of a token are expectations: P(a set of m experts is not touched) = C(E - m, k) / C(E, k).

>>> import fabricost as fc
>>> p = fc.predict_moe("dgx-h100", fc.MoeDispatch(4096, hidden=7168, experts=256, top_k=8))
>>> p.ranks, p.dtype, p.operation
(8, 'fp8', 'moe_dispatch')
>>> abs(sum(term.seconds for term in p.terms) / p.seconds - 1) < 1e-9
True
)";
  module.def("predict_moe", &predict_exchange<MoePhase::dispatch>, "system"_a, "operation"_a, doc);
  module.def("predict_moe", &predict_exchange<MoePhase::combine>, "system"_a, "operation"_a, "");
  module.def("predict_moe", &predict_exchange<MoePhase::prepare>, "system"_a, "operation"_a, "");
  module.def("explain", &explain_exchange<MoePhase::dispatch>, "system"_a, "operation"_a, "");
  module.def("explain", &explain_exchange<MoePhase::combine>, "system"_a, "operation"_a, "");
  module.def("explain", &explain_exchange<MoePhase::prepare>, "system"_a, "operation"_a, "");
  module.def(
      "explain", [](const py::object& system, const Predicted& p) { return explain(system_from(system), p.made); }, "system"_a,
      "operation"_a, "");
}

}  // namespace fabricost::python
