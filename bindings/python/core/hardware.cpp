/// Machines: System, its tiers, and how to load one.

#include "bindings.hpp"
#include "core/operations.hpp"
#include "machine.hpp"
#include "plain.hpp"
#include "question.hpp"
#include "text/joined.hpp"

#include <specs/parts/design_parameters.hpp>
#include <text/write_file.hpp>

#include <fabricost/answers/machine.hpp>
#include <fabricost/explain/assumptions.hpp>
#include <fabricost/explain/explain.hpp>
#include <fabricost/hardware/design_parameters.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/pictures/picture.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>
#include <fabricost/version.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

/// The tiers of a system, which Python reaches by place and by name.
struct Tiers {
  std::vector<Tier> all;

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const Tier& tier : all) out.emplace_back(tier.name.view());
    return out;
  }
  [[nodiscard]] const Tier* find(std::string_view wanted) const {
    for (const Tier& tier : all)
      if (tier.name == wanted) return &tier;
    return nullptr;
  }
  [[nodiscard]] const Tier& by_name(const std::string& wanted) const {
    if (const Tier* tier = find(wanted)) return *tier;
    throw py::key_error(unknown_text(wanted, "a tier of this system", names()));
  }
  [[nodiscard]] const Tier& by_place(py::ssize_t place) const {
    const auto count = static_cast<py::ssize_t>(all.size());
    if (place < -count || place >= count) throw py::index_error(fmt::format("tier {} of {}", place, count));
    return all[static_cast<std::size_t>(place < 0 ? place + count : place)];
  }
};

void add_tier(py::module_& module) {
  PyClass<Tier> type(module, "Tier", "One level of a machine: what it joins, in which shape, how fast per endpoint and direction.");
  type.property("name", &Tier::name, "Name within its system, as in `nvlink`.")
      .property("kind", &Tier::kind,
                "Shape: memory, switch, full_mesh, mesh_graph, ring, torus, host, point_to_point, rails, fat_tree or dragonfly.")
      .property(
          "bytes_per_second", [](const Tier& t) { return t.bandwidth.value; },
          "Datasheet rate of one endpoint in ONE direction, byte/s: links x lanes x lane rate x encoding / 8.")
      .property(
          "latency_seconds", [](const Tier& t) { return t.latency.value; }, "Latency of one hop, s; 0 when unknown.")
      .property("endpoints", &Tier::endpoints, "How many children it joins: GPUs of a domain, NICs of a node, nodes below a switch.")
      .property(
          "transport", [](const Tier& t) { return t.transport.family().view(); },
          "Of a network: the transport whose constants it has, as in infiniband; else unknown.")
      .property(
          "source", [](const Tier& t) { return t.bandwidth.provenance.source; }, "Where bytes_per_second comes from.")
      .property(
          "confidence", [](const Tier& t) { return t.bandwidth.provenance.confidence; },
          "How far to trust bytes_per_second: datasheet, measured, vendor-code, derived, secondary, relative, press, announced or assumed.")
      .def("__repr__", [](const Tier& t) {
        return fmt::format("{}: {}, {} endpoints, {:.4g} GB/s one way, {:.4g} us", t.name.view(), name(t.kind), t.endpoints,
                           t.bandwidth.value.value() / 1e9, t.latency.value.value() * 1e6);
      });
  add_value_semantics(type);
  hint_at_names(type, {{"bandwidth_GBps", "bytes_per_second"}, {"latency_us", "latency_seconds"}});
}

void add_tiers(py::module_& module) {
  constexpr auto inside = py::return_value_policy::reference_internal;
  PyClass<Tiers> type(module, "Tiers",
                      "The tiers of a system from the inside out, by place and by name: `tiers[0]`, `tiers[\"nvlink\"]`,\n"
                      "`\"nvlink\" in tiers`, `for tier in tiers`.");
  type.def("__len__", [](const Tiers& tiers) { return tiers.all.size(); })
      .def("__getitem__", &Tiers::by_place, inside, "place"_a)
      .def("__getitem__", &Tiers::by_name, inside, "name"_a)
      .def("__contains__", [](const Tiers& tiers, const std::string& name) { return tiers.find(name) != nullptr; })
      .def("__contains__", [](const Tiers&, const py::object&) { return false; })
      .def(
          "__iter__", [](const Tiers& tiers) { return py::make_iterator(tiers.all.begin(), tiers.all.end()); }, py::keep_alive<0, 1>())
      .def("__repr__", [](const Tiers& tiers) { return fmt::format("tiers {}", joined(tiers.names(), " ")); });
  add_value_semantics(type);
}

