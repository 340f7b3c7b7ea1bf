#pragma once
/// \file stacks.hpp
/// Stacks with their published groups of runs.


#include <fabricost/kernels/stack.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::io {

/// A group of published rows that a stack ran: the prefix of the group's name and, if a group holds several
/// stacks, a word in the row's model or notes.
struct PublishedBy {
  std::string group, word;
};

struct NamedStack {
  Stack stack;
  std::vector<PublishedBy> published;
};

/// Every stack of data/stacks.
[[nodiscard]] std::vector<NamedStack> shipped_stacks();

/// The most specific stack for a row: the longest prefix of its group, with word before without;
/// megatron-core if none matches.
[[nodiscard]] const NamedStack& stack_of(const std::vector<NamedStack>& stacks, std::string_view group, std::string_view text);

}  // namespace fabricost::io
