#pragma once
/// \file stacks.hpp
/// Stacks with their published groups of runs.


#include <fabricost/plan/kernels/stack.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// A group of published rows that a stack ran: the prefix of the group's name and, if a group holds several
/// stacks, words that the row's model, GPU, source and notes must all hold ("v5.1 + B200").
struct PublishedBy {
  std::string group;
  std::vector<std::string> words;
};

struct PublishedStack {
  Stack stack;
  std::vector<PublishedBy> published;
};

/// Every stack of data/stacks.
[[nodiscard]] std::vector<PublishedStack> shipped_stacks();

/// The most specific stack for a row: the longest prefix of its group, with more words before fewer;
/// megatron-core if none matches.
[[nodiscard]] const PublishedStack& stack_of(const std::vector<PublishedStack>& stacks, std::string_view group, std::string_view text);

}  // namespace fabricost::plan
