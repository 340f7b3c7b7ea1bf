#pragma once
/// \file topo.hpp
/// A machine read from its own description (readings/topology.hpp), the system it is taken for, and what differs from another.

#include <fabricost/answers/fields.hpp>
#include <fabricost/answers/named.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fabricost {

struct TopoRequest {
  std::filesystem::path path;
  Machine compare;
  std::string name;  ///< of the system; empty: from the file's name

  static constexpr auto fields() {
    using R = TopoRequest;
    using enum Amount;
    return std::tuple{Asks{&R::path, "path", "FILE", number, {}, " ", "What one of them printed or wrote", true},
                      Asks{&R::compare, "compare", "--compare", number, {}, "SYSTEM", "Say what differs from this machine"},
                      Asks{&R::name, "name", "", number, {}, "", "What to call the system; default the file's name"}};
  }
};

/// What the file does not say and what was taken.
struct GuessAnswer {
  std::string what, taken, reason;
  bool operator==(const GuessAnswer&) const = default;

  static constexpr auto fields() {
    using A = GuessAnswer;
    return std::tuple{Gives{&A::what, "what", "what", "As in `GPU`."}, Gives{&A::taken, "taken", "taken", "As in `h100-sxm`."},
                      Gives{&A::reason, "reason", "reason", "Why."}};
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
  std::optional<std::vector<std::string>> differences_found{};  ///< nothing where it was compared with none
  bool amd = false, links_said = true;
  std::string yaml;

  static constexpr auto fields() {
    using A = TopoAnswer;
    constexpr bool left_out = true;
    return std::tuple{
        Gives{&A::gpus, "gpus", "gpus", "Number of GPUs."},
        Gives{&A::nvlinks, "nvlinks", "", "Direct links of one GPU, where they are NVLinks."},
        Gives{&A::nics, "nics", "nics", "Number of NIC ports."},
        Gives{&A::sockets, "sockets", "sockets", "Processors, or what the file lets count as such."},
        Gives{&A::name, "system", "name", "Name of the system file."},
        Gives{&A::gpu, "gpu", "gpu", "Name of the GPU it was taken for."},
        Gives{&A::format, "format", "format", "nvidia-smi topo -m, rocm-smi --showtopo or NCCL topology XML."},
        Gives{&A::xgmi_links, "xgmi_links", "", "Direct links of one GPU, where they are XGMI."},
        Gives{&A::links_per_gpu, "", "links_per_gpu", "Direct links (NVLink, XGMI) of one GPU."},
        Gives{&A::switched, "switched", "switched", "Those links lead to switches."},
        Gives{&A::numa_nodes, "numa_nodes", "numa_nodes", "NUMA nodes; None: the file does not say."},
        Gives{&A::guesses, "guesses", "", "What the file does not say and what was taken."},
        Gives{&A::guess_texts, "", "guesses", "What the file does not say and what was taken, each with its reason."},
        Gives{&A::unknown, "unknown", "unknown", "What such a file cannot say and a prediction feels."},
        Gives{&A::inferred, "inferred", "inferred", "What was inferred rather than read."},
        Gives{&A::warnings, "warnings", "warnings", "What is damaged in the file, with its line, and how it was read."},
        Gives{&A::compared_with, "compared_with", "compared_with", "The machine it was compared with; None: with none.", 1, left_out},
        Gives{&A::differences_found, "differences", "", "How it differs from that.", 1, left_out},
        Gives{&A::differences, "", "differences", "How it differs from the machine it was compared with, each a sentence."},
        Gives{&A::amd, "", "", "Whose GPUs."},
        Gives{&A::links_said, "", "", "Whether the file speaks of direct links."},
        Gives{&A::yaml, "", "", "The system file."}};
  }
};

/// \throws Refusal without a file; SpecError with file, line, column and remedy for a file that shows no machine; RequestError, SpecError
/// as load_system
[[nodiscard]] TopoAnswer answer(const TopoRequest& request);

}  // namespace fabricost
