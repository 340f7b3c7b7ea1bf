#pragma once
/// \file catalogue.hpp
/// Documents that were parsed when the program was built, found again by their content. A text that is byte for byte one of them needs no
/// parser; a text that differs anywhere is simply not in the catalogue, so an edited file always says what it says.
///
/// Layout, little-endian: 8 bytes of magic, the number of documents, one row per document sorted by the hash of its text, then the trees.
///
///     row    hash of the text (8 bytes), hash of the tree's bytes (8), bytes of the text (4), where the tree starts (4), its bytes (4)
///     value  kind, line, column, then a scalar's words, a map's (line, column, words, value)s or a list's values; numbers as LEB128
///     words  4 x bytes + where: 0 they follow, 1 they stand in the text at line and column, 2 there behind a quote

#include "specs/tree.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fabricost::io {

/// A document for the catalogue: its text and what the parser made of it.
struct ParsedDocument {
  std::string text;
  SpecNode root;
};

/// The catalogue of these documents, as bytes.
[[nodiscard]] std::string catalogue_of(std::span<const ParsedDocument> documents);

/// The tree of `text` if `catalogue` holds it, its marks pointing into `file`. Bytes that are no catalogue, are cut or damaged hold
/// nothing.
[[nodiscard]] std::optional<SpecNode> tree_in(std::string_view catalogue, std::string_view text,
                                              const std::shared_ptr<const SpecFile>& file);

/// Takes trees of this process from `catalogue`, which stays where it is for good; empty: from no catalogue. Any thread, any time.
void use_catalogue(const std::string_view& catalogue);
/// The one in use, or empty.
[[nodiscard]] std::string_view used_catalogue();

}  // namespace fabricost::io
