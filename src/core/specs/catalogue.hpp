#pragma once
/// \file catalogue.hpp
/// Documents that were parsed when the program was built, found by their content. A text that equals one of
/// them byte for byte needs no parser; an edited text is not in the catalogue and is parsed.
///
/// Layout, little-endian: 8 bytes of magic, the number of documents, one row per document sorted by the hash of its text, then the trees.
///
///     row    hash of the text (8 bytes), hash of the tree's bytes (8), bytes of the text (4), offset of the tree (4), its bytes (4)
///
/// The trees are packed (sources/packed_tree.hpp).

#include "specs/tree.hpp"

#include <fabricost/namespaces.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fabricost::core {

/// A document for the catalogue: its text and its parsed tree.
struct ParsedDocument {
  std::string text;
  SpecNode root;
};

/// The catalogue of these documents, as bytes.
[[nodiscard]] std::string catalogue_of(std::span<const ParsedDocument> documents);

/// The tree of `text` if `catalogue` contains it, with marks into `file`. An invalid, truncated or damaged
/// catalogue counts as empty.
[[nodiscard]] std::optional<SpecNode> tree_in(std::string_view catalogue, std::string_view text,
                                              const std::shared_ptr<const SpecFile>& file);

/// Takes trees from `catalogue`, which must outlive the process; empty: no catalogue. Thread-safe.
void use_catalogue(const std::string_view& catalogue);
/// The one in use, or empty.
[[nodiscard]] std::string_view used_catalogue();

}  // namespace fabricost::core
