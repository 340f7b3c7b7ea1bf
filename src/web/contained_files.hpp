#pragma once
/// The files of data/ that the page contains (specs/sources/contained.hpp), in a source that host/contain.cpp writes.

#include <string_view>

namespace fabricost::web {

extern const std::string_view contained_files;

}  // namespace fabricost::web
