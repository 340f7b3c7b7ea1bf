#pragma once
/// \file compiled_part.hpp
/// What a program that includes a header of the compiled library and that library must agree on.
///
/// The version: structs of these headers cross into compiled code, so headers of one version with a library of another would read each
/// other's fields wrongly. Each such program asks for a symbol that only the library of its version has; with another it does not link:
/// undefined reference to `fabricost_io_is_version_0_1_0'.
///
/// The data: an installed version.hpp says where the data is from here, FABRICOST_DATA_DIRECTORY; that of a build tree does not.

#include <fabricost/version.hpp>

extern "C" void FABRICOST_COMPILED_PART() noexcept;

namespace fabricost::io {

[[gnu::used]] constexpr void (*version_of_compiled_part)() noexcept = &FABRICOST_COMPILED_PART;

/// Remembers where the package is that a program was compiled with: a path, perhaps with "/..". data_directory() looks there after the
/// places beside the program. The text must outlive the program. \returns true
bool remember_package_data(const char* directory) noexcept;

#ifdef FABRICOST_DATA_DIRECTORY
inline const bool package_data_is_known = remember_package_data(FABRICOST_DATA_DIRECTORY);
#endif

}  // namespace fabricost::io