/// True for a text that names a file: several lines are the file itself.
[[nodiscard]] bool names_file(const std::string& text) {
  const bool one_line = text.find('\n') == std::string::npos;
  return one_line && (text.find('/') != std::string::npos || text.ends_with(".yaml") || text.ends_with(".yml"));
}

/// A path that still holds after a change of folder.
[[nodiscard]] std::string anchored(const std::string& text) { return names_file(text) ? std::filesystem::absolute(text).string() : text; }

[[nodiscard]] std::string saved_yaml(const Machine& m) {
  return saved_system_yaml(m.origin,
                           fmt::format("{}, as fabricost {} was asked for it", m.title.empty() ? m.name : m.title, FABRICOST_VERSION));
}

[[nodiscard]] std::string drawn(const Machine& m, const py::object& operation) {
  if (operation.is_none()) return picture(m);
  if (!py::isinstance<OperationRequest>(operation)) throw_type("operation", "an Operation", operation);
  const Prediction p = predict(m, operation.cast<const OperationRequest&>().one());
  return picture(m, &p,
                 fmt::format("{} of {} over {} ranks on {}", name(p.operation.collective), size_text(p.operation.bytes), p.ranks,
                             counted(p.nodes, "node")));
}

/// The machine with fewer NICs, read again as `--lost-rails` of the command does it. \throws RequestError
[[nodiscard]] Machine without_rails(const Machine& whole, const py::object& lost) {
  SavedSystem origin = whole.origin;
  origin.set.push_back(spelled_out([&] { return override_of_lost_rails(whole, count_of(lost, "lost", 1), "lost"); }));
  return loaded(std::move(origin));
}

/// The machine with parameters changed, read again as `--set design.NAME=VALUE` of the command does it. \throws RequestError
[[nodiscard]] Machine with_parameters(const Machine& whole, const py::kwargs& parameters) {
  SavedSystem origin = whole.origin;
  const auto si_unit = [](std::string_view name) -> std::string_view {
    const auto parameter = parameter_named(name);
    if (!parameter) return "";
    return is_link_rate(*parameter)                       ? "B/s per direction"
           : *parameter == DesignParameter::hbm_bandwidth ? "B/s"
           : *parameter == DesignParameter::hbm_size      ? "B"
                                                          : "";
  };
  std::vector<std::string> names{design_parameter_names.begin(), design_parameter_names.end()}, keywords;
  const std::size_t general = names.size();
  for (const DeclaredParameter& parameter : declared_parameters(origin.extends)) names.push_back(parameter.name);
  for (const std::string& parameter : names)
    std::replace_copy(parameter.begin(), parameter.end(), std::back_inserter(keywords.emplace_back()), '.', '_');
  for (const auto& [key, value] : parameters) {
    auto keyword = key.cast<std::string>();
    std::replace(keyword.begin(), keyword.end(), '.', '_');
    const auto known = std::find(keywords.begin(), keywords.end(), keyword);
    if (known == keywords.end()) throw RequestError("with_: " + unknown_text(keyword, "a parameter of machines", keywords));
    const auto place = static_cast<std::size_t>(known - keywords.begin());
    const std::string& name = names[place];
    const bool declared = std::find(names.begin() + static_cast<std::ptrdiff_t>(general), names.end(), name) != names.end();
    const bool worded = PyUnicode_Check(value.ptr()) != 0;
    const double number = worded ? 0 : real(py::reinterpret_borrow<py::object>(value), keyword, 1e-9, 1e18);
    const std::string_view unit = declared ? "" : si_unit(name);
    origin.set.push_back(
        fmt::format("design.{}={}", name, worded ? std::string{text_of(value, keyword)} : fmt::format("{}{}", number, unit)));
  }
  return loaded(std::move(origin));
}

