#pragma once
/// \file operations.hpp
/// fc.Operation: the question of operation.hpp, whose numbers may be arrays.

#include "text.hpp"

#include <fabricost/operation.hpp>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <string>

namespace fabricost::python {

/// A field that is an array stands in `bytes` (float64), `ranks` or `nodes` (int64), which are null where it is one number; that number is
/// in `scalar`. Bytes that were not given are not-a-number there, which nothing else is. Arrays are the operation's own and cannot be
/// written to: what a caller does to theirs later changes no question.
struct AskedOperation {
  Operation scalar;
  pybind11::object bytes, ranks, nodes;
  pybind11::object axes{};  ///< (names, coordinates) of xarray objects that were given; null without

  [[nodiscard]] bool has_arrays() const { return bytes || ranks || nodes; }
  /// \throws RequestError when a field is an array or the bytes were not given
  [[nodiscard]] const Operation& one() const;
};

/// A type of its own per collective, so that Python has a class of its own.
template <Collective C>
struct Asked : AskedOperation {};

/// "AllReduce" of all_reduce: the class of Python.
inline constexpr std::array<const char*, 7> class_names{"AllReduce", "AllGather", "ReduceScatter", "Broadcast",
                                                        "Reduce",    "AllToAll",  "SendRecv"};

/// Sizes go up to (not including) 10^18 bytes.
inline constexpr double most_bytes = 1e18;

/// A Python object of the class for `asked.scalar.collective`.
[[nodiscard]] pybind11::object operation_object(const AskedOperation& asked);

}  // namespace fabricost::python
