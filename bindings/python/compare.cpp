/// \file compare.cpp
/// Machines side by side at one job: fc.compare.

#include "asked.hpp"
#include "bindings.hpp"
#include "record.hpp"
#include "serving.hpp"

#include <fabricost/economics/compare.hpp>
#include <fabricost/specs/prices.hpp>
#include <fabricost/specs/stacks.hpp>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

using Known = std::optional<double>;

struct Row {
  std::string system{}, job{}, trouble{}, layout{}, binds{}, kernels{};
  std::optional<std::string> price_kind{};
  Known dollars_per_gpu_hour{};
  double seconds = 0;
  std::pair<double, double> interval_seconds{};
  double tokens_per_second_per_gpu = 0, share = 0;
  int idle_gpus = 0;
  Known dollars_per_million_tokens{}, joules_per_million_tokens{}, watts{};
  std::vector<NamedSeconds> terms{};
};

struct Comparison {
  std::string model{}, job{}, verdict{};
  std::optional<std::string> price_kind{};
  int gpus = 0;
  std::vector<Row> rows{};
};

[[nodiscard]] std::string layout_text(const Compared& c) {
  if (c.training) {
    const Layout& l = c.training->layout;
    return fmt::format("tp {} pp {} cp {} ep {} dp {}", l.tp, l.pp, l.cp, l.ep, l.dp);
  }
  const EngineLayout& e = c.serving->engine;
  return fmt::format("{} x tp {} pp {} ep {}, batch {:.0f}", c.serving->replicas, e.tp, e.pp, e.ep, c.serving->batch);
}

[[nodiscard]] Row row_of(const Compared& c, const std::string& job) {
  Row out{.system = c.system, .job = job, .trouble = in_python(c.trouble)};
  if (!c.trouble.empty()) return out;
  out.layout = layout_text(c);
  out.seconds = c.seconds;
  out.interval_seconds = {c.low, c.high};
  out.tokens_per_second_per_gpu = c.tokens_per_gpu;
  out.dollars_per_million_tokens = c.dollars;
  out.kernels = c.assumed_kernels ? "assumed" : "measured";
  if (c.price_kind) out.price_kind = std::string{name(*c.price_kind)};
  if (c.gpu_hour > 0) out.dollars_per_gpu_hour = c.gpu_hour;
  out.joules_per_million_tokens = c.joules;
  if (c.joules) out.watts = c.megawatts * 1e6;
  for (const TimeTerm& term : c.terms) out.terms.push_back({std::string{term.name}, term.seconds});
  const NamedSeconds most = largest(out.terms);
  out.binds = most.name;
  out.share = share_of({"", most.seconds}, c.terms);
  out.idle_gpus = c.idle_gpus;
  return out;
}

/// Prices of a GPU-hour by machine, and the kind of those that are not given.
[[nodiscard]] OwnMachinePrices own_prices_of(const py::object& prices, const py::object& kind, const std::vector<System>& systems) {
  OwnMachinePrices out;
  out.kind = word_or_none<PriceKind>(kind, "price_kind", "a kind of price", asked_price_kinds);
  if (prices.is_none()) return out;
  if (!py::isinstance<py::dict>(prices)) throw_type("prices", "a dict of machines' names and dollars per GPU-hour", prices);
  out.gpu_hours.assign(systems.size(), 0);
  std::vector<std::string> names;
  for (const System& s : systems) names.push_back(s.name);
  for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(prices)) {
    const std::string system = text(py::reinterpret_borrow<py::object>(key), "prices");
    const auto at = std::find(names.begin(), names.end(), system);
    if (at == names.end()) throw RequestError("prices: " + cli::unknown_text(system, "one of the machines", names));
    const double dollars = real(py::reinterpret_borrow<py::object>(value), "prices", 1e-6, 1e6);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == system) out.gpu_hours[i] = dollars;
  }
  return out;
}

[[nodiscard]] Comparison answered(const std::vector<Compared>& all, const PricedBy& priced, const std::string& model,
                                  const std::string& job, int gpus) {
  Comparison out{.model = model, .job = job, .verdict = {}, .gpus = gpus, .rows = {}};
  if (priced.kind) out.price_kind = std::string{name(*priced.kind)};
  for (const Compared& c : all) out.rows.push_back(row_of(c, job));
  const Verdict v = verdict_of(all);
  if (v.best == nullptr) {
    out.verdict = "none: " + v.why;
    return out;
  }
  out.verdict = v.next == nullptr
                    ? fmt::format("{} alone can do the job", v.best->system)
                    : fmt::format("{} makes {:.2f} times the tokens of {}; the intervals {}", v.best->system, v.faster, v.next->system,
                                  v.sure ? "part, so the order is sure" : "overlap, so the order is not sure");
  return out;
}

