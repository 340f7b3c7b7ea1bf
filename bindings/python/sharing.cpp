/// \file sharing.cpp
/// Collectives that run at once: fc.Grouped and fc.share.

#include "asked.hpp"
#include "bindings.hpp"
#include "choices.hpp"
#include "operations.hpp"
#include "record.hpp"

#include <fabricost/network/at_once_answer.hpp>
#include <fabricost/network/axes.hpp>
#include <fabricost/text/quantity.hpp>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost {

/// As Python compares them. Beside the type itself, where record.hpp finds it.
[[nodiscard]] static bool same(const Prediction& a, const Prediction& b) { return py::cast(a).equal(py::cast(b)); }

namespace python {
namespace {

constexpr double most_gpus = 1'000'000;  ///< link by link, as the command has it
constexpr std::array<std::string_view, 2> balancing_names{"even", "hashed"};

/// One collective that every group runs; `over` an axis, a count, or all GPUs.
struct Grouped {
  AskedOperation operation{};
  std::string name{}, over{};
  int size = 0, every = 1;
  double weight = 1;
  Choice choice{};
};

struct Sharer {
  std::string name{};
  int groups = 0;
  bool operator==(const Sharer&) const = default;
};

struct SharedOne {
  std::string name{};
  int groups = 0, ranks = 0, stride = 1;
  double slow_down = 1, least_slow_down = 1, seconds = 0;
  Prediction alone{};
  std::optional<std::string> link{};
  std::optional<double> link_bytes_per_second{}, link_load_bytes_per_second{};
  std::vector<Sharer> sharers{};
};

struct SharedRun {
  std::string system{}, balancing{};
  int nodes = 1, gpus = 1;
  std::optional<int> sharp_turns{};
  std::vector<SharedOne> collectives{};
};

[[nodiscard]] Grouped grouped(const AskedOperation& operation, const py::object& over, const py::object& every, const py::object& algorithm,
                              const py::object& protocol, const py::object& weight, const py::object& name_given) {
  const Operation& op = operation.one();
  if (op.collective != Collective::send_recv && (op.ranks > 0 || op.nodes > 0))
    throw RequestError("operation: its ranks and nodes follow from `over` and the layout; leave them out");
  Grouped out{.operation = operation,
              .name = {},
              .over = {},
              .size = 0,
              .every = whole(every, "every"),
              .weight = real(weight, "weight", 1e-9, 1e6),
              .choice = choice_of(algorithm, protocol, py::str("nccl"))};
  std::string words;
  if (PyUnicode_Check(over.ptr()) != 0) {
    out.over = text(over, "over");
    words = " over " + out.over;
  } else if (!over.is_none()) {
    out.size = whole(over, "over");
    words = fmt::format(" over {}", out.size);
  }
  if (out.every > 1) words += fmt::format(" every {}", out.every);
  out.name = text_or_none(name_given, "name").value_or(fmt::format("{} {}{}", name(op.collective), size_text(op.bytes), words));
  return out;
}

/// {"tp": 8, "dp": None}: sizes inside out.
[[nodiscard]] std::vector<Axis> axes_of(const py::object& layout, int gpus) {
  if (layout.is_none()) return {};
  if (PyDict_Check(layout.ptr()) == 0) throw_type("layout", "a dict of axis and size, as in {\"tp\": 8, \"dp\": None},", layout);
  std::vector<Axis> out;
  for (const auto& [name, size] : py::reinterpret_borrow<py::dict>(layout))
    out.push_back({.name = text(name, "layout"), .size = whole_or_none(size, "layout").value_or(0)});
  return sized_axes(std::move(out), gpus, "layout");
}

[[nodiscard]] GroupedCollective placed(const Grouped& one, const std::vector<Axis>& axes, Choice::Rule rule) {
  GroupedCollective out{.name = one.name,
                        .operation = one.operation.one(),
                        .choice = one.choice,
                        .size = one.size,
                        .stride = one.every,
                        .weight = one.weight};
  out.choice.rule = rule;
  out.operation.ranks = out.operation.nodes = 0;
  if (one.over.empty() || one.over == "all") return out;
  std::vector<std::string> names;
  for (const Axis& axis : axes) {
    names.push_back(axis.name);
    if (axis.name == one.over) {
      out.size = axis.size;
      if (one.every == 1) out.stride = axis.stride;
      return out;
    }
  }
  if (names.empty())
    throw RequestError(
        fmt::format("over: \"{}\": no axis of that name; name the axes, as in layout={{\"tp\": 8, \"dp\": None}}", one.over));
  throw RequestError("over: " + cli::unknown_text(one.over, "an axis of the layout", names));
}

[[nodiscard]] SharedRun answered(const System& system, int nodes, const std::vector<GroupedCollective>& asked,
                                 const ConcurrentOptions& options) {
  const AtOnce all = at_once(system, nodes, asked, options);
  const SharpTurns turns = sharp_turns_of(system, nodes, all, options.routes);
  SharedRun out{.system = system.name,
                .balancing = std::string{balancing_names[static_cast<std::size_t>(options.balancing)]},
                .nodes = nodes,
                .gpus = nodes * system.gpus_per_node,
                .sharp_turns = {},
                .collectives = {}};
  if (!turns.switches.empty()) out.sharp_turns = turns.turns;
  for (std::size_t c = 0; c < asked.size(); ++c) {
    const GroupedOutcome& one = all.outcomes[c];
    SharedOne row{.name = asked[c].name,
                  .groups = one.groups,
                  .ranks = one.size,
                  .stride = asked[c].stride,
                  .slow_down = one.slow_down,
                  .least_slow_down = one.least_slow_down,
                  .seconds = one.seconds,
                  .alone = one.alone,
                  .link = {},
                  .link_bytes_per_second = {},
                  .link_load_bytes_per_second = {},
                  .sharers = {}};
    if (const ContendedLink* link = held_by(all, one)) {
      row.link = link->name;
      row.link_bytes_per_second = link->capacity;
      row.link_load_bytes_per_second = link->load;
      const std::vector<int> groups = groups_on(all, *link);
      for (std::size_t other = 0; other < groups.size(); ++other)
        if (groups[other] > 0) row.sharers.push_back({asked[other].name, groups[other]});
    }
    out.collectives.push_back(std::move(row));
  }
  return out;
}

[[nodiscard]] SharedRun share(const py::object& given, const py::object& collectives, const py::object& nodes_given,
                              const py::object& layout, const py::object& balancing, const py::object& pxn, const py::object& adaptive,
                              const py::object& choice) {
  if (PyUnicode_Check(collectives.ptr()) != 0 || !py::isinstance<py::sequence>(collectives))
    throw_type("collectives", "a list of Grouped", collectives);
  ConcurrentOptions options;
  options.balancing = word<Balancing>(balancing, "balancing", "a way to spread flows", balancing_names);
  options.routes.relay_on_rails = flag(pxn, "pxn");
  options.routes.adaptive = flag(adaptive, "adaptive");
  const Choice::Rule rule = rule_of(choice);
  const auto nodes_asked = whole_or_none(nodes_given, "nodes");
  const System system = system_from(given);
  const int nodes = nodes_asked.value_or(std::max(1, system.domain / std::max(1, system.gpus_per_node)));
  if (static_cast<double>(nodes) * system.gpus_per_node > most_gpus)
    throw RequestError(fmt::format("nodes: {} are {} GPUs; link by link a million is the most", nodes,
                                   static_cast<long long>(nodes) * system.gpus_per_node));
  const std::vector<Axis> axes = axes_of(layout, nodes * system.gpus_per_node);
  std::vector<GroupedCollective> asked;
  for (const py::handle one : collectives) {
    if (py::isinstance<Grouped>(one)) {
      asked.push_back(placed(one.cast<const Grouped&>(), axes, rule));
    } else if (py::isinstance<AskedOperation>(one)) {
      const py::none none;
      asked.push_back(placed(grouped(one.cast<const AskedOperation&>(), none, py::int_(1), none, none, py::float_(1.0), none), axes, rule));
    } else {
      throw_type("collectives", "a list of Grouped", one);
    }
  }
  if (asked.empty()) throw RequestError("collectives: which? As in [fc.Grouped(fc.AllReduce(bytes=2**30), over=\"dp\")]");
  return searched([&] { return answered(system, nodes, asked, options); });
}

void add_results(py::module_& module) {
  add_record<Sharer>(module, "Sharer", "Groups of one collective that cross a link.", field("name", &Sharer::name, "Of the collective."),
                     field("groups", &Sharer::groups, "How many of its groups."))
      .def("__repr__", [](const Sharer& s) { return fmt::format("{} groups of {}", s.groups, s.name); });
  using S = SharedOne;
  add_record<S>(module, "SharedCollective",
                "One of the collectives that run at once: of its groups the one slowed down most. Made by share.",
                field("name", &S::name, "For people."), field("groups", &S::groups, "How many groups run it."),
                field("ranks", &S::ranks, "GPUs of a group."), field("stride", &S::stride, "From member to member."),
                field("slow_down", &S::slow_down, "Of its wire time, of the most slowed group; at least 1."),
                field("least_slow_down", &S::least_slow_down, "Of the least slowed one."),
                field("seconds", &S::seconds, "alone.seconds + (slow_down - 1) x its wire terms, s."),
                field("alone", &S::alone, "With nobody else, a Prediction."),
                field("link", &S::link, "The link that holds it; None: it moves nothing."),
                field("link_bytes_per_second", &S::link_bytes_per_second, "What that link carries in one direction, byte/s."),
                field("link_load_bytes_per_second", &S::link_load_bytes_per_second, "What all of them put on it, byte/s."),
                field("sharers", &S::sharers, "Who crosses it, a list of Sharer."))
      .def("__repr__", [](const S& s) {
        return fmt::format("{}: {:.4g} us alone, wire slowed {:.2f} x, {:.4g} us beside the others", s.name, s.alone.seconds * 1e6,
                           s.slow_down, s.seconds * 1e6);
      });
  using R = SharedRun;
  py::class_<R> type(module, "SharedRun", "Collectives that run at once, in the order asked: `run[0]`, `for one in run`. Made by share.");
  type.def_readonly("system", &R::system, "Name of the machine.")
      .def_readonly("nodes", &R::nodes, "Nodes.")
      .def_readonly("gpus", &R::gpus, "GPUs.");
  type.def_readonly("balancing", &R::balancing, "even or hashed.");
  type.def_readonly("sharp_turns", &R::sharp_turns,
                    "Turns that in-network reductions take on the fabric's trees; None: there are none, or no limits are known.");
  add_sequence(type, &R::collectives);
  type.def("__repr__", [](const R& r) {
    std::string out = fmt::format("at once on {} GPUs of {}", r.gpus, r.system);
    for (const S& s : r.collectives) out += "\n  " + py::cast<std::string>(py::repr(py::cast(s)));
    return out;
  });
}

}  // namespace

void add_sharing(py::module_& module) {
  const py::none none;
  py::class_<Grouped>(module, "Grouped",
                      "One collective that every group of a machine runs, for share.\n\n"
                      "operation: with its bytes, without ranks. over: an axis of the layout, a number of ranks, or None for all GPUs.\n"
                      "every: from member to member of a group, where `over` is a number. algorithm, protocol: force one. weight: its part "
                      "of a shared link.")
      .def(py::init(&grouped), "operation"_a, py::kw_only(), "over"_a = none, "every"_a = 1, "algorithm"_a = none, "protocol"_a = none,
           "weight"_a = 1.0, "name"_a = none,
           "__init__(self, operation, *, over=None, every=1, algorithm=None, protocol=None, weight=1.0, name=None)\n--\n\nArguments as the "
           "class says.")
      .def_property_readonly(
          "operation", [](const Grouped& g) { return operation_object(g.operation); }, "What each group runs.")
      .def_readonly("name", &Grouped::name, "For people, as in `all_reduce 1 GiB over dp`.")
      .def_readonly("every", &Grouped::every, "From member to member.")
      .def_readonly("weight", &Grouped::weight, "Its part of a link it shares.")
      .def("__repr__", [](const Grouped& g) { return "Grouped: " + g.name; });
  add_results(module);
  module.def("share", &share, "system"_a, "collectives"_a, py::kw_only(), "nodes"_a = none, "layout"_a = none, "balancing"_a = "even",
             "pxn"_a = true, "adaptive"_a = true, "choice"_a = "nccl",
             R"(share(system, collectives, *, nodes=None, layout=None, balancing='even', pxn=True, adaptive=True, choice='nccl')
--

Collectives that run at once: how much each is slowed down, on which link and by whom, a SharedRun.

A collective is one flow that loads each link it crosses; flows share links max-min fairly; only wire time is slowed:
seconds = alone + (slow-down - 1) x wire terms.

collectives: Grouped, or operations that all GPUs run. nodes: default one scale-up domain.
layout: axes inside out, as ranks are numbered, {"tp": 8, "dp": None}; one without a size takes what is left.
balancing: of flows over parallel links, even (per packet) or hashed (ECMP). pxn: messages change GPU to reach their rail.
adaptive: dragonflies route adaptively. choice: as in predict. Other Python threads run meanwhile.

>>> import fabricost as fc
>>> run = fc.share("aws-p4d", [fc.Grouped(fc.AllReduce(bytes=fc.GiB), over="dp")], nodes=8, layout={"tp": 8, "dp": None})
>>> run[0].groups, run[0].ranks, run[0].slow_down
(8, 8, 2.0)
)");
}

}  // namespace python
}  // namespace fabricost
