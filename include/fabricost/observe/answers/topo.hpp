#pragma once
/// \file topo.hpp
/// A machine read from the output of a topology tool (readings/topology.hpp), as a system, and its
/// differences from another system.

#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::observe {

struct TopoRequest {
  std::filesystem::path path;
  Machine compare;
  std::string name;  ///< of the system; empty: the file's name

  static constexpr auto fields() {
    using R = TopoRequest;
    using enum Amount;
    return Table{asks(&R::path, "path", "FILE", " ", "Output of nvidia-smi topo -m, lstopo, NCCL or the like", true),
                 asks(&R::compare, "compare", "--compare", "SYSTEM", "Say what differs from this machine"),
                 asks(&R::name, "name", "", "", "Name of the system; default the file's name")};
  }
};

/// A value that the file does not contain, and the value assumed.
struct GuessAnswer {
  std::string what, taken, reason;
  bool operator==(const GuessAnswer&) const = default;

  static constexpr auto fields() {
    using A = GuessAnswer;
    return Table{gives(&A::what, "what", "what", "As in `GPU`."), gives(&A::taken, "taken", "taken", "As in `h100-sxm`."),
                 gives(&A::reason, "reason", "reason", "Why.")};
  }
};

struct TopoAnswer {
  int gpus = 0, nvlinks = 0, nics = 0, sockets = 0;
  std::string name, gpu, format;
  int xgmi_links = 0, links_per_gpu = 0;
  bool switched = false;
  std::optional<int> numa_nodes{};
  std::vector<GuessAnswer> guesses{};
  std::vector<std::string> guess_texts{}, unknown, inferred, warnings, differences{};
  std::optional<std::string> compared_with{};
  std::optional<std::vector<std::string>> differences_found{};  ///< empty where there was nothing to compare with
  bool amd = false, links_stated = true;
  std::string yaml;

  static constexpr auto fields() {
    using A = TopoAnswer;
    constexpr bool left_out = true;
    return Table{
        gives(&A::gpus, "gpus", "gpus", "Number of GPUs."),
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
};

/// \throws Refusal without a file; SpecError with file, line, column and remedy for a file that shows no machine; RequestError, SpecError
/// as load_system
[[nodiscard]] TopoAnswer answer(const TopoRequest& request);

}  // namespace fabricost::observe
