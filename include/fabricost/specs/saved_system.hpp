#pragma once
/// \file saved_system.hpp
/// Machines saved as they were asked for, so that a file gives the same machine again.

#include <fabricost/compiled_part.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// What load_system takes. A file with `set` or `calibration` beside `extends` loads as that (docs/spec-format.md).
struct SavedSystem {
  std::string extends;           ///< name or path; a relative path counts from the folder of the file
  std::vector<std::string> set;  ///< overrides
  std::string calibration;       ///< as in load_system; a file's text is kept in the file itself
};

/// The text of such a file. \param title for people
[[nodiscard]] std::string saved_system_yaml(const SavedSystem& system, std::string_view title);

/// What a file holds that has `set` or `calibration`; nothing for any other file, and for names.
/// \throws SpecError when such a file holds anything else, or cannot be read
[[nodiscard]] std::optional<SavedSystem> read_saved_system(std::string_view name_or_path);

}  // namespace fabricost
