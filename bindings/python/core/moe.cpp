/// Dispatch and combine of experts with the kernels that inference engines run.

#include "answers/verdict.hpp"
#include "bindings.hpp"
#include "core/operations.hpp"
#include "question.hpp"

#include <fabricost/answers/moe.hpp>
#include <fabricost/answers/predict.hpp>
#include <fabricost/explain/assumptions.hpp>
#include <fabricost/experts/expert_exchange.hpp>
#include <fabricost/experts/expert_traffic.hpp>
#include <fabricost/experts/imbalance.hpp>
#include <fabricost/explain/explain.hpp>

#include <array>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {

/// An exchange, or what else was given instead.
struct GivenExchange {
  py::object object{};
};
static void from_object(py::handle given, std::string_view /*name*/, const Range&, GivenExchange& out) {
  out.object = py::reinterpret_borrow<py::object>(given);
}

namespace {

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

template <MoePhase P>
[[nodiscard]] Exchange<P> exchange_of(const MoeRequest& r) {
  const Routing& by = r.distribution;
  std::string distribution{name(by.kind)};
  if (by.kind == RoutingKind::zipf) distribution += fmt::format(":{}", by.exponent);
  std::optional<std::string> dtype;
  if (r.dtype) dtype = std::string{token_type_names[static_cast<std::size_t>(*r.dtype)]};
  return {*r.tokens,    *r.hidden,    *r.experts, *r.top_k, r.ranks,       r.nodes, std::string{name(r.implementation)},
          distribution, by.histogram, dtype,      r.groups, r.group_limit, r.sms};
}

template <MoePhase P>
[[nodiscard]] MoeRequest request_for(const Exchange<P>& e) {
  MoeRequest out;
  out.phase = P;
  out.tokens = e.tokens;
  out.hidden = e.hidden;
  out.experts = e.experts;
  out.top_k = e.top_k;
  out.ranks = e.ranks;
  out.nodes = e.nodes;
  out.implementation = *parse_moe_kernel(e.implementation);
  out.groups = e.groups;
  out.group_limit = e.group_limit;
  out.sms = e.sms;
  if (e.dtype) out.dtype = worded<TokenType>(*e.dtype);
  out.distribution = e.histogram.empty() ? routing_from(py::str(e.distribution), "distribution")
                                         : Routing{.kind = RoutingKind::histogram, .histogram = e.histogram};
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

struct MoeCall {
  fabricost::core::Machine system{};
  GivenExchange operation{};

  static RequestTable<MoeCall> fields() {
    using R = MoeCall;
    return {fabricost::core::field::ask_system<R>, asks(&R::operation, "operation", "", "", "MoeDispatch, MoeCombine or MoePrepare", true)};
  }
};

[[nodiscard]] MoeAnswer predict_exchange(const py::args& args, const py::kwargs& kwargs) {
  return spelled_out([&] {
    const auto r = fabricost::python::request_of<MoeCall>("predict_moe", 2, args, kwargs);
    const auto exchange = python::exchange_request(r.operation.object);
    if (!exchange) throw_type("operation", "MoeDispatch, MoeCombine or MoePrepare", r.operation.object ? r.operation.object : py::none());
    return exchange_answer(*exchange, r.system);
  });
}

template <MoePhase P>
void add_exchange(py::module_& module, const char* what) {
  using E = Exchange<P>;
  const char* const name = exchange_classes[static_cast<std::size_t>(P)];
  const std::vector<Argument> arguments = arguments_of<MoeRequest>();
  tell_types(module, name, arguments, name);
  const std::string doc = std::string{what} + "\n\n" + lines_of(arguments);
  add_record<E>(
      module, name, doc.c_str(),
      {field("tokens", &E::tokens, "Tokens of every rank."), field("hidden", &E::hidden, "Numbers of a token."),
       field("experts", &E::experts, "Experts over all ranks."), field("top_k", &E::top_k, "Experts a token goes to."),
       field("ranks", &E::ranks, "GPUs asked for; 0: a domain, or all of the nodes."),
       field("nodes", &E::nodes, "Nodes asked for; 0: as few as hold the ranks."),
       field("implementation", &E::implementation, "The kernels, as in deepep-normal."),
       field("distribution", &E::distribution, "How tokens choose: uniform, balanced, zipf:EXPONENT or histogram."),
       field("histogram", &E::histogram, "Tokens by expert, of a histogram."),
       field("dtype", &E::dtype, "On the wire; None: what the kernel sends."), field("groups", &E::groups, "Groups of experts; 0: none."),
       field("group_limit", &E::group_limit, "Groups a token may use; 0: all."),
       field("sms", &E::sms, "SMs of deepep-normal and its like; 0: the default.")})
      .def(py::init([name](const py::args& args, const py::kwargs& kwargs) {
             return spelled_out([&] {
               const auto request = fabricost::python::request_of<MoeRequest>(name, 1, args, kwargs);
               check(request);
               return exchange_of<P>(request);
             });
           }),
           "__init__(self, tokens, *, hidden, experts, top_k, ranks=0, nodes=0, implementation='deepep-normal', dtype=None, "
           "distribution='uniform', groups=0, group_limit=0, sms=0)\n--\n\nArguments as the class says.")
      .def("__repr__", &shown<P>);
}

void add_predicted(py::module_& module) {
  using P = MoeAnswer;
  add_answer<P>(module, "MoePrediction", "How long dispatch or combine of one expert layer takes, and why. Made by predict_moe.")
      .property(
          "bottleneck",
          [](const P& p) {
            return *std::max_element(p.terms.begin(), p.terms.end(), [](const Term& a, const Term& b) { return a.time < b.time; });
          },
          "The largest Term.")
      .def(
          "explain", [](const P& p, const py::object& system) { return explain(system_from(system), p.made); }, "system"_a,
          "explain(self, system)\n--\n\nThe story of this prediction as text, on the system it was made for; nothing is predicted again.")
      .def("__repr__", [](const P& p) {
        return verdict_of(p);
      });
}

}  // namespace

/// Of fabricost/evaluation: what publications print of experts beside times.
static void add_published(py::module_& module) {
  module.def(
      "_expert_imbalance",
      [](int experts, int top_k, double tokens) { return load_imbalance({experts, top_k}, {RoutingKind::uniform}, experts, tokens); },
      "experts"_a, "top_k"_a, "tokens"_a);
  module.def(
      "_bandwidth_per_node",
      [](const Machine& s, int experts, int top_k, double token, int ranks, double tokens) {
        // as many groups as nodes, at most 4 of them for a token: tests/test_internode.py of deepseek-ai/DeepEP
        const int nodes = std::max(1, ranks / s.domain);
        const ExpertExchange x{.gate = {experts, top_k, nodes, std::min(4, nodes)},
                               .routing = {},
                               .placement = place_experts(ranks, s.domain),
                               .copies = Copies::per_domain,
                               .bytes_per_token = token};
        const ExpertTraffic t = expert_traffic(x.gate, x.placement, x.copies, tokens, token);
        return (x.placement.domains() > 1 ? t.counted_across : t.counted_inside) / ExpertCurve(s, x).seconds(tokens);
      },
      "system"_a, "experts"_a, "top_k"_a, "token_bytes"_a, "ranks"_a, "tokens"_a);
}

std::optional<MoeRequest> exchange_request(py::handle operation) {
  const auto as = [&]<MoePhase P>() -> std::optional<MoeRequest> {
    if (!operation || !py::isinstance<Exchange<P>>(operation)) return std::nullopt;
    return request_for(operation.cast<const Exchange<P>&>());
  };
  if (auto one = as.operator()<MoePhase::dispatch>()) return one;
  if (auto one = as.operator()<MoePhase::combine>()) return one;
  return as.operator()<MoePhase::prepare>();
}

MoeAnswer exchange_answer(MoeRequest request, const fabricost::core::Machine& machine) {
  need_machine(machine);
  request.system = machine;
  return answered([&] { return answer(request); });
}

void add_moe(py::module_& module) {
  add_argument_type<GivenExchange>("Any");
  add_exchange<MoePhase::dispatch>(module, "Tokens of every rank travel to the experts they chose.");
  add_exchange<MoePhase::combine>(module, "What the experts made of them travels back and is added up.");
  add_exchange<MoePhase::prepare>(module, "What trtllm-NVLinkTwoSided exchanges before it dispatches.");
  add_predicted(module);
  add_published(module);
  add_function<MoeCall>(module, "predict_moe", 2, &predict_exchange, "MoePrediction",
                        "Time of one dispatch, combine or prepare of experts, a MoePrediction: seconds = sum of its terms' seconds.",
                        R"(Copies of a token are expectations: P(a set of m experts is not touched) = C(E - m, k) / C(E, k).

>>> import fabricost as fc
>>> p = fc.predict_moe("dgx-h100", fc.MoeDispatch(4096, hidden=7168, experts=256, top_k=8))
>>> p.ranks, p.dtype, p.operation
(8, 'fp8', 'moe_dispatch')
>>> abs(sum(term.seconds for term in p.terms) / p.seconds - 1) < 1e-9
True
)");
}

}  // namespace fabricost::python
