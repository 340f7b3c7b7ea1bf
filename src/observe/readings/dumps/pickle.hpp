#pragma once
/// Pickles that hold plain values, without the instructions that run code. Private.

#include "text/plain_tree.hpp"

#include <string>
#include <string_view>

namespace fabricost::observe {

/// A pickle of protocol 2 or later, by its first bytes.
[[nodiscard]] inline bool is_pickle(std::string_view head) {
  return head.size() > 1 && head[0] == '\x80' && head[1] >= '\x02' && head[1] <= '\x05';
}
/// \param name for messages \throws SpecError with the byte where it is cut, broken or holds more than plain values
[[nodiscard]] PlainTree read_pickle(std::string_view bytes, const std::string& name, const PlainLimits& limits = {});

}  // namespace fabricost::observe
