#pragma once
/// \file library.hpp
/// Which MPI this is, from what MPI_Get_library_version says.

#include <string>
#include <string_view>

namespace fabricost::measure::mpi {

struct LibraryName {
  std::string name{}, version{};  ///< "openmpi" "4.1.4"; "mpi" and nothing where the text is of no library we know
};

[[nodiscard]] LibraryName library_named(std::string_view text);

}  // namespace fabricost::measure::mpi
