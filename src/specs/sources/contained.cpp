/// \file contained.cpp
/// Names of contained files in one sorted text; trees in a catalogue.

#include "specs/sources/contained.hpp"

#include "specs/catalogue.hpp"

#include <algorithm>

namespace fabricost::io {

namespace {

struct Contained {
  std::vector<std::string_view> names{};  ///< sorted
  std::string_view trees{};
};
Contained& contained() {
  static Contained all;
  return all;
}

/// systems/dgx-h100.yaml of data/systems/dgx-h100.yaml; empty for a path elsewhere.
std::string_view place_of(std::string_view path) {
  return has_contained() && path.size() > contained_data.size() && path.starts_with(contained_data) && path[contained_data.size()] == '/'
             ? path.substr(contained_data.size() + 1)
             : std::string_view{};
}

/// The names that start so.
std::pair<std::vector<std::string_view>::const_iterator, std::vector<std::string_view>::const_iterator> starting(std::string_view with) {
  const auto& names = contained().names;
  const auto first = std::lower_bound(names.begin(), names.end(), with);
  return {first, std::find_if_not(first, names.end(), [&](std::string_view one) { return one.starts_with(with); })};
}

}  // namespace

void use_contained(std::string_view names, std::string_view trees) {
  Contained& all = contained();
  all = {{}, trees};
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find('\n', at), names.size());
    all.names.push_back(names.substr(at, end - at));
    at = end + 1;
  }
}

bool has_contained() { return !contained().names.empty(); }

bool is_contained(const std::filesystem::path& path) {
  const std::string text = path.lexically_normal().generic_string();  // one file may name another by ../
  const std::string_view place = place_of(text);
  if (place.empty()) return has_contained() && text == contained_data;
  if (std::binary_search(contained().names.begin(), contained().names.end(), place)) return true;
  const auto [first, last] = starting(std::string{place} + "/");
  return first != last;
}

std::vector<std::string> contained_names(const std::filesystem::path& folder) {
  constexpr std::string_view ending = ".yaml";
  const std::string text = folder.string() + "/";
  const std::string_view place = place_of(text);
  std::vector<std::string> out;
  if (place.empty()) return out;
  const auto [first, last] = starting(place);
  for (auto at = first; at != last; ++at) {
    const std::string_view name = at->substr(place.size());
    if (name.ends_with(ending) && name.find('/') == std::string_view::npos) out.emplace_back(name.substr(0, name.size() - ending.size()));
  }
  std::sort(out.begin(), out.end());  // as without their ending
  return out;
}

std::optional<SpecNode> contained_tree(const std::string& path, const std::shared_ptr<const SpecFile>& file) {
  const std::string text = std::filesystem::path{path}.lexically_normal().generic_string();
  return tree_in(contained().trees, place_of(text), file);
}

}  // namespace fabricost::io
