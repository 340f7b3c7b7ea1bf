#pragma once
/// \file memory.hpp
/// Memory of a GPU as a person reads it: the items in GiB, whether they fit, and the smallest change that makes them.

#include <fabricost/compiled_part.hpp>
#include <fabricost/memory/advice.hpp>

#include <string>

namespace fabricost {

/// The items of the worst stage, largest first, each with its share of the total and what it consists of; then the room left or missing on
/// a GPU of `capacity` bytes with `margin` (0 to 1) of it kept free; where it does not fit, the smallest change that does.
/// \param most_tp as smallest_change_that_fits \throws RequestError for a capacity or margin that is none
[[nodiscard]] std::string memory_text(const Model& model, const Layout& layout, const MemoryStack& stack, double capacity,
                                      double margin = 0, int most_tp = 8);

}  // namespace fabricost