[[nodiscard]] std::vector<System> systems_from(const py::object& given) {
  if (PyUnicode_Check(given.ptr()) != 0 || !py::isinstance<py::sequence>(given)) throw_type("systems", "a list of machines", given);
  std::vector<System> out;
  for (const py::handle one : given) out.push_back(system_from(one, "systems"));
  if (out.empty()) throw RequestError("systems: which machines? Name two or more, as in [\"dgx-b200\", \"gb200-nvl72\"]");
  return out;
}

[[nodiscard]] TrainingQuestion training_question(const py::object& gpus, const py::object& global_batch, const py::object& sequence,
                                                 const py::object& precision, const py::object& stack, const py::object& max_tp) {
  needed(global_batch, "global_batch", "global_batch=2304 sequences a step");
  TrainingQuestion q;
  q.gpus = whole(gpus, "gpus");
  q.global_batch = whole(global_batch, "global_batch");
  q.sequence = whole_or_none(sequence, "sequence").value_or(4096);
  q.precision = word_or_none<Precision>(precision, "precision", "a precision", precision_names).value_or(Precision::bf16);
  q.max_tp = whole_or_none(max_tp, "max_tp").value_or(0);
  q.stack = stack.is_none() ? load_stack(default_stack) : stack_from(stack);
  q.top = 1;
  return q;
}

[[nodiscard]] Comparison compare_systems(const py::object& systems_given, const py::object& model_given, const py::object& gpus,
                                         const py::object& train, const py::object& serve, const py::object& global_batch,
                                         const py::object& sequence, const py::object& max_tp, const py::object& isl, const py::object& osl,
                                         const py::object& ttft, const py::object& tpot, const py::object& precision,
                                         const py::object& stack, const py::object& own_prices, const py::object& price_kind) {
  const bool training = flag(train, "train"), serving = flag(serve, "serve");
  if (training == serving) throw RequestError("compare for what? Say train=True or serve=True");
  const std::string job = serving ? "serve" : "train";
  needed(gpus, "gpus", "gpus=1152");
  const py::none none;
  const auto refuse = [&job](const py::object& value, const char* name) {
    if (!value.is_none()) throw RequestError(fmt::format("{} is not of a job to {}; leave it out", name, job));
  };
  const Model model = model_from(model_given);
  const std::vector<System> systems = systems_from(systems_given);
  const Prices prices = load_prices();
  const OwnMachinePrices own = own_prices_of(own_prices, price_kind, systems);
  std::vector<Compared> all;
  int count = 0;
  if (job == "train") {
    for (const auto& [value, name] :
         {std::pair<const py::object&, const char*>{isl, "isl"}, {osl, "osl"}, {ttft, "ttft_seconds"}, {tpot, "tpot_seconds"}})
      refuse(value, name);
    TrainingQuestion q = training_question(gpus, global_batch, sequence, precision, stack, max_tp);
    q.model = model;
    count = q.gpus;
    all = searched([&] { return compare(systems, [&](const System& system) { return compared(q, system, prices); }); });
  } else {
    for (const auto& [value, name] :
         {std::pair<const py::object&, const char*>{global_batch, "global_batch"}, {sequence, "sequence"}, {max_tp, "max_tp"}})
      refuse(value, name);
    const auto either = [](const py::object& value, int otherwise) { return value.is_none() ? py::object(py::int_(otherwise)) : value; };
    const AskedServing asked{gpus,
                             either(isl, 4096),
                             either(osl, 512),
                             ttft,
                             tpot,
                             none,
                             none,
                             py::bool_(false),
                             precision,
                             none,
                             stack.is_none() ? py::object(py::str(ServingStack{}.name)) : stack,
                             py::int_(1),
                             none,
                             none,
                             none,
                             none,
                             none,
                             none,
                             none,
                             none};
    ServingQuestion q = question_of(asked);
    q.model = model;
    count = q.gpus;
    std::vector<ServingQuestion> settled(systems.size(), q);
    for (std::size_t i = 0; i < systems.size(); ++i) settle(settled[i], asked, systems[i]);
    all = searched([&] {
      return compare(systems, [&](const System& system) {
        return compared(settled[static_cast<std::size_t>(&system - systems.data())], system, prices);
      });
    });
  }
  const PricedBy priced = price_alike(all, systems, count, prices, own);
  return answered(all, priced, model.name, job, count);
}

}  // namespace

