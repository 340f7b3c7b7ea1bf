#pragma once
/// \file shipped_specs.hpp
/// The catalogue of data/ as it was when the program was built; defined in a source the build writes (precompile.cpp).

#include <string_view>

namespace fabricost::io {

extern const std::string_view shipped_specs;

}  // namespace fabricost::io
