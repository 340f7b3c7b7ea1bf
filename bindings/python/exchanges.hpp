#pragma once
/// \file exchanges.hpp
/// fc.MoeDispatch, MoeCombine and MoePrepare, where they are accepted as an operation.

#include <fabricost/answers/moe.hpp>

#include <pybind11/pybind11.h>

#include <optional>

namespace fabricost::python {

/// What is asked, without its machine; nothing for any other object.
[[nodiscard]] std::optional<MoeRequest> exchange_request(pybind11::handle operation);

/// The answer on a machine. \throws as answer(MoeRequest)
[[nodiscard]] MoeAnswer exchange_answer(MoeRequest request, const fabricost::Machine& machine);

}  // namespace fabricost::python
