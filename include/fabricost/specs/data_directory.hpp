#pragma once
/// Where the shipped files are, and the folder of a library that contains them, such as the Python package.

#include <fabricost/compiled_part.hpp>

#include <filesystem>

namespace fabricost::core {

/// The data/ folder: $FABRICOST_DATA, else share/fabricost/data above the program, else that of the package
/// it was compiled with.
/// \throws RequestError when there is none
[[nodiscard]] std::filesystem::path data_directory();

/// Takes data/ from there unless $FABRICOST_DATA is set; a folder without systems/ is ignored. Thread-safe,
/// but call it before the first load, since one under way may see either folder.
void use_data_directory(std::filesystem::path directory);

}  // namespace fabricost::core

namespace fabricost {
using core::data_directory;
using core::use_data_directory;
}  // namespace fabricost
