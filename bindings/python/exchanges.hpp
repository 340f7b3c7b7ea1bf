#pragma once
/// \file exchanges.hpp
/// fc.MoeDispatch, MoeCombine and MoePrepare, where they are accepted as an operation.

#include <fabricost/answers/moe.hpp>

#include <pybind11/pybind11.h>

#include <optional>

namespace fabricost::python {

/// The request in an operation, without its machine; empty for any other object.
[[nodiscard]] std::optional<MoeRequest> exchange_request(pybind11::handle operation);

/// The answer on a machine. \throws as answer(MoeRequest)
[[nodiscard]] MoeAnswer exchange_answer(MoeRequest request, const fabricost::core::Machine& machine);

}  // namespace fabricost::python
