#pragma once
/// \file data_directory.hpp
/// For libraries that bring data/ along, such as the Python package.

#include <fabricost/compiled_part.hpp>

#include <filesystem>

namespace fabricost {

/// Takes data/ from there unless $FABRICOST_DATA says otherwise; a folder without systems/ is passed over. Any thread may call
/// it; a load under way may see either folder, so call it before the first.
void use_data_directory(std::filesystem::path directory);

}  // namespace fabricost
