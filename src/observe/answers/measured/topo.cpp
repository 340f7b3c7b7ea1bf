/// \file topo.cpp
/// Reads a topology description as a system.

#include <fabricost/observe/answers/topo.hpp>
#include <fabricost/observe/readings/topology.hpp>

#include <fmt/format.h>

namespace fabricost::observe {

TopoAnswer answer(const TopoRequest& request) {
  if (request.path.empty())
    throw Refusal("which file? What nvidia-smi topo -m or rocm-smi --showtopo printed, or NCCL's topology XML", true);
  const DescribedTopology t = read_topology(request.path);
  const GuessedSystem guessed = system_from(t, request.name);
  const bool amd = t.vendor == "amd";
  TopoAnswer out{.gpus = static_cast<int>(t.gpus.size()),
                 .nvlinks = amd ? 0 : t.links_per_gpu(),
                 .nics = static_cast<int>(t.nics.size()),
                 .sockets = t.sockets,
                 .name = guessed.name,
                 .gpu = guessed.gpu,
                 .format = t.format,
                 .xgmi_links = amd ? t.links_per_gpu() : 0,
                 .links_per_gpu = t.links_per_gpu(),
                 .switched = t.switched,
                 .unknown = guessed.unknown,
                 .inferred = t.doubts,
                 .warnings = t.warnings,
                 .amd = amd,
                 .links_stated = t.links_stated,
                 .yaml = guessed.yaml};
  if (t.numa_nodes > 0) out.numa_nodes = t.numa_nodes;
  for (const TopologyGuess& g : guessed.guesses) {
    out.guesses.push_back({g.what, g.taken, g.reason});
    out.guess_texts.push_back(fmt::format("{}: {} ({})", g.what, g.taken, g.reason));
  }
  if (request.compare) {
    const System stock = request.compare.load();
    out.compared_with = request.compare.name.empty() ? stock.name : request.compare.name;
    out.differences_found = out.differences = differences(t, guessed, stock);
  }
  return out;
}

}  // namespace fabricost::observe
