#pragma once
/// \file operation_rules.hpp
/// What an operation's fields say of each other.

#include <fabricost/answers/operations.hpp>

#include <optional>

namespace fabricost::detail {

/// An operation on so many nodes and ranks, without its size. \param path where one was said \throws Refusal
[[nodiscard]] Operation operation_of(std::optional<Collective> collective, DataType dtype, std::optional<Path> path, int nodes, int ranks);

/// \throws Refusal where none was named
void need_machine(const Machine& machine);

}  // namespace fabricost::detail
