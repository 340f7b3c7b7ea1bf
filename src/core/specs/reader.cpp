/// Reads the fields of a spec's map one by one and checks kind, range and known names. A fault has a place, a
/// message and a remedy; an unread key is a fault, too.

#include "specs/near_or_all.hpp"
#include "specs/reader.hpp"

#include "specs/overrides.hpp"
#include "specs/store.hpp"
#include "text/joined.hpp"

#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fabricost::core {

MapReader::MapReader(const SpecNode& node, std::string path, Faults& faults) : node_(node), path_(std::move(path)), faults_(faults) {
  known_ = {"source", "confidence"};
  if (node_.kind != SpecNode::Kind::map)
    faults_.add(issue_at(node_.mark, path_, node_.kind == SpecNode::Kind::null ? "is empty" : "is not a map of keys and values",
                         "write `key: value` lines"));
}

std::string MapReader::path_of(std::string_view key) const { return path_.empty() ? std::string{key} : path_ + "." + std::string{key}; }

std::string MapReader::path_of_item(std::string_view key, const SpecNode& item, const SpecNode& list) const {
  return fmt::format("{}[{}]", path_of(key), &item - list.items.data());
}

void MapReader::fault(const SpecNode& at, std::string_view key, std::string message, std::string remedy) {
  faults_.add(issue_at(at.mark, path_of(key), std::move(message), std::move(remedy)));
}

void MapReader::refuse(std::string message, std::string remedy) {
  faults_.add(issue_at(key_ != nullptr ? *key_ : node_.mark, path_, std::move(message), std::move(remedy)));
  refused_ = true;
}

const SpecNode* MapReader::take(std::string_view key, bool required) {
  known_.emplace_back(key);
  const SpecNode* value = node_.find(key);
  if (value != nullptr && value->kind == SpecNode::Kind::null) {
    fault(*value, key, "has no value", "give one or leave the key out");
    return nullptr;
  }
  if (value == nullptr && required && node_.kind == SpecNode::Kind::map) {
    Issue issue = issue_at(node_.mark, path_of(key), "is missing", fmt::format("add `{}:`", key));
    issue.excerpt.clear();
    faults_.add(std::move(issue));
  }
  return value;
}

std::string MapReader::text(std::string_view key, bool required) {
  const SpecNode* value = take(key, required);
  if (value == nullptr) return {};
  if (value->kind != SpecNode::Kind::scalar) {
    fault(*value, key, fmt::format("is a {}, not plain text", value->kind == SpecNode::Kind::map ? "map" : "list"),
          fmt::format("write `{}: ...` on one line", key));
    return {};
  }
  if (value->text.empty()) fault(*value, key, "is empty", "give a value or leave the key out");
  return value->text;
}

std::string MapReader::reference(std::string_view key, bool required) {
  const SpecNode* value = node_.find(key);
  if (value == nullptr || value->kind != SpecNode::Kind::scalar || !is_path(value->text)) return name(key, required);
  const std::string given = text(key, required);
  const bool in_file = value->mark.file && !value->mark.file->name.starts_with(override_mark);
  return in_file ? beside(value->mark.file->name, given).string() : given;
}

std::vector<const SpecNode*> MapReader::texts(std::string_view key) {
  const SpecNode* value = take(key);
  std::vector<const SpecNode*> out;
  if (value == nullptr) return out;
  if (value->kind != SpecNode::Kind::list) fault(*value, key, "is not a list", fmt::format("write `{}: [...]`", key));
  for (const SpecNode& item : value->items) {
    if (item.kind == SpecNode::Kind::scalar)
      out.push_back(&item);
    else
      fault(item, key, "holds something that is not plain text", fmt::format("write `{}: [...]`", key));
  }
  return out;
}

std::vector<std::string> MapReader::plain_texts(std::string_view key) {
  std::vector<std::string> out;
  for (const SpecNode* one : texts(key)) out.push_back(one->text);
  return out;
}

std::string MapReader::name(std::string_view key, bool required) {
  const SpecNode* value = node_.find(key);
  std::string out = text(key, required);
  const bool fine =
      std::all_of(out.begin(), out.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; });
  if (!out.empty() && !fine) fault(*value, key, fmt::format("\"{}\" is no name", out), "names are lower case with digits and dashes");
  return out;
}

bool MapReader::flag(std::string_view key, bool otherwise) {
  const SpecNode* value = node_.find(key);
  const std::string given = text(key);
  if (given.empty()) return otherwise;
  if (given == "true" || given == "yes" || given == "on") return true;
  if (given == "false" || given == "no" || given == "off") return false;
  fault(*value, key, fmt::format("\"{}\" is neither true nor false", given), "write true or false");
  return otherwise;
}

int MapReader::count(std::string_view key, int otherwise, int min, int max, bool required) {
  const auto value = quantity(key, QuantityKind::count, required);
  if (!value) return otherwise;
  if (value->number < min || value->number > max) {
    fault(*value->node, key, fmt::format("\"{}\" is outside {} to {}", value->node->text, min, max),
          fmt::format("write a whole number from {} to {}", min, max));
    return otherwise;
  }
  return static_cast<int>(value->number);
}

double MapReader::number(std::string_view key, double otherwise, double min, double max) {
  const auto value = quantity(key, QuantityKind::number);
  if (!value) return otherwise;
  if (!(value->number >= min && value->number <= max)) {
    fault(*value->node, key, fmt::format("\"{}\" is outside {} to {}", value->node->text, min, max),
          fmt::format("write a number from {} to {}", min, max));
    return otherwise;
  }
  return value->number;
}