/// A machine by name or path, or made of a YAML text or of a dict of the same keys. \throws TypeError for anything else
[[nodiscard]] Machine made(const py::object& given) {
  if (!py::isinstance<py::dict>(given)) {
    std::string text = path_of(given, "given");
    if (text.find(": ") != std::string::npos && text.find('\n') == std::string::npos) text += '\n';  // one line of YAML
    return loaded({.extends = std::move(text), .set = {}, .calibration = {}});
  }
  const py::module_ json = py::module_::import("json");
  try {
    return loaded({.extends = json.attr("dumps")(given, "indent"_a = 1).cast<std::string>() + "\n", .set = {}, .calibration = {}});
  } catch (py::error_already_set& error) {
    const bool too_deep = error.matches(PyExc_RecursionError);
    if (!too_deep && !error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError)) throw;
    throw RequestError(fmt::format("given: a dict of texts, numbers, lists and dicts is needed ({})",
                                   too_deep ? "this one is nested too deep" : error.value().attr("__str__")().cast<std::string>()));
  }
}

[[nodiscard]] std::map<std::string, double> dense_rates(const Machine& s) {
  std::map<std::string, double> out;
  for (const auto& [type, rate] : {std::pair{"fp32", &Gpu::fp32}, {"tf32", &Gpu::tf32}, {"fp16", &Gpu::fp16}, {"bf16", &Gpu::bf16},
                                   {"fp8", &Gpu::fp8}, {"int8", &Gpu::int8}, {"fp4", &Gpu::fp4}})
    if (const FlopRate dense = (s.gpu.*rate).value; dense > FlopRate{}) out.emplace(type, dense.value());
  return out;
}

