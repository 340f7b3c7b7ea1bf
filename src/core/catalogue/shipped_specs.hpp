#pragma once
/// \file shipped_specs.hpp
/// data/ at build time, in a generated source (precompile.cpp): as a catalogue (specs/catalogue.hpp), or found by name
/// (specs/sources/contained.hpp).

#include <string_view>

namespace fabricost::core {

extern const std::string_view shipped_specs;

}  // namespace fabricost::core
