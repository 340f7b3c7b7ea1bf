/// \file topology.cpp
/// fc.topo: a machine from what nvidia-smi, rocm-smi or NCCL say of it.

#include "bindings.hpp"
#include "machine.hpp"

#include <cli/write_file.hpp>
#include <fabricost/readings/topology.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

struct ReadTopology {
  DescribedTopology described;
  GuessedSystem guessed;
  std::string stock;
  std::vector<std::string> differences;
};

[[nodiscard]] ReadTopology read(const py::object& path, const py::object& compare, const py::object& name) {
  const std::string file = path_of(path, "path");
  const std::string_view called = text_of(name, "name");
  ReadTopology out;
  out.described = read_topology(file);
  out.guessed = system_from(out.described, called);
  if (compare.is_none()) return out;
  const Machine stock = py::isinstance<Machine>(compare) ? compare.cast<Machine>() : loaded(origin_of(compare, "compare"));
  out.stock = stock.name;
  out.differences = differences(out.described, out.guessed, stock);
  return out;
}

[[nodiscard]] std::vector<std::string> guesses_of(const ReadTopology& t) {
  std::vector<std::string> out;
  for (const TopologyGuess& g : t.guessed.guesses) out.push_back(fmt::format("{}: {} ({})", g.what, g.taken, g.reason));
  return out;
}

}  // namespace

void add_topology(py::module_& module) {
  py::class_<ReadTopology>(module, "Topology", "A machine as its own tools describe it, and the system it was taken for.")
      .def_property_readonly(
          "format", [](const ReadTopology& t) { return t.described.format; },
          "nvidia-smi topo -m, rocm-smi --showtopo or NCCL topology XML.")
      .def_property_readonly(
          "gpus", [](const ReadTopology& t) { return t.described.gpus.size(); }, "Number of GPUs.")
      .def_property_readonly(
          "nics", [](const ReadTopology& t) { return t.described.nics.size(); }, "Number of NIC ports.")
      .def_property_readonly(
          "sockets", [](const ReadTopology& t) { return t.described.sockets; }, "Processors, or what the file lets count as such.")
      .def_property_readonly(
          "links_per_gpu", [](const ReadTopology& t) { return t.described.links_per_gpu(); }, "Direct links (NVLink, XGMI) of one GPU.")
      .def_property_readonly(
          "switched", [](const ReadTopology& t) { return t.described.switched; }, "Those links lead to switches.")
      .def_property_readonly(
          "gpu", [](const ReadTopology& t) { return t.guessed.gpu; }, "Name of the GPU it was taken for.")
      .def_property_readonly(
          "name", [](const ReadTopology& t) { return t.guessed.name; }, "Name of the system file.")
      .def_property_readonly("guesses", &guesses_of, "What the file does not say and what was taken, each with its reason.")
      .def_property_readonly(
          "unknown", [](const ReadTopology& t) { return t.guessed.unknown; }, "What such a file cannot say and a prediction feels.")
      .def_property_readonly(
          "inferred", [](const ReadTopology& t) { return t.described.doubts; }, "What was inferred rather than read.")
      .def_property_readonly(
          "warnings", [](const ReadTopology& t) { return t.described.warnings; },
          "What is damaged in the file, with its line, and how it was read.")
      .def_readonly("differences", &ReadTopology::differences, "How it differs from the machine it was compared with, each a sentence.")
      .def(
          "to_yaml", [](const ReadTopology& t) { return t.guessed.yaml; },
          "to_yaml(self)\n--\n\n"
          "A system file (docs/spec-format.md); every guess in it is `confidence: assumed` with its reason as source.")
      .def(
          "save", [](const ReadTopology& t, const py::object& path) { cli::write_file(path_of(path, "path"), t.guessed.yaml, "path"); },
          "path"_a, "save(self, path)\n--\n\nWrites to_yaml() to a file, for load_system and --system of the command.")
      .def("__repr__", [](const ReadTopology& t) {
        return fmt::format("<Topology of {}: {} GPUs ({}), {} links each, {} NICs>", t.guessed.name, t.described.gpus.size(), t.guessed.gpu,
                           t.described.links_per_gpu(), t.described.nics.size());
      });
  module.def("topo", &read, "path"_a, py::kw_only(), "compare"_a = py::none(), "name"_a = "", R"(topo(path, *, compare=None, name='')
--

Reads what `nvidia-smi topo -m` or `rocm-smi --showtopo` printed, or NCCL's topology XML, and says what machine that is; a Topology.

compare: a System or the name of one; `differences` then says what is not as there. name: of the system file.

Raises SpecError with file, line, column and remedy for a file that shows no machine.
)");
}

}  // namespace fabricost::python