void add_system(py::module_& module) {
  PyClass<System> plain(module, "_System", "What prices: a System without how it was asked for.");
  PyClass<Machine, System> type(module, "System",
                                "A machine: GPUs in nodes, what joins them, and the constants it is priced by. Made by load_system.");
  type.def(py::init(&made), "given"_a,
           R"(System(given)

A machine from the text of a system's YAML file, or a dict of the same keys, read and checked like a file; or by its name or path.

>>> import fabricost as fc
>>> fc.System({"name": "own", "extends": "dgx-h100", "source": "a quote", "confidence": "assumed", "nodes": 4}).nodes
4
)")
      .property("name", &System::name, "Its name, as in `dgx-h100`.")
      .property("title", &System::title, "What a person calls it.")
      .property(
          "gpu", [](const Machine& s) { return s.gpu.name; }, "Name of its GPU, as in `h100-sxm`.")
      .property("gpus", &System::gpus, "GPUs of the whole machine as described: gpus_per_node x nodes.")
      .property("gpus_per_node", &System::gpus_per_node, "GPUs of one node, as nccl-tests counts nodes.")
      .property("domain", &System::domain, "GPUs that the scale-up tier joins; 72 in an NVL72 rack of 4-GPU nodes.")
      .property("pod", &System::pod, "The most GPUs whose own links join in slices, a torus for each job; 0: the domain's.")
      .property("nodes", &System::nodes, "Nodes of the machine as described; predictions may ask for other numbers.")
      .property("memory_bytes", &System::memory, "Memory of one GPU as its driver shows it, byte.")
      .property("flops_per_second", &dense_rates,
                R"(Dense arithmetic of one GPU by type of number, operations per second; types that it lacks are left out.

>>> import fabricost as fc
>>> fc.load_system("dgx-h100").flops_per_second["bf16"] / 1e12
989.0
)",
                "dict[str, float]")
      .property(
          "tiers", [](const Machine& s) { return Tiers{s.tiers}; }, "Its tiers from the inside out, memories first.")
      .property(
          "calibration", [](const Machine& s) { return s.constants.name; }, "Name of the calibration it is priced with inside a domain.")
      .property(
          "basis", [](const Machine& s) { return s.constants.basis; },
          "What that calibration rests on: calibrated (runs on this machine), sibling (on one like it) or datasheet.", "_Basis")
      .def("to_yaml", &saved_yaml,
           "to_yaml(self)\n--\n\nA system file that loads as this machine: what it extends, what was overridden, the calibration it is "
           "priced with.")
      .saves("save", &saved_yaml,
             "save(self, path)\n--\n\nWrites to_yaml() to a file; load_system, and --system of the command, read it. RequestError when it "
             "cannot.")
      .def("without_rails", &without_rails, "lost"_a,
           R"(without_rails(self, lost)
--

The machine with that many NICs of a node gone and the others carrying their traffic: everybody waits for that node, so all nodes count
as it does (`--lost-rails` of the command). RequestError unless at least one is left.

>>> import fabricost as fc
>>> fc.load_system("dgx-h100").without_rails(1).tiers["nic"].endpoints
7
)")
      .def("with_", &with_parameters,
           R"(with_(self, **parameters)
--

The machine with parameters changed: nic_bandwidth, scale_up_bandwidth, hbm_bandwidth (byte/s, one way), nic_count, domain (GPUs),
hbm_size (byte), arithmetic (times); or texts with units, of links with their direction. What hangs together is turned with them: a
NIC's slot, a domain's endpoints, nodes and NICs (`--set design.NAME=VALUE` of the command). RequestError for other names, and for what
does not fit the machine.

>>> import fabricost as fc
>>> faster = fc.load_system("dgx-h100").with_(nic_bandwidth="800 Gbit/s per direction", domain=16)
>>> faster.domain, faster.tiers["nic"].endpoints, faster.tiers["nic"].bytes_per_second / fc.GB
(16, 16, 100.0)
)")
      .def("svg", &drawn, "operation"_a = py::none(),
           "svg(self, operation=None)\n--\n\nA picture of the machine as an SVG document: one-way rates of every link; with an operation, "
           "how busy its\n"
           "time keeps each tier.")
      .def(
          "show", [](const Machine& s) { return show(s); },
          "show(self)\n--\n\nThe machine tier by tier as text: one-way rates (GB/s), latencies, bisection, sources, as `fabricost machine` "
          "prints it.")
      .def("__repr__", [](const Machine& s) {
        return fmt::format("{}: {}, tiers {}", s.name, counted(s.gpus(), "GPU"), joined(Tiers{s.tiers}.names(), " "));
      });
  add_value_semantics(type);
  hint_at_names(type, {{"memory_GiB", "memory_bytes"}});
}

[[nodiscard]] Machine load(const py::object& name_or_path, const py::object& overrides, const py::object& calibration) {
  SavedSystem origin{.extends = path_of(name_or_path, "name_or_path"), .set = {}, .calibration = path_of(calibration, "calibration")};
  if (PyUnicode_Check(overrides.ptr()) || py::isinstance<py::bytes>(overrides) || !py::isinstance<py::iterable>(overrides))
    throw_type("overrides", "a list of texts PATH=VALUE, or a dict,", overrides);
  const bool by_path = PyDict_Check(overrides.ptr()) != 0;
  for (const py::handle one : overrides) {
    std::string text{text_of(one, "overrides")};
    if (by_path) {
      const py::object value = overrides[one];
      text += "=" + (PyBool_Check(value.ptr()) ? std::string{value.ptr() == Py_True ? "true" : "false"} : py::str(value).cast<std::string>());
    }
    origin.set.push_back(std::move(text));
  }
  return loaded(std::move(origin));
}

[[nodiscard]] std::vector<std::string> all_names() {
  std::vector<std::string> out;
  for (const SystemName& one : system_names()) out.push_back(one.name);
  return out;
}

}  // namespace

Machine loaded(SavedSystem origin) {
  for (int depth = 0; depth < 8; ++depth) {  // a saved machine is its content, not a file that may go away
    const auto saved = read_saved_system(origin.extends);
    if (!saved) break;
    origin.extends = saved->extends;
    origin.set.insert(origin.set.begin(), saved->set.begin(), saved->set.end());
    if (origin.calibration.empty()) origin.calibration = saved->calibration;
  }
  origin.extends = anchored(origin.extends);
  origin.calibration = anchored(origin.calibration);
  return {load_system(origin.extends, origin.set, origin.calibration), std::move(origin)};
}

