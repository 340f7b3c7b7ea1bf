#pragma once
/// Finds spec files by name, resolves `extends`, and loads the parts of a system: GPU, link, switch, transport, tier, constants.

#include "specs/parts/transports.hpp"
#include "specs/reader.hpp"
#include "specs/tree.hpp"

#include <fabricost/hardware/constants.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/hardware/tier.hpp>
#include <fabricost/specs/load.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// A view of data/ for one load, or several in a row: each file is read once. For one thread.
class SpecStore {
 public:
  SpecStore();
  /// \param spelled the file's name that another spelling means, or nothing: asked of names without a file, except those of systems
  explicit SpecStore(std::string (*spelled)(const std::string& wanted)) : SpecStore() { spelled_ = spelled; }

  /// The tree of a spec with everything it extends laid below it. `chain` receives the names from the first base to the last file.
  [[nodiscard]] SpecNode resolve(std::string_view folder, std::string_view name_or_path, std::vector<std::string>* chain = nullptr);

  /// Parts named in a spec: a fault at `at` when they do not exist, their own faults when they do not load.
  const Gpu* gpu(const SpecNode& at, const std::string& path, const std::string& name, Faults& faults);
  const Link* link(const SpecNode& at, const std::string& path, const std::string& name, Faults& faults);
  const SwitchSpec* switch_spec(const SpecNode& at, const std::string& path, const std::string& name, Faults& faults);
  /// Who makes a GPU, without the rest of its file.
  const std::string& vendor(const std::string& gpu);
  const TransportSpec* transport(const SpecNode& at, const std::string& path, const std::string& name, Faults& faults);
  /// A transport that a tier of this load uses; nullptr: not loaded.
  [[nodiscard]] const TransportSpec* known_transport(const Label& name) const;

  [[nodiscard]] const std::filesystem::path& data() const { return data_; }
  /// The file of a name in `folder`; empty if there is none.
  [[nodiscard]] std::filesystem::path find(std::string_view folder, const std::string& name) const;

 private:
  /// The same for any spelling of a system: upper case, underscores, aliases.
  [[nodiscard]] std::filesystem::path find_or_alias(std::string_view folder, const std::string& wanted) const;
  /// The message for an unknown name.
  [[nodiscard]] std::string unknown(std::string_view folder, const std::string& wanted) const;
  template <class Part, class Read>
  const Part* part(std::map<std::string, Part>& known, std::string_view folder, Read&& read, const SpecNode& at, const std::string& path,
                   const std::string& name, Faults& faults);
  SpecNode parse_once(const std::filesystem::path& file);
  SpecNode resolve_file(std::string_view folder, const std::filesystem::path& file, std::vector<std::filesystem::path>& open,
                        std::vector<std::string>* chain);

  std::filesystem::path data_;
  std::string (*spelled_)(const std::string& wanted) = nullptr;
  std::map<std::string, SpecNode> trees_;  ///< by path
  std::map<std::string, Gpu> gpus_;
  std::map<std::string, std::string> vendors_;  ///< of a GPU
  std::map<std::string, Link> links_;
  std::map<std::string, SwitchSpec> switches_;
  std::map<std::string, TransportSpec> transports_;
};

[[nodiscard]] Gpu read_gpu(const SpecNode& tree, Faults& faults);
[[nodiscard]] Link read_link(const SpecNode& tree, Faults& faults);
[[nodiscard]] SwitchSpec read_switch(const SpecNode& tree, Faults& faults);

/// For listing many: a system's name, title, counts, its GPU's vendor and its tiers' roles and kinds. Nothing else is read, nor checked.
[[nodiscard]] System load_outline(SpecStore& library, std::string_view name);

/// True for a path rather than an entry of data/.
[[nodiscard]] bool is_path(std::string_view name_or_path);
/// A path written in `file`, resolved from its folder: "./link.yaml" in "./my.yaml" is "link.yaml". Only a
/// leading "./" is removed: the meaning of ".." depends on links of the file system.
[[nodiscard]] std::filesystem::path beside(const std::filesystem::path& file, const std::string& given);
/// True, with a fault at `at`, for the path of a file that does not exist.
[[nodiscard]] bool is_missing_file(const SpecNode& at, const std::string& path, const std::string& name, Faults& faults);

/// One tier of a spec: its rate from links, its latency from link and switch, checked against its hardware. Faults are added to `faults`;
/// fields that could not be read have their defaults.
/// \param is_below another network tier
/// \return nothing where the file does not say which role it has
[[nodiscard]] std::optional<Tier> read_tier(const SpecNode& node, std::string path, bool is_below, SpecStore& library, Faults& faults);

/// Parts overridden by hand, which therefore differ from the measured machine.
struct OverriddenParts {
  bool inside = false;   ///< the GPU or the scale-up tier
  bool outside = false;  ///< the NICs or the network
  bool board = false;    ///< what the board of a PCIe tier carries
};

/// Fills `system.constants`. \param calibration "" shipped, "none" prior, else a file \param kernels shipped
/// sets of kernels to read \param chain names of the machines that this one extends, and its own (SpecStore::resolve)
void load_constants(System& system, SpecStore& library, std::string_view calibration, KernelSets kernels, OverriddenParts altered,
                      const std::vector<std::string>& chain, Faults& faults);

}  // namespace fabricost::core
