/// \file contained.cpp
/// The table of contained files, and looking things up in it.

#include "specs/sources/contained.hpp"

#include "specs/sources/packed_tree.hpp"

#include <algorithm>
#include <utility>

namespace fabricost::core {

namespace {

struct Contained {
  std::string_view name{}, tree{};
};
/// Sorted by name.
std::vector<Contained>& contained() {
  static std::vector<Contained> all;
  return all;
}

/// systems/dgx-h100.yaml of data/systems/dgx-h100.yaml; empty for a path elsewhere.
std::string_view place_in_data(std::string_view path) {
  return has_contained() && path.size() > contained_data.size() && path.starts_with(contained_data) && path[contained_data.size()] == '/'
             ? path.substr(contained_data.size() + 1)
             : std::string_view{};
}

using Place = std::vector<Contained>::const_iterator;

Place not_before(std::string_view name) {
  return std::lower_bound(contained().begin(), contained().end(), name, [](const Contained& a, std::string_view b) { return a.name < b; });
}
/// Those whose names start so.
std::pair<Place, Place> starting(std::string_view with) {
  const Place first = not_before(with), end = contained().end();
  return {first, std::find_if_not(first, end, [&](const Contained& one) { return one.name.starts_with(with); })};
}
/// The one of this name, or the end.
Place named(std::string_view name) {
  const Place found = not_before(name), end = contained().end();
  return found != end && found->name == name ? found : end;
}

/// The files in the packed bytes; empty where the bytes are damaged.
std::vector<Contained> read(std::string_view bytes) {
  std::size_t at = 0;
  const std::optional<std::size_t> count = number_at(bytes, at);
  std::vector<Contained> out;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; count && i < *count; ++i) {
    const std::optional<std::size_t> name = number_at(bytes, at);
    if (!name || *name > bytes.size() - at) return {};
    out.push_back({bytes.substr(at, *name), {}});
    at += *name;
    const std::optional<std::size_t> size = number_at(bytes, at);
    if (!size) return {};
    sizes.push_back(*size);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].tree = bytes.substr(std::min(at, bytes.size()), sizes[i]);
    at += out[i].tree.size();
  }
  return out;
}

}  // namespace

std::string contained_bytes(const std::vector<NamedTree>& files) {
  std::vector<std::pair<std::string_view, const SpecNode*>> sorted;
  for (const NamedTree& one : files) sorted.emplace_back(one.name, &one.root);
  std::sort(sorted.begin(), sorted.end());
  std::string out, trees;
  append_number(out, sorted.size());
  for (const auto& [name, root] : sorted) {
    const std::string tree = packed_tree(*root);
    append_number(out, name.size());
    out += name;
    append_number(out, tree.size());
    trees += tree;
  }
  return out + trees;
}

void use_contained(std::string_view bytes) { contained() = read(bytes); }

bool has_contained() { return !contained().empty(); }

bool is_contained(const std::filesystem::path& path) {
  const std::string text = path.lexically_normal().generic_string();  // one file may name another by ../
  const std::string_view place = place_in_data(text);
  if (place.empty()) return has_contained() && text == contained_data;
  if (named(place) != contained().end()) return true;
  const auto [first, last] = starting(std::string{place} + "/");
  return first != last;
}

std::vector<std::string> contained_names(const std::filesystem::path& folder) {
  constexpr std::string_view ending = ".yaml";
  const std::string text = folder.string() + "/";
  const std::string_view place = place_in_data(text);
  std::vector<std::string> out;
  if (place.empty()) return out;
  const auto [first, last] = starting(place);
  for (auto at = first; at != last; ++at) {
    const std::string_view name = at->name.substr(place.size());
    if (name.ends_with(ending) && name.find('/') == std::string_view::npos) out.emplace_back(name.substr(0, name.size() - ending.size()));
  }
  std::sort(out.begin(), out.end());  // as without their ending
  return out;
}

std::optional<SpecNode> contained_tree(const std::string& path, const std::shared_ptr<const SpecFile>& file) {
  const std::string text = std::filesystem::path{path}.lexically_normal().generic_string();
  const Place found = named(place_in_data(text));
  return found == contained().end() ? std::nullopt : unpacked_tree(found->tree, file);
}

}  // namespace fabricost::core