SavedSystem origin_of(py::handle system, std::string_view argument) {
  if (py::isinstance<Machine>(system)) return system.cast<const Machine&>().origin;
  if (!is_path(system)) throw_type(argument, "a System, or the name of one,", system);
  return loaded({.extends = path_of(system, argument), .set = {}, .calibration = {}}).origin;
}

void add_hardware(py::module_& module) {
  module.def("_use_data_directory", &use_data_directory, "directory"_a,
             "_use_data_directory(directory)\n--\n\nWhere the data of the package is.");
  module.def(
      "_data_directory", [] { return data_directory().string(); }, "_data_directory()\n--\n\nWhere the data is that is used.");
  module.def(
      "_write_file",
      [](const py::object& path, const py::object& text, const py::object& argument) {
        write_file(path_of(path, "path"), std::string{text_of(text, "text")}, text_of(argument, "argument"));
      },
      "path"_a, "text"_a, "argument"_a,
      "_write_file(path, text, argument)\n--\n\nWrites a text whole or not at all; a link stays one. RequestError naming the argument "
      "where "
      "it cannot, or where\nthe path is no regular file.");
  add_tier(module);
  add_tiers(module);
  add_system(module);
  module.def("load_system", &load, "name_or_path"_a, "overrides"_a = py::tuple(), "calibration"_a = "",
             R"(load_system(name_or_path, overrides=(), calibration='')
--

A system or cluster.

Parameters
----------
name_or_path : path
    A name (see system_names), or a YAML file: a path with a '/' or ending in .yaml.
overrides : sequence of str or dict, default ()
    `PATH=VALUE` texts, or values by path; bandwidths say their direction.
calibration : str, default ''
    '' for the shipped one, 'none' for datasheet and prior only, or a calibration file (or the text of one).

Raises SpecError with every fault of the files, RequestError for a name that does not exist.

>>> import fabricost as fc
>>> fc.load_system("dgx-h100")
dgx-h100: 8 GPUs, tiers l2 hbm nvlink pcie nic
>>> slower = fc.load_system("dgx-h100", overrides={"tiers.nvlink.bandwidth": "400 GB/s per direction"})
>>> slower.tiers["nvlink"].bytes_per_second / fc.GB
400.0
)");
  module.def("system_names", &all_names, R"(system_names()
--

Names of all systems, then of all clusters, that load_system knows, each sorted.

>>> import fabricost as fc
>>> "dgx-h100" in fc.system_names()
True
)");
  add_answer<ShownTier>(module, "ShownTier", "One level of a machine as show has it.").def("__repr__", [](const ShownTier& t) {
    return fmt::format("{}: {}, {} endpoints, {:.4g} GB/s one way", t.name, t.kind, t.endpoints, t.bandwidth.value() / 1e9);
  });
  add_answer<ShowAnswer>(module, "Shown", "A machine, tier by tier, with where every number comes from. Made by show.")
      .def("__repr__", [](const ShowAnswer& s) { return s.text; });
  add_question<ShowRequest>(module, "show", 1, "One machine, tier by tier, a Shown; its repr() is the text of `fabricost machine`.",
                        R"(>>> import fabricost as fc
>>> fc.show("dgx-h100").tiers[2].aggregate_bytes_per_second / fc.GB
3600.0
)");
  add_answer<ListedSystem>(module, "ListedSystem", "A machine that has a name. Made by systems.")
      .def("__repr__", [](const ListedSystem& s) { return fmt::format("{}: {} GPUs, {}", s.name, s.gpus, s.title); });
  add_question<SystemsRequest>(module, "systems", 0, "The machines that have a name, then the clusters, a list of ListedSystem;\npandas.DataFrame([s.to_dict() for s in systems()]) is their table.",
                           R"(>>> import fabricost as fc
>>> [s.domain for s in fc.systems() if s.name == "gb200-nvl72"]
[72]
)");
}

}  // namespace fabricost::python
