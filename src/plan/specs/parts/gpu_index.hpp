#pragma once
/// Finds the GPU of an unknown machine by a driver's name, a PCI id or other properties: an index over data/gpus. Only what meets such a machine
/// reads it: topologies, logs, this machine, tables of published kernels.

#include "specs/parts/identities.hpp"

#include <fabricost/hardware/system.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

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
  /// The same for what a table calls it: the name in data/gpus in any spelling, a driver's in full after its maker's, or a known name with
  /// nothing but sizes of memory behind it ("H100-80G"). "H1000" and "H100 turbo" are unknown.
  [[nodiscard]] std::string gpu_called(std::string_view written) const;
  /// Names in data/gpus that an unknown one is near to, nearest first, at most three.
  [[nodiscard]] std::vector<std::string> near(std::string_view unknown) const;
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
  std::vector<std::string> files_;      ///< of data/gpus
  std::vector<CloudInstance> instances_;
  std::vector<GpuClue> clues_;
  int max_nvlinks_ = 0;
  std::vector<int> announced_nvlinks_;
  std::map<int, double> slots_;  ///< bits per second of a lane, by generation
};

/// Whether that many ranks of one node are on cards that are sold with the bridge of this machine (`bridge_of:`).
[[nodiscard]] bool sold_joined(const System& pair, int ranks);

/// The link of data/links that NICs beside a GPU of that generation usually have (`usual_beside:`), else
/// beside `other`.
/// \throws RequestError if no file defines it
[[nodiscard]] std::string usual_nic(std::string_view generation);

}  // namespace fabricost::plan
