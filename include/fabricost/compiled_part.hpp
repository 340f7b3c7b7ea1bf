#pragma once
/// Agreement between the compiled library and a program that includes one of its headers.
///
/// The version: structs of these headers cross into compiled code, so headers and library of different
/// versions would misread each other's fields. Each such program refers to a symbol that only the library of
/// its version has, so that linking with another version fails: undefined reference to
/// `fabricost_io_is_version_0_1_0'.
///
/// The data: an installed version.hpp defines the relative path of the data, FABRICOST_DATA_DIRECTORY; that
/// of a build tree does not.

#include <fabricost/namespaces.hpp>

#include <fabricost/version.hpp>

extern "C" void FABRICOST_COMPILED_PART() noexcept;

namespace fabricost::core {

[[gnu::used]] constexpr void (*version_of_compiled_part)() noexcept = &FABRICOST_COMPILED_PART;

/// Stores the location of the package a program was compiled with: a path, perhaps with "/..".
/// data_directory() tries it after the places beside the program. The text must outlive the program. \returns true
bool remember_package_data(const char* directory) noexcept;

#ifdef FABRICOST_DATA_DIRECTORY
inline const bool package_data_is_known = remember_package_data(FABRICOST_DATA_DIRECTORY);
#endif

}  // namespace fabricost::core
