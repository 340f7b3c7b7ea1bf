/// Reads a topology description as a system.

#include <fabricost/fields/field.hpp>
#include <fabricost/observe/answers/topo.hpp>
#include <fabricost/observe/readings/topology.hpp>

#include <fmt/format.h>

namespace fabricost::observe {

RequestTable<TopoRequest> TopoRequest::fields() {
  using R = TopoRequest;
  using enum Amount;
  return {asks(&R::path, "path", "FILE", " ", "Output of nvidia-smi topo -m, lstopo, NCCL or the like", true),
          asks(&R::compare, "compare", "--compare", "SYSTEM", "Say what differs from this machine"),
          asks(&R::name, "name", "", "", "Name of the system; default the file's name")};
}

AnswerTable<GuessAnswer> GuessAnswer::fields() {
  using A = GuessAnswer;
  return {gives(&A::what, "what", "what", "As in `GPU`."), gives(&A::taken, "taken", "taken", "As in `h100-sxm`."),
          gives(&A::reason, "reason", "reason", "Why.")};
}

AnswerTable<TopoAnswer> TopoAnswer::fields() {
  using A = TopoAnswer;
  constexpr bool left_out = true;
  return {gives(&A::gpus, "gpus", "gpus", "Number of GPUs."),
          gives(&A::nvlinks, "nvlinks", "", "Direct links of one GPU, where they are NVLinks."),
          gives(&A::nics, "nics", "nics", "Number of NIC ports."),
          gives(&A::sockets, "sockets", "sockets", "Processors, or what the file lets count as such."),
          gives(&A::name, "system", "name", "Name of the system file."),
          gives(&A::gpu, "gpu", "gpu", "Name of the GPU it was taken for."),
          gives(&A::format, "format", "format", "nvidia-smi topo -m, rocm-smi --showtopo or NCCL topology XML."),
          gives(&A::xgmi_links, "xgmi_links", "", "Direct links of one GPU, where they are XGMI."),
          gives(&A::links_per_gpu, "", "links_per_gpu", "Direct links (NVLink, XGMI) of one GPU."),
          gives(&A::switched, "switched", "switched", "Those links lead to switches."),
          gives(&A::numa_nodes, "numa_nodes", "numa_nodes", "NUMA nodes; None: the file does not say."),
          gives(&A::guesses, "guesses", "", "What the file does not say and what was taken."),
          gives(&A::guess_texts, "", "guesses", "What the file does not say and what was taken, each with its reason."),
          gives(&A::unknown, "unknown", "unknown", "What such a file cannot say and a prediction feels."),
          gives(&A::inferred, "inferred", "inferred", "What was inferred rather than read."),
          gives(&A::warnings, "warnings", "warnings", "What is damaged in the file, with its line, and how it was read."),
          gives(&A::compared_with, "compared_with", "compared_with", "The machine it was compared with; None: with none.", 1, left_out),
          gives(&A::differences_found, "differences", "", "How it differs from that.", 1, left_out),
          gives(&A::differences, "", "differences", "How it differs from the machine it was compared with, each a sentence."),
          gives(&A::amd, "", "", "Whose GPUs."),
          gives(&A::links_stated, "", "", "Whether the file speaks of direct links."),
          gives(&A::yaml, "", "", "The system file.")};
}

TopoAnswer answer(const TopoRequest& request) {
  if (request.path.empty())
    throw Refusal("which file? What nvidia-smi topo -m or rocm-smi --showtopo printed, or NCCL's topology XML", true);
  const DescribedTopology t = read_topology(request.path);
  const std::optional<System> stock = request.compare ? std::optional{request.compare.load()} : std::nullopt;
  const GuessedSystem guessed = system_from(t, request.name, stock ? &*stock : nullptr);
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
  if (stock) {
    out.compared_with = request.compare.name.empty() ? stock->name : request.compare.name;
    out.differences_found = out.differences = differences(t, guessed, *stock);
  }
  return out;
}

}  // namespace fabricost::observe
