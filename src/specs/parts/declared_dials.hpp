#pragma once
/// \file declared_dials.hpp
/// Dials of a machine's file: each is the overrides that it sets, with the value put in. Private.

#include "specs/reader.hpp"

#include <fabricost/specs/declared_dials.hpp>

#include <string>
#include <utility>
#include <vector>

namespace fabricost::io {

/// Reads and checks `dials:` of a system's tree: known keys, templates that can be filled, paths that lead somewhere.
[[nodiscard]] std::vector<DeclaredDial> read_declared_dials(const SpecNode& tree, Faults& faults);

/// Replaces every override `dial.NAME` of a declared dial by what it sets. \throws RequestError for a value that it cannot take
void spell_out_dials(const SpecNode& tree, std::vector<std::pair<std::string, std::string>>& overrides);

}  // namespace fabricost::io
