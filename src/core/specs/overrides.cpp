/// Follows the path of an override through a spec's tree, with or without its leading `tiers`, tiers by name
/// or by index; replaces the value at its end and keeps the old one beside it.

#include "specs/overrides.hpp"

#include "specs/near_or_all.hpp"
#include "text/joined.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace fabricost::core {

namespace {

std::vector<std::string> segments_of(const std::string& path) {
  std::vector<std::string> out;
  std::string now;
  for (const char c : path) {
    if (c == '.' || c == '[') {
      if (!now.empty()) out.push_back(now);
      now.clear();
      if (c == '[') now.push_back(c);
    } else if (c != ']') {
      now += c;
    }
  }
  if (!now.empty()) out.push_back(now);
  return out;
}

SpecError nowhere(const std::string& path, const std::string& value, const std::string& message, const std::string& remedy) {
  return SpecError({{.file = std::string{override_mark} + clipped(path + "=" + value),
                     .line = 0,
                     .column = 0,
                     .path = "",
                     .message = clipped(message),
                     .remedy = remedy,
                     .excerpt = ""}});
}

std::vector<std::string> tier_names(const SpecNode& tiers) {
  std::vector<std::string> out;
  for (const SpecNode& tier : tiers.items)
    if (const SpecNode* name = tier.find("name")) out.push_back(name->text);
  return out;
}

/// A value that would change nothing when laid over the existing one: an empty map; tiers, which merge by
/// name, without a key to change.
bool changes_nothing(const std::string& key, const SpecNode& given) {
  if (given.kind == SpecNode::Kind::map) return given.entries.empty();
  if (key != "tiers" || given.kind != SpecNode::Kind::list) return false;
  return std::all_of(given.items.begin(), given.items.end(), [](const SpecNode& tier) {
    return tier.kind == SpecNode::Kind::map &&
           std::all_of(tier.entries.begin(), tier.entries.end(), [](const SpecNode::Entry& entry) { return entry.key == "name"; });
  });
}

}  // namespace

std::vector<std::pair<std::string, std::string>> split_overrides(std::span<const std::string> overrides) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& text : overrides) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Refusal(fmt::format("<overrides> {}: write PATH=VALUE, for example nic.gdr=false", clipped(text)));
    std::string path = text.substr(0, equals);
    std::erase_if(path, [](char c) { return c == ' ' || c == '\t'; });
    if (std::any_of(path.begin(), path.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }))
      throw Refusal(fmt::format("<overrides> {}: no key has such a character; write PATH=VALUE, for example nic.gdr=false", clipped(text)));
    const std::string_view in_gpu = std::string_view{path}.substr(path.starts_with("gpu.") ? 4 : 0);
    if (in_gpu == "hbm.size" || in_gpu == "hbm.capacity" || in_gpu == "hbm.memory" || path == "memory")
      throw nowhere(path, text.substr(equals + 1), "no such key", "a GPU's memory is gpu.memory, a node's host_memory");
    out.emplace_back(std::move(path), text.substr(equals + 1));
  }
  return out;
}

bool is_gpu_path(std::string& path) {
  std::string rest = path;
  if (rest.starts_with("tiers.")) rest = rest.substr(6);
  if (rest.starts_with("gpu.")) {
    path = rest.substr(4);
    return true;
  }
  if (rest.starts_with("hbm.") || rest.starts_with("l2.")) {
    path = rest;
    return true;
  }
  return false;
}

void apply_override(SpecNode& tree, const std::string& path, const std::string& value) {
  std::vector<std::string> segments = segments_of(path);
  if (segments.empty()) throw nowhere(path, value, "the path is empty", "write PATH=VALUE, for example nic.gdr=false");
  const SpecNode* tiers = tree.find("tiers");
  if (segments.size() > 1 && segments.front() != "tiers" && tree.find(segments.front()) == nullptr && tiers != nullptr)
    segments.insert(segments.begin(), "tiers");

  SpecNode* at = &tree;
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    const std::string& segment = segments[i];
    SpecNode* next = nullptr;
    if (at->kind == SpecNode::Kind::list) {
      std::size_t index = at->items.size();
      if (segment.front() == '[') {
        const char* end = segment.data() + segment.size();
        if (std::from_chars(segment.data() + 1, end, index).ptr != end) index = at->items.size();
      } else {
        for (std::size_t j = 0; j < at->items.size(); ++j)
          if (const SpecNode* name = at->items[j].find("name"); name != nullptr && name->text == segment) index = j;
      }
      if (index < at->items.size()) next = &at->items[index];
      if (next == nullptr) {
        const auto names = tier_names(*at);
        const std::string near = nearest_or(segment, names, "");
        throw nowhere(path, value, fmt::format("no tier \"{}\"", segment.front() == '[' ? segment + "]" : segment),
                      fmt::format("{}{}tiers here: {}", near, near.empty() ? "" : " ", joined(names, " ")));
      }
    } else {
      next = at->find(segment);
      if (next == nullptr || next->kind == SpecNode::Kind::scalar)
        throw nowhere(path, value, fmt::format("\"{}\" leads nowhere", segment),
                      "name a key of the file, or TIER.KEY; `fabricost machine` prints the tiers");
    }
    at = next;
  }
  if (at->kind != SpecNode::Kind::map || segments.back().front() == '[')
    throw nowhere(path, value, "the path does not end at a key",
                  "write TIER.KEY=VALUE, for example nic.gdr=false; a list is replaced whole");

  if (segments.back() == "extends")
    throw nowhere(path, value, "extends says which file a file starts from, and that was read before any override",
                  "name the other machine itself, for example <system=dgx-h200>");
  SpecNode over;
  over.kind = SpecNode::Kind::map;
  SpecNode given = parse_spec_text(value, std::string{override_mark} + path);
  if (changes_nothing(segments.back(), given))
    throw nowhere(path, value, "changes nothing", "write the key to change, TIER.KEY=VALUE: for example nic.gdr=false");
  over.mark = at->find("value") != nullptr ? given.mark : at->mark;  // a quantity is replaced as a whole
  if (given.kind == SpecNode::Kind::null) throw nowhere(path, value, "has no value", "write PATH=VALUE");
  over.entries.push_back({segments.back(), given.mark, std::move(given)});
  overlay(*at, over);
}

}  // namespace fabricost::core
