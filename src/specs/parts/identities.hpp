#pragma once
/// \file identities.hpp
/// By what a machine tells which GPU it has, and what that GPU usually sits in: the `identity:` of the files of data/gpus, and `aliases:`
/// and `usual_for:` of those of data/systems and data/clusters. An index over all of them answers; no product is named in code.
/// Only those who meet an unknown machine ask (`topo`, `diagnose`, `measure`, an alias): a prediction of a named one reads none of it.

#include "specs/reader.hpp"
#include "specs/tree.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::io {

/// A marketing name, a part of one, or a PCI id, and whose it is.
struct KnownClue {
  std::string clue, gpu;
  std::string stands_for{};  ///< what has this name or id, where data/ lacks it and `gpu` is a near relative; empty: `gpu` itself
};

/// A cloud's machine whose topology file gives addresses alone.
struct CloudInstance {
  std::string name;
  int gpus = 0, nics = 0;
  std::string gpu, source;
};

/// What a topology without a name may show, from which a GPU is taken. Conditions that are not given always hold.
struct GpuClue {
  enum class Wiring { any, direct, pairs };
  std::string gpu, vendor;
  int arch = 0;                                  ///< number of the architecture, see arch_number
  std::optional<std::pair<int, int>> links{};    ///< direct links of one GPU, from and to
  int gpus = 0, sockets = 0, per_processor = 0;  ///< per_processor: GPUs whose memories are NUMA nodes of one processor
  int pcie = 0;                                  ///< PCIe generation of the slot
  Wiring wiring = Wiring::any;                   ///< direct: no switches; pairs: all links of a GPU lead to one other
  std::string remark{};                          ///< follows what was read, with its own punctuation

  [[nodiscard]] int conditions() const {
    return int{links.has_value()} + int{gpus > 0} + int{sockets > 0} + int{per_processor > 0} + int{wiring != Wiring::any};
  }
};

/// The `identity:` of one GPU.
struct GpuIdentity {
  std::string arch;  ///< as compilers take it: sm_90, gfx942
  std::vector<KnownClue> names, pci;
  std::vector<CloudInstance> instances;
  std::vector<GpuClue> clues;
};
[[nodiscard]] GpuIdentity read_identity(const SpecNode& identity, std::string_view gpu, std::string_view vendor, Faults& faults);

/// "sm_90" is 90, "gfx942" 942; "gfx90a" is written 910, so that it stands in order. 0: no architecture.
[[nodiscard]] int arch_number(std::string_view arch);

/// All of data/gpus. `shipped` is read once for each data directory of a process; the pointers live as long as it does.
class GpuIdentities {
 public:
  /// \throws SpecError naming the file whose identity cannot be read, or both files that claim a name or an id
  explicit GpuIdentities(const std::filesystem::path& data);
  [[nodiscard]] static std::shared_ptr<const GpuIdentities> shipped();

  /// By what a driver calls a GPU ("NVIDIA H100 80GB HBM3"): of the names that are part of it the longest; nullptr: none.
  [[nodiscard]] const KnownClue* named(std::string_view marketing) const;
  /// Its name in data/gpus; empty where nothing is known or a relative would stand in.
  [[nodiscard]] std::string gpu_named(std::string_view marketing) const;
  [[nodiscard]] const KnownClue* with_pci_id(std::string_view id) const;
  [[nodiscard]] const CloudInstance* instance(std::string_view name) const;
  /// The longest name of an instance in a text.
  [[nodiscard]] const CloudInstance* instance_in(std::string_view text) const;
  [[nodiscard]] const std::vector<GpuClue>& clues() const { return clues_; }

  /// Most NVLinks of a GPU that one can buy, and the counts of announced ones, ascending.
  [[nodiscard]] int most_nvlinks() const { return most_nvlinks_; }
  [[nodiscard]] const std::vector<int>& announced_nvlinks() const { return announced_nvlinks_; }
  [[nodiscard]] int most_nvlinks_announced() const {
    return std::max(most_nvlinks_, announced_nvlinks_.empty() ? 0 : announced_nvlinks_.back());
  }

  /// Generation of PCIe by the bits per second of one lane (data/links): the fastest that is no faster; 0 where no GPU's slot is as slow,
  /// as of a link that idles.
  [[nodiscard]] int slot_generation(double lane_rate) const;
  [[nodiscard]] int slowest_slot() const { return slots_.empty() ? 0 : slots_.begin()->first; }

 private:
  std::vector<KnownClue> names_, pci_;  ///< the longer first
  std::vector<CloudInstance> instances_;
  std::vector<GpuClue> clues_;
  int most_nvlinks_ = 0;
  std::vector<int> announced_nvlinks_;
  std::map<int, double> slots_;  ///< bits per second of a lane, by generation
};

/// What the files of data/systems and data/clusters say of themselves beside what they describe.
struct MachineIdentities {
  std::map<std::string, std::string, std::less<>> aliases;  ///< other name: name
  /// GPU of data/gpus, and the systems (one node) or clusters that are its usual machine.
  std::multimap<std::string, std::string, std::less<>> systems, clusters;
};
/// \throws SpecError for a file that is not YAML, and for two that claim a name
[[nodiscard]] MachineIdentities machine_identities(const std::filesystem::path& data);

/// The link of data/links that NICs beside a GPU of that generation usually have (`usual_beside:`), else beside `other`.
/// \throws RequestError where no file says
[[nodiscard]] std::string usual_nic(std::string_view generation);

}  // namespace fabricost::io
