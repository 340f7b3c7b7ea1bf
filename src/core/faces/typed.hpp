#pragma once
/// \file typed.hpp
/// Additions to answers/typed for faces that read texts: the names of operations, and numbers written back as people type them.

#include "answers/typed/from_text.hpp"
#include "faces/amounts.hpp"
#include "faces/names.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::faces {

/// "18.5ms" for 0.0185 seconds: a number in the notation of its amount; other values are unchanged.
[[nodiscard]] std::string as_typed(std::string_view value, Amount amount);

}  // namespace fabricost::faces
