#pragma once
/// \file data_directory.hpp
/// For libraries that contain data/, such as the Python package.

#include <fabricost/compiled_part.hpp>

#include <filesystem>

namespace fabricost {

/// Takes data/ from there unless $FABRICOST_DATA is set; a folder without systems/ is ignored. Thread-safe,
/// but call it before the first load, since one under way may see either folder.
void use_data_directory(std::filesystem::path directory);

}  // namespace fabricost
