/// fc.topo: a machine from the output of nvidia-smi, rocm-smi or NCCL.

#include "bindings.hpp"
#include "question.hpp"

#include <fabricost/observe/answers/topo.hpp>

namespace py = pybind11;

namespace fabricost::python {

void add_topology(py::module_& module) {
  add_answer<GuessAnswer>(module, "_Guess", "What a description does not say and what was taken.");
  add_answer<TopoAnswer>(module, "Topology", "A machine as its own tools describe it, and the system it was taken for. Made by topo.")
      .def(
          "to_yaml", [](const TopoAnswer& t) { return t.yaml; },
          "to_yaml(self)\n--\n\n"
          "A system file (docs/spec-format.md); every guess in it is `confidence: assumed` with its reason as source.")
      .saves("save", &TopoAnswer::yaml, "save(self, path)\n--\n\nWrites to_yaml() to a file, for load_system and --system of the command.")
      .def("__repr__", [](const TopoAnswer& t) {
        return fmt::format("<Topology of {}: {} GPUs ({}), {} links each, {} NICs>", t.name, t.gpus, t.gpu, t.links_per_gpu, t.nics);
      });
  add_question<TopoRequest>(
      module, "topo", 1,
      R"(Reads what `nvidia-smi topo -m` or `rocm-smi --showtopo` printed, or NCCL's topology XML, and says what machine that is; a
Topology.

Raises SpecError with file, line, column and remedy for a file that shows no machine; warns (FabricostWarning) of what is damaged in it.)",
      "", [](TopoAnswer found) {
        for (const std::string& warning : found.warnings) warn(warning);
        return found;
      });
}

}  // namespace fabricost::python
