#pragma once
/// \file library.hpp
/// Identifies the MPI library from the text of MPI_Get_library_version.

#include <string>
#include <string_view>

namespace fabricost::probes::measure::mpi {

struct LibraryName {
  std::string name{}, version{};  ///< "openmpi" "4.1.4"; "mpi" and empty for an unknown library
};

[[nodiscard]] LibraryName library_named(std::string_view text);

}  // namespace fabricost::probes::measure::mpi