double MapReader::fraction(std::string_view key, double otherwise) {
  const auto value = quantity(key, QuantityKind::fraction);
  return value ? value->number : otherwise;
}

std::vector<int> MapReader::counts(std::string_view key) {
  const SpecNode* value = take(key);
  std::vector<int> out;
  if (value == nullptr) return out;
  if (value->kind != SpecNode::Kind::list || value->items.empty() || value->items.size() > 16) {
    fault(*value, key, "is not a list of whole numbers", "write for example [4, 4, 4]");
    return out;
  }
  for (const SpecNode& item : value->items) {
    const ParsedQuantity parsed = parse_quantity(item.text, QuantityKind::count);
    if (item.kind != SpecNode::Kind::scalar || !std::holds_alternative<double>(parsed) || std::get<double>(parsed) > 1e6) {
      fault(item, key, fmt::format("\"{}\" is not a whole number", item.text), "write for example [4, 4, 4]");
      return {};
    }
    out.push_back(static_cast<int>(std::get<double>(parsed)));
  }
  return out;
}

Provenance MapReader::provenance(const SpecNode& value) const {
  // only from the value's own file: a number keeps its source when another file is laid over its section
  Provenance out;
  std::string source;
  std::string confidence;
  const auto look = [&](const SpecNode& map) {
    if (const SpecNode* s = map.find("source"); s != nullptr && source.empty() && s->mark.file == value.mark.file) source = s->text;
    if (const SpecNode* c = map.find("confidence"); c != nullptr && confidence.empty() && c->mark.file == value.mark.file)
      confidence = c->text;
  };
  if (value.kind == SpecNode::Kind::map) look(value);
  look(node_);
  if (value.mark.file) {
    if (source.empty()) source = value.mark.file->source;
    if (confidence.empty()) confidence = value.mark.file->confidence;
    if (source.empty()) source = value.mark.file->name;  // a file without a source, or an override
  }
  out.source = source;
  for (std::size_t i = 0; i < confidence_names.size(); ++i)
    if (confidence_names[i] == confidence) out.confidence = static_cast<Confidence>(i);
  return out;
}

std::optional<MapReader::Value> MapReader::quantity(std::string_view key, QuantityKind kind, bool required) {
  const SpecNode* value = take(key, required);
  if (value == nullptr) return std::nullopt;
  const SpecNode* scalar = value;
  if (value->kind == SpecNode::Kind::map) {
    Faults inner;
    MapReader own(*value, path_of(key), inner);
    scalar = own.take("value", true);
    own.finish();
    if (!inner.issues.empty()) {
      for (Issue& issue : inner.issues) faults_.add(std::move(issue));
      return std::nullopt;
    }
  }
  if (scalar == nullptr || scalar->kind != SpecNode::Kind::scalar) {
    fault(*value, key, "is not a value", "write a number with its unit, or {value: ..., source: ..., confidence: ...}");
    return std::nullopt;
  }
  const ParsedQuantity parsed = parse_quantity(scalar->text, kind);
  if (const QuantityFault* refusal = std::get_if<QuantityFault>(&parsed)) {
    fault(*scalar, key, refusal->message, refusal->remedy);
    return std::nullopt;
  }
  return Value{std::get<double>(parsed), provenance(*value), scalar};
}

namespace {
/// "did you mean \"bandwidth\"?" of bw: the one name, or the stem of all names, that begins with its first letter and has the others in
/// that order; else `otherwise`.
[[nodiscard]] std::string shortened_or(std::string_view given, const std::vector<std::string>& names, const std::string& otherwise) {
  const std::string* found = nullptr;
  for (const std::string& name : names) {
    std::size_t at = 0;
    for (const char c : name) at += at < given.size() && c == given[at];
    if (at != given.size() || name.front() != given.front() || (found != nullptr && name.starts_with(*found))) continue;
    if (found != nullptr && !found->starts_with(name)) return otherwise;
    found = &name;
  }
  return found == nullptr ? otherwise : fmt::format("did you mean \"{}\"?", *found);
}
}  // namespace

int MapReader::choice_index(std::string_view key, std::span<const std::string_view> names, bool required) {
  const SpecNode* value = node_.find(key);
  const std::string given = text(key, required);
  if (given.empty()) return -1;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == given) return static_cast<int>(i);
  const std::vector<std::string> all(names.begin(), names.end());
  std::string near = nearest_or(given, all, "");
  if (given.size() <= 2) near = shortened_or(given, all, near);  // ib is near every short name
  fault(*value, key, fmt::format("\"{}\" is not known", given),
        fmt::format("{}{}write one of {}", near, near.empty() ? "" : " ", joined(names)));
  return -1;
}

void MapReader::finish() {
  if (node_.kind != SpecNode::Kind::map || refused_) return;
  for (const SpecNode::Entry& entry : node_.entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    faults_.add(issue_at(entry.mark, path_of(entry.key), "unknown key",
                         nearest_or(entry.key, known_, shortened_or(entry.key, known_, fmt::format("known here: {}", joined(known_, " "))))));
  }
  text("source");
  choice_index("confidence", confidence_names, false);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // three rows of the table: a swap of neighbours looks two back
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace fabricost::core
