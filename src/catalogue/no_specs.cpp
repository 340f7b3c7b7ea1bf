/// \file no_specs.cpp
/// The empty catalogue, where the build cannot run what it builds: every spec is parsed.

#include "catalogue/shipped_specs.hpp"

namespace fabricost::io {

const std::string_view shipped_specs{};

}  // namespace fabricost::io
