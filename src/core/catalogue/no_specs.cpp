/// \file no_specs.cpp
/// The empty catalogue, for builds that cannot run their own programs: every spec is parsed.

#include "catalogue/shipped_specs.hpp"

namespace fabricost::core {

const std::string_view shipped_specs{};

}  // namespace fabricost::core
