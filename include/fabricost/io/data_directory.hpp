#pragma once
/// \file data_directory.hpp
/// For libraries that bring data/ along, such as the Python package.

#include <fabricost/io/compiled_part.hpp>

#include <filesystem>

namespace fabricost {

/// Takes data/ from there unless $FABRICOST_DATA says otherwise; a folder without systems/ is passed over. Called before anything is
/// loaded, not while other threads load.
void use_data_directory(std::filesystem::path directory);

}  // namespace fabricost
