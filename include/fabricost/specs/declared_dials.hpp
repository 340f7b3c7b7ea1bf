#pragma once
/// \file declared_dials.hpp
/// Dials that a machine's file declares: values of it that are turned together, by name (docs/spec-format.md).

#include <fabricost/compiled_part.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

struct DeclaredDial {
  std::string name, title, unit;
  std::vector<std::string> values;  ///< those it can take; empty: any number
};

/// The dials of a system's file and of those it extends, in the order of the file. They are turned by overrides, as in `dial.domain=72`,
/// and replace the general dial of the same name. \throws SpecError, RequestError as load_system
[[nodiscard]] std::vector<DeclaredDial> declared_dials(std::string_view name_or_path);

}  // namespace fabricost::core
