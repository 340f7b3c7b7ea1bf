/// \file calls.cpp
/// Converts error codes of MPI to exceptions.

#include "measure/mpi/calls.hpp"

#include "measure/device.hpp"

#include <array>
#include <string>

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace fabricost::probes::measure::mpi {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  const std::string said = std::string{call} + ": " + (length > 0 ? std::string{text.data()} : "error " + std::to_string(code));
  int kind = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &kind);
#ifdef MPIX_ERR_PROC_FAILED
  if (kind == MPIX_ERR_PROC_FAILED || kind == MPIX_ERR_REVOKED) throw DeviceLost("a process is gone: " + said);
#endif
  if (kind == MPI_ERR_NO_MEM) throw OutOfMemory(said);
  throw DeviceFault(said);
}

}  // namespace fabricost::probes::measure::mpi
