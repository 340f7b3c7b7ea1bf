#pragma once
/// \file identities.hpp
/// Identification of a machine's GPU and its usual machine: the `identity:` of the files of data/gpus, and
/// `aliases:`, `usual_for:`, `bridge_of:` and `runs:` of those of data/systems and data/clusters, in one index; no product is named
/// in code. Only commands that meet an unknown machine use it (`topo`, `diagnose`, `measure`, an alias): a
/// prediction for a named one reads none of it.

#include "specs/reader.hpp"
#include "specs/tree.hpp"

#include <fabricost/namespaces.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {
struct System;
}

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

/// The `identity:` of one GPU.
struct GpuIdentity {
  std::string arch;  ///< as in compiler options: sm_90, gfx942
  std::vector<KnownClue> names, pci;
  std::vector<CloudInstance> instances;
  std::vector<GpuClue> clues;
};
[[nodiscard]] GpuIdentity read_identity(const SpecNode& identity, std::string_view gpu, std::string_view vendor, Faults& faults);

/// "sm_90" is 90, "gfx942" 942; "gfx90a" becomes 910, which keeps the order. 0: no architecture.
[[nodiscard]] int arch_number(std::string_view arch);

/// All of data/gpus. `shipped` is read once per data directory and process, where its pointers stay valid.
class GpuIdentities {
 public:
  /// \throws SpecError naming the file whose identity cannot be read, or both files with the same name or id
  explicit GpuIdentities(const std::filesystem::path& data);
  [[nodiscard]] static std::shared_ptr<const GpuIdentities> shipped();

  /// By a driver's name for a GPU ("NVIDIA H100 80GB HBM3"): the longest known name in it; nullptr: none.
  [[nodiscard]] const KnownClue* named(std::string_view marketing) const;
  /// Its name in data/gpus; empty if unknown or represented by a relative.
  [[nodiscard]] std::string gpu_named(std::string_view marketing) const;
  [[nodiscard]] const KnownClue* with_pci_id(std::string_view id) const;
  [[nodiscard]] const CloudInstance* instance(std::string_view name) const;
  /// The longest name of an instance in a text.
  [[nodiscard]] const CloudInstance* instance_in(std::string_view text) const;
  [[nodiscard]] const std::vector<GpuClue>& clues() const { return clues_; }

  /// Maximum NVLinks of a GPU on sale, and the counts of announced ones, ascending.
  [[nodiscard]] int max_nvlinks() const { return max_nvlinks_; }
  [[nodiscard]] const std::vector<int>& announced_nvlinks() const { return announced_nvlinks_; }
  [[nodiscard]] int max_nvlinks_announced() const {
    return std::max(max_nvlinks_, announced_nvlinks_.empty() ? 0 : announced_nvlinks_.back());
  }

  /// PCIe generation for the bits per second of one lane (data/links): the fastest that does not exceed it; 0
  /// if it is below every GPU's slot, as for an idle link.
  [[nodiscard]] int slot_generation(double lane_rate) const;
  [[nodiscard]] int slowest_slot() const { return slots_.empty() ? 0 : slots_.begin()->first; }

 private:
  std::vector<KnownClue> names_, pci_;  ///< longer ones first
  std::vector<CloudInstance> instances_;
  std::vector<GpuClue> clues_;
  int max_nvlinks_ = 0;
  std::vector<int> announced_nvlinks_;
  std::map<int, double> slots_;  ///< bits per second of a lane, by generation
};

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
/// Whether that many ranks of one node are on cards that are sold with the bridge of this machine (`bridge_of:`).
[[nodiscard]] bool sold_joined(const System& pair, int ranks);

/// The link of data/links that NICs beside a GPU of that generation usually have (`usual_beside:`), else
/// beside `other`.
/// \throws RequestError if no file defines it
[[nodiscard]] std::string usual_nic(std::string_view generation);

}  // namespace fabricost::core
