/// The table of contained files, and looking things up in it.

#include "specs/sources/contained.hpp"

#include "text/plain_tree.hpp"

#include <algorithm>
#include <map>

namespace fabricost::core {

namespace {

/// The content of each file, by its name in data/.
std::map<std::string_view, std::string_view>& contained() {
  static std::map<std::string_view, std::string_view> all;
  return all;
}

/// systems/dgx-h100.yaml of data/systems/dgx-h100.yaml; empty for a path elsewhere.
std::string name_in_data(const std::filesystem::path& path) {
  const std::string text = path.lexically_normal().generic_string(), folder = std::string{contained_data} + "/";  // a file may name another by ../
  return has_contained() && text.starts_with(folder) ? text.substr(folder.size()) : std::string{};
}

SpecNode node_of(const PlainTree& tree, PlainTree::Id id, const Mark& mark) {
  SpecNode out;
  out.mark = mark;
  switch (tree[id].kind) {
    case PlainTree::Kind::map:
      out.kind = SpecNode::Kind::map;
      for (const auto& [key, value] : tree.members(id)) out.entries.push_back({std::string{key}, mark, node_of(tree, value, mark)});
      break;
    case PlainTree::Kind::list:
      out.kind = SpecNode::Kind::list;
      for (const PlainTree::Id item : tree.items(id)) out.items.push_back(node_of(tree, item, mark));
      break;
    case PlainTree::Kind::text:
      out.kind = SpecNode::Kind::scalar;
      out.text = tree.text(id);
      break;
    default: break;
  }
  return out;
}

}  // namespace

void use_contained(std::string_view lines) {
  contained().clear();
  for (std::size_t end = lines.find('\n'); end != std::string_view::npos; end = lines.find('\n')) {
    const std::string_view line = lines.substr(0, end);
    const std::size_t blank = std::min(line.find(' '), line.size());
    contained().emplace(line.substr(0, blank), line.substr(blank));
    lines.remove_prefix(end + 1);
  }
}

bool has_contained() { return !contained().empty(); }

bool is_contained(const std::filesystem::path& path) {
  const std::string name = name_in_data(path);
  if (name.empty()) return has_contained() && path.lexically_normal() == contained_data;
  const auto at = contained().lower_bound(name);  // the file, or those of the folder
  if (at != contained().end() && at->first == name) return true;
  const auto first = contained().lower_bound(name + "/");
  return first != contained().end() && first->first.starts_with(name + "/");
}

std::vector<std::string> contained_names(const std::filesystem::path& folder) {
  constexpr std::string_view ending = ".yaml";
  const std::string inside = name_in_data(folder) + "/";
  std::vector<std::string> out;
  for (auto at = contained().lower_bound(inside); at != contained().end() && at->first.starts_with(inside); ++at) {
    const std::string_view name = at->first.substr(inside.size());
    if (name.ends_with(ending) && name.find('/') == std::string_view::npos) out.emplace_back(name.substr(0, name.size() - ending.size()));
  }
  std::sort(out.begin(), out.end());  // as without their ending
  return out;
}

std::optional<SpecNode> contained_tree(const std::string& path, const std::shared_ptr<const SpecFile>& file) {
  const auto found = contained().find(name_in_data(path));
  if (found == contained().end()) return std::nullopt;
  std::size_t next = 0;
  const PlainTree tree = read_json_value(found->second, next, path, {.keeps_control = true});
  return node_of(tree, tree.root, {file, 0, 0});
}

}  // namespace fabricost::core
