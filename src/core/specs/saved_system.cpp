/// Saves a machine as requested: its base description, the overrides, and the calibration.

#include <fabricost/specs/load.hpp>

#include "specs/store.hpp"
#include "text/yaml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace fabricost::core {

std::string saved_system_yaml(const SavedSystem& system, std::string_view title) {
  std::string out = fmt::format("title: {}\nextends: {}\n", in_quotes(title), in_quotes(system.extends));
  if (!system.set.empty()) out += "set:\n";
  for (const std::string& one : system.set) out += fmt::format("  - {}\n", in_quotes(one));
  if (system.calibration.empty()) return system.set.empty() ? out + "set: []\n" : out;
  if (system.calibration.find('\n') == std::string::npos) return out + fmt::format("calibration: {}\n", in_quotes(system.calibration));
  out += "calibration: |\n";
  std::string_view left = system.calibration;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    out += end == 0 ? "\n" : fmt::format("  {}\n", left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return out;
}

std::optional<SavedSystem> read_saved_system(std::string_view name_or_path) {
  if (!is_path(name_or_path)) return std::nullopt;
  const std::filesystem::path file{name_or_path};
  const SpecNode tree = parse_spec(file);
  const SpecNode* const set = tree.find("set");
  const SpecNode* const calibration = tree.find("calibration");
  if (set == nullptr && calibration == nullptr) return std::nullopt;
  SavedSystem out;
  read_document(tree, [&](MapReader& in) {
    (void)in.text("title");
    out.extends = in.text("extends");
    if (out.extends.empty()) in.fault(tree, "extends", "is missing", "name the machine that `set` and `calibration` change");
    out.calibration = in.text("calibration");
    out.set = in.plain_texts("set");
  });
  const auto from_here = [&](std::string& path) {
    if (path.find('\n') == std::string::npos && is_path(path) && std::filesystem::path{path}.is_relative())
      path = beside(file, path).string();
  };
  from_here(out.extends);
  from_here(out.calibration);
  return out;
}

}  // namespace fabricost::core
