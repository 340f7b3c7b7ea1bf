/// \file elements.cpp
/// Types of the same width.

#include "measure/mpi/elements.hpp"

#include "measure/device.hpp"

#include <fmt/format.h>

namespace fabricost::probes::measure::mpi {

MPI_Datatype mpi_type(DataType type, bool summed) {
  switch (type) {
    case DataType::int8: return MPI_UINT8_T;
    case DataType::single: return MPI_FLOAT;
    case DataType::double_precision: return MPI_DOUBLE;
    case DataType::fp8:
    case DataType::half:
    case DataType::bfloat16: break;
  }
  if (summed) throw Unsupported(fmt::format("MPI has no sum of {}; measure float, double or int8", name(type)));
  return is_byte_wide(type) ? MPI_UINT8_T : MPI_UINT16_T;
}

}  // namespace fabricost::probes::measure::mpi
