#pragma once
/// What identifies a GPU, the `identity:` of the files of data/gpus, and a machine: `aliases:`, `usual_for:`, `bridge_of:` and `runs:` of those
/// of data/systems and data/clusters; no product is named in code. plan/specs/parts/gpu_index.hpp finds a GPU by them.

#include "specs/reader.hpp"
#include "specs/tree.hpp"

#include <fabricost/namespaces.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

/// A marketing name, a part of one, or a PCI id, and its GPU.
struct KnownClue {
  std::string clue, gpu;
  std::string stands_for{};  ///< the real product of this name or id if data/ lacks it and `gpu` is a close relative; empty: `gpu` itself
};

/// A cloud's machine whose topology file contains only addresses.
struct CloudInstance {
  std::string name;
  int gpus = 0, nics = 0;
  std::string gpu, source;
};

/// Properties of a nameless topology from which a GPU is inferred. Conditions that are not given always hold.
struct GpuClue {
  enum class Wiring { any, direct, pairs };
  std::string gpu, vendor;
  int arch = 0;                                  ///< number of the architecture, see arch_number
  std::optional<std::pair<int, int>> links{};    ///< direct links of one GPU, from and to
  int gpus = 0, sockets = 0, per_processor = 0;  ///< per_processor: GPUs whose memories are NUMA nodes of one processor
  int pcie = 0;                                  ///< PCIe generation of the slot
  Wiring wiring = Wiring::any;                   ///< direct: no switches; pairs: all links of a GPU lead to one other
  std::string remark{};                          ///< appended to the result, with its own punctuation

  [[nodiscard]] int conditions() const {
    return int{links.has_value()} + int{gpus > 0} + int{sockets > 0} + int{per_processor > 0} + int{wiring != Wiring::any};
  }
};

struct GpuIdentity {
  std::string arch;  ///< as in compiler options: sm_90, gfx942
  std::vector<KnownClue> names, pci;
  std::vector<CloudInstance> instances;
  std::vector<GpuClue> clues;
};
[[nodiscard]] GpuIdentity read_identity(const SpecNode& identity, std::string_view gpu, std::string_view vendor, Faults& faults);

/// "sm_90" is 90, "gfx942" 942; "gfx90a" becomes 910, which keeps the order. 0: no architecture.
[[nodiscard]] int arch_number(std::string_view arch);

/// Identification entries of the files of data/systems and data/clusters.
struct MachineIdentities {
  std::map<std::string, std::string, std::less<>> aliases;  ///< other name: name
  /// GPU of data/gpus, and the systems (one node) or clusters that are its usual machine.
  std::multimap<std::string, std::string, std::less<>> systems, clusters;
  std::map<std::string, std::string, std::less<>> bridges;  ///< GPU: the system of its cards on an NVLink bridge
  /// Source of measured points, and the usual machine that they name: the file of the machine that they ran on (`runs:`).
  std::map<std::pair<std::string, std::string>, std::string> runs;
};
/// \throws SpecError for a file that is not YAML, and for two that claim a name
[[nodiscard]] MachineIdentities machine_identities(const std::filesystem::path& data);

}  // namespace fabricost::core
