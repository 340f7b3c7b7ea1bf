#pragma once
/// fc.Operation: the request of operation.hpp, whose numbers may be arrays; and what else is accepted as an operation.

#include "text.hpp"

#include <fabricost/answers/moe.hpp>
#include <fabricost/answers/predict.hpp>
#include <fabricost/operation.hpp>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace fabricost::python {

/// Array fields are in `bytes` (float64), `ranks` or `nodes` (int64), which are null for a plain number;
/// plain numbers are in `scalar`. Missing bytes are NaN there. Arrays are copies that cannot be written to,
/// so later changes of the caller's arrays have no effect.
struct OperationRequest {
  Operation scalar;
  pybind11::object bytes, ranks, nodes;
  pybind11::object axes{};  ///< (names, coordinates) of given xarray objects; null without

  [[nodiscard]] bool has_arrays() const { return bytes || ranks || nodes; }
  /// \throws RequestError when a field is an array or the bytes were not given
  [[nodiscard]] const Operation& one() const;
};

/// A type of its own per collective, so that Python has a class of its own.
template <Collective C>
struct CollectiveRequest : OperationRequest {};

/// "AllReduce" of all_reduce: the class of Python.
inline constexpr std::array<const char*, 7> class_names{"AllReduce", "AllGather", "ReduceScatter", "Broadcast",
                                                        "Reduce",    "AllToAll",  "SendRecv"};

/// Sizes go up to (not including) 10^18 bytes.
inline constexpr double max_bytes = 1e18;

/// A Python object of the class for `request.scalar.collective`.
[[nodiscard]] pybind11::object operation_object(const OperationRequest& request);

/// The `operation` of a call and its Python object: an Operation, or another type that the function accepts.
struct GivenOperation {
  pybind11::handle value{};
  const OperationRequest* request = nullptr;  ///< where it is an Operation
  /// \throws TypeError where it is none
  [[nodiscard]] const OperationRequest& operation() const;
};

inline constexpr std::array<std::string_view, 2> system_and_operation{"system", "operation"};

/// The same as fields of a request. \throws RequestError if one is an array or the bytes are missing
template <class Request>
void put_operation(const OperationRequest& request, Request& out) {
  const Operation& op = request.one();
  out.operation = op.collective;
  out.dtype = op.dtype;
  out.bytes = op.bytes;
  out.ranks = op.ranks;
  out.nodes = op.nodes;
  if (op.collective == Collective::send_recv) out.path = op.path;
}

/// \throws TypeError for an object that is not a request
void from_object(pybind11::handle given, std::string_view name, const Range&, GivenOperation& out);

/// The request of a MoeDispatch, MoeCombine or MoePrepare, without its machine; empty for any other object.
[[nodiscard]] std::optional<MoeRequest> exchange_request(pybind11::handle operation);

/// The answer on a machine. \throws as answer(MoeRequest)
[[nodiscard]] MoeAnswer exchange_answer(MoeRequest request, const fabricost::core::Machine& machine);

}  // namespace fabricost::python

namespace fabricost::core {
/// An engine: "vllm", "vllm=0.14.0".
void from_object(pybind11::handle given, std::string_view name, const Range&, Inference& out);
}  // namespace fabricost::core
