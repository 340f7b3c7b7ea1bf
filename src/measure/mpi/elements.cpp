/// \file elements.cpp
/// Types and sums.

#include "measure/mpi/elements.hpp"

#include "measure/device.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace fabricost::measure::mpi {

namespace {

/// Adds whole blocks. MPI says how many blocks, the type how many bytes that is.
template <class Element>
void add_blocks(void* in, void* into, int* count, MPI_Datatype* type) {
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(*type, &lower, &extent);
  const auto elements = static_cast<std::size_t>(extent) / sizeof(Element) * static_cast<std::size_t>(*count);
  const auto* from = static_cast<const Element*>(in);
  auto* to = static_cast<Element*>(into);
  for (std::size_t i = 0; i < elements; ++i) to[i] = static_cast<Element>(to[i] + from[i]);
}

[[nodiscard]] MPI_User_function* adder(DataType type) {
  switch (type) {
    case DataType::int8: return &add_blocks<std::uint8_t>;
    case DataType::double_precision: return &add_blocks<double>;
    default: return &add_blocks<float>;
  }
}

}  // namespace

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

Message::Message(DataType type, bool summed, std::uint64_t elements, std::uint64_t most) {
  type_ = mpi_type(type, summed);
  const auto blocks = blocks_of(elements, most);
  if (!blocks) throw Unsupported(fmt::format("{} elements fall into no whole blocks that a count of MPI can say", elements));
  count_ = static_cast<Count>(blocks->count);
  if (blocks->elements_each == 1) return;
  if (blocks->elements_each > std::uint64_t{1} << 30)
    throw Unsupported(fmt::format("{} elements are more than MPI's types hold", elements));
  check(MPI_Type_contiguous(static_cast<int>(blocks->elements_each), type_, &type_), "MPI_Type_contiguous");
  own_ = true;
  check(MPI_Type_commit(&type_), "MPI_Type_commit");
  if (summed) check(MPI_Op_create(adder(type), 1, &sum_), "MPI_Op_create");
}

Message::~Message() {
  if (!own_) return;
  MPI_Type_free(&type_);
  if (sum_ != MPI_SUM) MPI_Op_free(&sum_);
}

}  // namespace fabricost::measure::mpi