void add_compare(py::module_& module) {
  using R = Row;
  add_record<R>(
      module, "Compared", "The best one machine makes of a job. Made by compare.", field("system", &R::system, "Name of the machine."),
      field("job", &R::job, "train or serve."),
      field("trouble", &R::trouble, "Why it cannot do the job; empty: it can. Nothing else is set then."),
      field("layout", &R::layout, "Its best layout or deployment, in words."), field("binds", &R::binds, "The largest of terms."),
      field("seconds", &R::seconds, "Of a step, or of a token, s."),
      field("interval_seconds", &R::interval_seconds, "(low, high), s: nine in ten should fall between."),
      field("tokens_per_second_per_gpu", &R::tokens_per_second_per_gpu, "Trained or answered tokens."),
      field("share", &R::share, "Of the time, what binds takes."),
      field("idle_gpus", &R::idle_gpus, "GPUs of the scale-up domains a training job takes that its groups leave idle; in no figure."),
      field("kernels", &R::kernels, "measured: on processors of this generation; assumed: NVIDIA's shares of the peak are taken."),
      field("price_kind", &R::price_kind, "on_demand, reserved, owned or stated (given); None: not known."),
      field("dollars_per_gpu_hour", &R::dollars_per_gpu_hour, "The rent, USD; None: owned, or not known."),
      field("dollars_per_million_tokens", &R::dollars_per_million_tokens,
            "Of one kind for all machines, USD; None: no kind is known of all."),
      field("joules_per_million_tokens", &R::joules_per_million_tokens, "Of the site with cooling, J; None: not known."),
      field("watts", &R::watts, "Of the site with all GPUs busy, W; None: not known."),
      field("terms", &R::terms, "What the seconds are made of, a list of StepTerm."))
      .def("__repr__", [](const R& r) {
        if (!r.trouble.empty()) return fmt::format("{}: {}", r.system, r.trouble);
        return fmt::format("{}: {:.4g} s, {:.4g} tokens/s/GPU, {}, mostly {}", r.system, r.seconds, r.tokens_per_second_per_gpu, r.layout,
                           r.binds);
      });
  using C = Comparison;
  py::class_<C> type(module, "Comparison", "Machines at one job, in the order asked: `rows[0]`, `for row in rows`. Made by compare.");
  type.def_readonly("model", &C::model, "Name of the model.")
      .def_readonly("job", &C::job, "train or serve.")
      .def_readonly("price_kind", &C::price_kind, "By which all are priced: on_demand, reserved or owned; None: none is known of all.")
      .def_readonly("gpus", &C::gpus, "GPUs of each.");
  type.def_readonly("verdict", &C::verdict,
                    "Which is better, by how much, and whether that is sure; begins with `none` and says why where there is no verdict.");
  add_sequence(type, &C::rows);
  type.def("__repr__", [](const C& c) {
    std::string out = fmt::format("{} {} on {} GPUs", c.job, c.model, c.gpus);
    for (const R& r : c.rows) out += "\n  " + py::cast<std::string>(py::repr(py::cast(r)));
    return out + "\n" + c.verdict;
  });
  const py::none none;
  module.def(
      "compare", &compare_systems, "systems"_a, "model"_a, py::kw_only(), "gpus"_a = none, "train"_a = false, "serve"_a = false,
      "global_batch"_a = none, "sequence"_a = none, "max_tp"_a = none, "isl"_a = none, "osl"_a = none, "ttft_seconds"_a = none,
      "tpot_seconds"_a = none, "precision"_a = none, "stack"_a = none, "prices"_a = none, "price_kind"_a = none,
      R"(compare(systems, model, *, gpus, train=False, serve=False, global_batch=None, sequence=None, max_tp=None, isl=None, osl=None,
    ttft_seconds=None, tpot_seconds=None, precision=None, stack=None, prices=None, price_kind=None)
--

The best each of several machines makes of one job, side by side: time, tokens, money, power, what binds, a Comparison.

train=True takes global_batch, sequence (default 4096) and max_tp; serve=True takes isl (4096), osl (512), ttft_seconds and tpot_seconds.
systems, model, stack: things loaded, or their names or paths; gpus: of each. A machine that cannot do the job says why in its `trouble`.
Raises RequestError when none can. Other Python threads run during the searches.

prices: your own dollars per GPU-hour by a machine's name, as in {"dgx-h100": 2.5}. price_kind: on_demand, reserved or owned for the others;
default the first of these known of all. Kinds are never mixed: where none is known of all, dollars are None.
No verdict is given where what kernels reach was measured for some machines and is assumed for others (`kernels` of the rows).

dollars per million tokens = rent (or owning) of all GPUs x 10^6 / tokens/s; joules the same of the site's power.

>>> import fabricost as fc
>>> rows = fc.compare(["dgx-h100", "dgx-b200"], "llama3-8b", gpus=16, train=True, global_batch=64)
>>> rows[1].seconds < rows[0].seconds
True
)");
}

}  // namespace fabricost::python
