#pragma once
/// \file packed_tree.hpp
/// A parsed document as bytes, and back. Alike things stand together, since they compress best so:
///
///     bytes of the shape, of the places and of the keys, as numbers; then shape, places, keys, words
///     shape   kind of each value in order, behind it the number of a list's or map's parts
///     place   lines since the one before; its column, on the same line as columns since the end of the words before
///     words   ended by a byte 0; or a byte 1, their size, and they, where they hold a 0 or begin with a 1
///
/// Numbers are LEB128 (DWARF 4, 7.6), those that may fall with their sign in the lowest bit.

#include "specs/tree.hpp"

#include <fabricost/namespaces.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fabricost::core {

[[nodiscard]] std::string packed_tree(const SpecNode& root);
/// With marks into `file`. Empty for damaged bytes, every read of which is checked.
[[nodiscard]] std::optional<SpecNode> unpacked_tree(std::string_view bytes, const std::shared_ptr<const SpecFile>& file);

/// Appends a number below 2^32 to `out`.
void append_number(std::string& out, std::size_t number);
/// Reads one at `at`, which moves behind it; empty: the bytes end before it does.
[[nodiscard]] std::optional<std::size_t> number_at(std::string_view bytes, std::size_t& at);

}  // namespace fabricost::core
