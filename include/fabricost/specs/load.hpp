#pragma once
/// \file load.hpp
/// Reading hardware specs. The format is docs/spec-format.md; the files are in data/.
///
/// All functions throw SpecError with every fault of the files involved (file, line, column, value, remedy), and RequestError,
/// naming the near ones, for a name that does not exist.

#include <fabricost/compiled_part.hpp>
#include <fabricost/hardware/link.hpp>
#include <fabricost/hardware/system.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// Which shipped constants of kernels are read besides those of collectives. A command that does not price a
/// kind need not load its file; a system without them has the defaults of hardware/constants.hpp and basis
/// `datasheet` for it.
struct KernelSets {
  bool compute = true;  ///< products, attention, memory traffic: any workload
  bool custom = true;   ///< inference engines' own all-reduces
  bool moe = true;      ///< dispatch and combine of experts

  [[nodiscard]] static constexpr KernelSets none() { return {false, false, false}; }
};

/// A named system or cluster of data/, or a YAML file (a name with a '/' or ending in .yaml).
/// \param overrides `PATH=VALUE` each, as in `tiers.nvlink.bandwidth=900 GB/s per direction` or `nic.gdr=false`
/// \param calibration empty: the shipped one; "none": datasheet and prior only; else a calibration file
/// \param kernels which shipped sets of kernels are read; a calibration file given is read whole
[[nodiscard]] System load_system(std::string_view name_or_path, std::span<const std::string> overrides = {},
                                 std::string_view calibration = {}, KernelSets kernels = {});

/// One GPU, link, switch or transport of data/ by name or path.
[[nodiscard]] Gpu load_gpu(std::string_view name_or_path);
[[nodiscard]] Link load_link(std::string_view name_or_path);

/// A switch chip or box.
struct SwitchSpec {
  std::string name, title, link;
  int ports = 0;
  int per_board = 0;  ///< chips on a board of up to 8 GPUs; 0: on none
  Sourced<Time> latency;
  bool reduces = false, multicasts = false;
};
[[nodiscard]] SwitchSpec load_switch(std::string_view name_or_path);
[[nodiscard]] Transport load_transport(std::string_view name_or_path);

/// One entry of `fabricost machine`.
struct SystemName {
  std::string name;
  bool cluster = false;
};
/// All systems and clusters of data/, sorted by name within each.
[[nodiscard]] std::vector<SystemName> system_names();

/// All names below data/`folder` (gpus, links, switches, transports, systems, clusters), sorted.
[[nodiscard]] std::vector<std::string> names_in(std::string_view folder);

/// Those of `names` that look like `wanted`, nearest first, at most three.
[[nodiscard]] std::vector<std::string> near_names(std::string_view wanted, std::span<const std::string> names);

}  // namespace fabricost::core

namespace fabricost {
using core::load_gpu;
using core::load_link;
using core::load_switch;
using core::load_system;
using core::load_transport;
using core::system_names;
}  // namespace fabricost
