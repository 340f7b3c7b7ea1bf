#pragma once
/// \file saved_system.hpp
/// Machines saved as requested, so that a file gives the same machine again.

#include <fabricost/compiled_part.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

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
using core::read_saved_system;
using core::saved_system_yaml;
using core::SavedSystem;
}  // namespace fabricost
