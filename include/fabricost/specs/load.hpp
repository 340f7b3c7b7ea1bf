#pragma once
/// Reading hardware specs, and saving a machine as it was requested. The format is docs/spec-format.md; the files are in data/.
///
/// All functions throw SpecError with every fault of the files involved (file, line, column, value, remedy), and RequestError,
/// naming the near ones, for a name that does not exist.

#include <fabricost/compiled_part.hpp>
#include <fabricost/hardware/link.hpp>
#include <fabricost/hardware/system.hpp>

#include <optional>
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

/// A parameter that a machine's file declares: values of it that are turned together, by name (docs/spec-format.md).
struct DeclaredParameter {
  std::string name, title, unit;
  std::vector<std::string> values;  ///< those it can take; empty: any number
};

/// The parameters of a system's file and of those it extends, in the order of the file. They are turned by overrides, as in
/// `design.domain=72`, and replace the general parameter of the same name. \throws SpecError, RequestError as load_system
[[nodiscard]] std::vector<DeclaredParameter> declared_parameters(std::string_view name_or_path);

/// The arguments of load_system. A file with `set` or `calibration` beside `extends` is loaded with them
/// (docs/spec-format.md).
struct SavedSystem {
  std::string extends;           ///< name or path; a relative path counts from the folder of the file
  std::vector<std::string> set;  ///< overrides
  std::string calibration;       ///< as in load_system; a file's text is kept in the file itself
};

/// The text of such a file. \param title for readers
[[nodiscard]] std::string saved_system_yaml(const SavedSystem& system, std::string_view title);

/// The contents of a file with `set` or `calibration`; empty for other files, and for names.
/// \throws SpecError when such a file contains anything else, or cannot be read
[[nodiscard]] std::optional<SavedSystem> read_saved_system(std::string_view name_or_path);

}  // namespace fabricost::core

namespace fabricost {
using core::SavedSystem;
using core::load_gpu;
using core::load_link;
using core::load_switch;
using core::load_system;
using core::load_transport;
using core::read_saved_system;
using core::saved_system_yaml;
using core::system_names;
}  // namespace fabricost
