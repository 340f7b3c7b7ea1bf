#pragma once
/// \file shipped_specs.hpp
/// The catalogue of data/ at build time, defined in a generated source (precompile.cpp).

#include <string_view>

namespace fabricost::io {

extern const std::string_view shipped_specs;
/// Names of its documents, sorted, one a line; empty: they are found by their text.
extern const std::string_view shipped_names;

}  // namespace fabricost::io
