#pragma once
/// \file elements.hpp
/// Element types of MPI, blocks of them, and sums of either.

#include "measure/mpi/calls.hpp"
#include "measure/mpi/counts.hpp"

#include <fabricost/collective.hpp>

#include <cstdint>

namespace fabricost::measure::mpi {

/// The MPI type of the same width. Sums need one that MPI can add. \throws Unsupported for sums of 16-bit and 8-bit floats
[[nodiscard]] MPI_Datatype mpi_type(DataType type, bool summed);

/// A message as MPI is told of it: so many of a type, and how they are added. Owns the type and the operation where they are its own.
class Message {
 public:
  /// \param elements in one count argument \param most what a count may be
  /// \throws Unsupported where so many elements fall into no whole blocks
  Message(DataType type, bool summed, std::uint64_t elements, std::uint64_t most);
  ~Message();
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  [[nodiscard]] Count count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }
  [[nodiscard]] MPI_Op sum() const { return sum_; }

 private:
  Count count_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op sum_ = MPI_SUM;
  bool own_ = false;
};

}  // namespace fabricost::measure::mpi
