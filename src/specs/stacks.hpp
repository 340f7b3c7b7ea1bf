#pragma once
/// \file stacks.hpp
/// Stacks with the published groups they speak for.


#include <fabricost/kernels/stack.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::io {

/// A group of published rows a stack ran: the beginning of the group's name and, where a group holds several stacks, a word of the row's
/// model or notes.
struct PublishedBy {
  std::string group, word;
};

struct NamedStack {
  Stack stack;
  std::vector<PublishedBy> published;
};

/// Every stack of data/stacks.
[[nodiscard]] std::vector<NamedStack> shipped_stacks();

/// The stack that speaks most closely for a row: the longest beginning of its group, words before none; megatron-core when none does.
[[nodiscard]] const NamedStack& stack_of(const std::vector<NamedStack>& stacks, std::string_view group, std::string_view text);

}  // namespace fabricost::io
