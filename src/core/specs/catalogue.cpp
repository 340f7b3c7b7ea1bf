/// \file catalogue.cpp
/// A sorted table of hashes in front of the trees.

#include "specs/catalogue.hpp"

#include "specs/sources/packed_tree.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace fabricost::core {

namespace {

constexpr std::string_view magic = "fcspecs2";
constexpr std::size_t head_size = magic.size() + 4;
constexpr std::size_t row_size = 28;

/// FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

template <class Unsigned>
void append_fixed(std::string& out, Unsigned number) {
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i) out += static_cast<char>(static_cast<unsigned char>(number >> (8 * i)));
}

/// Requires enough bytes.
template <class Unsigned>
Unsigned fixed_at(std::string_view bytes, std::size_t at) {
  Unsigned number = 0;
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i)
    number |= static_cast<Unsigned>(static_cast<Unsigned>(static_cast<unsigned char>(bytes[at + i])) << (8 * i));
  return number;
}

std::atomic<const std::string_view*>& in_use() {
  static std::atomic<const std::string_view*> catalogue{nullptr};
  return catalogue;
}

}  // namespace

std::string catalogue_of(std::span<const ParsedDocument> documents) {
  struct Row {
    std::uint64_t hash;
    std::size_t text_size;
    std::string tree;
  };
  std::vector<Row> rows;
  for (const ParsedDocument& document : documents)
    rows.push_back({hash_of(document.text), document.text.size(), packed_tree(document.root, document.text)});
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.hash < b.hash; });
  rows.erase(std::unique(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.hash == b.hash; }), rows.end());
  std::string out{magic};
  append_fixed(out, static_cast<std::uint32_t>(rows.size()));
  std::size_t start = head_size + rows.size() * row_size;
  for (const Row& row : rows) {
    append_fixed(out, row.hash);
    append_fixed(out, hash_of(row.tree));
    append_fixed(out, static_cast<std::uint32_t>(row.text_size));
    append_fixed(out, static_cast<std::uint32_t>(start));
    append_fixed(out, static_cast<std::uint32_t>(row.tree.size()));
    start += row.tree.size();
  }
  for (const Row& row : rows) out += row.tree;
  return out;
}

std::optional<SpecNode> tree_in(std::string_view catalogue, std::string_view text, const std::shared_ptr<const SpecFile>& file) {
  if (catalogue.size() < head_size || !catalogue.starts_with(magic)) return std::nullopt;
  const std::size_t rows = fixed_at<std::uint32_t>(catalogue, magic.size());
  if (rows > (catalogue.size() - head_size) / row_size) return std::nullopt;
  const std::uint64_t wanted = hash_of(text);
  std::size_t first = 0;
  for (std::size_t left = rows; left > 0;) {
    const std::size_t half = left / 2;
    const bool before = fixed_at<std::uint64_t>(catalogue, head_size + (first + half) * row_size) < wanted;
    first += before ? half + 1 : 0;
    left = before ? left - half - 1 : half;
  }
  if (first == rows) return std::nullopt;
  const std::string_view row = catalogue.substr(head_size + first * row_size, row_size);
  const std::size_t start = fixed_at<std::uint32_t>(row, 20);
  const std::size_t size = fixed_at<std::uint32_t>(row, 24);
  if (fixed_at<std::uint64_t>(row, 0) != wanted || fixed_at<std::uint32_t>(row, 16) != text.size()) return std::nullopt;
  if (start > catalogue.size() || size > catalogue.size() - start) return std::nullopt;
  const std::string_view tree = catalogue.substr(start, size);
  if (hash_of(tree) != fixed_at<std::uint64_t>(row, 8)) return std::nullopt;
  return unpacked_tree(tree, text, file);
}

void use_catalogue(const std::string_view& catalogue) { in_use().store(&catalogue, std::memory_order_release); }

std::string_view used_catalogue() {
  const std::string_view* catalogue = in_use().load(std::memory_order_acquire);
  return catalogue != nullptr ? *catalogue : std::string_view{};
}

}  // namespace fabricost::core
