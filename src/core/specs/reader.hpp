#pragma once
/// Reads a spec tree field by field. Faults are collected so that all of a file's are reported at once; a
/// field that could not be read has its default, which is never used because the load ends in an error.

#include "specs/tree.hpp"
#include "text/parse_quantity.hpp"

#include <fabricost/hardware/provenance.hpp>
#include <fabricost/units.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

/// State shared by all readers of one load.
struct Faults {
  std::vector<Issue> issues;
  void add(Issue issue) {
    const bool said = std::any_of(issues.begin(), issues.end(), [&](const Issue& other) {
      return other.file == issue.file && other.line == issue.line && other.column == issue.column && other.message == issue.message &&
             other.path == issue.path;
    });  // a part that several tiers name
    if (!said && issues.size() < 100) issues.push_back(std::move(issue));
  }
  void raise() const {
    if (!issues.empty()) throw SpecError(issues);
  }
};

class MapReader {
 public:
  /// \param path of the map inside the document, "" for the document itself. `source` and `confidence` are
  /// allowed everywhere, `notes` only where it is read.
  MapReader(const SpecNode& node, std::string path, Faults& faults);

  [[nodiscard]] bool has(std::string_view key) const { return node_.find(key) != nullptr; }
  [[nodiscard]] const SpecNode& node() const { return node_; }
  [[nodiscard]] std::string path_of(std::string_view key) const;

  /// Marks the key as known and returns its value, or nullptr (a fault when required).
  const SpecNode* take(std::string_view key, bool required = false);

  std::string text(std::string_view key, bool required = false);
  std::string name(std::string_view key, bool required = false);
  /// A name in data/, or a path: converted from relative to its own file to one that can be opened from here.
  std::string reference(std::string_view key, bool required = false);
  /// The entries of a list of plain texts.
  std::vector<const SpecNode*> texts(std::string_view key);
  /// What they say.
  std::vector<std::string> plain_texts(std::string_view key);
  bool flag(std::string_view key, bool otherwise);
  int count(std::string_view key, int otherwise, int min, int max, bool required = false);
  double number(std::string_view key, double otherwise, double min, double max);
  double fraction(std::string_view key, double otherwise);
  std::vector<int> counts(std::string_view key);

  /// A quantity with its origin; nullopt when absent or wrong.
  struct Value {
    double number = 0;
    Provenance provenance;
    const SpecNode* node = nullptr;
  };
  std::optional<Value> quantity(std::string_view key, QuantityKind kind, bool required = false);
  template <class Quantity>
  bool quantity(std::string_view key, QuantityKind kind, Sourced<Quantity>& into, bool required = false) {
    const auto value = quantity(key, kind, required);
    if (value) into = {Quantity::from_value(value->number), value->provenance};
    return value.has_value();
  }

  /// One of a closed set of names; `hidden` ones are internal and not part of the format.
  template <class Enum, std::size_t N>
  Enum choice(std::string_view key, const std::array<std::string_view, N>& names, Enum otherwise, bool required = false,
              std::initializer_list<Enum> hidden = {}) {
    std::vector<std::string_view> known;
    std::vector<Enum> meant;
    for (std::size_t i = 0; i < N; ++i) {
      if (std::find(hidden.begin(), hidden.end(), static_cast<Enum>(i)) != hidden.end()) continue;
      known.push_back(names[i]);
      meant.push_back(static_cast<Enum>(i));
    }
    const int index = choice_index(key, known, required);
    return index < 0 ? otherwise : meant[static_cast<std::size_t>(index)];
  }
  /// The same for names without an enum.
  std::string one_of(std::string_view key, std::span<const std::string_view> names, bool required = false) {
    const int index = choice_index(key, names, required);
    return index < 0 ? std::string{} : std::string{names[static_cast<std::size_t>(index)]};
  }

  /// The source of a value of this map: its own map, this section or its file, the first that states one.
  [[nodiscard]] Provenance provenance(const SpecNode& value) const;

  void fault(const SpecNode& at, std::string_view key, std::string message, std::string remedy);

  /// Reads the map below a key: read(MapReader&), and finishes it. \return false: there is no such key
  template <class Read>
  bool section(std::string_view key, const Read& read) {
    return read_below(take(key), path_of(key), read);
  }
  /// The same where a missing key is a fault.
  template <class Read>
  void needed_section(std::string_view key, const Read& read) {
    read_below(take(key, true), path_of(key), read);
  }
  /// The same of every map in this one, whatever their keys: read(key, MapReader&).
  template <class Read>
  void each_entry(const Read& read) {
    for (const SpecNode::Entry& entry : node_.entries)
      read_below(take(entry.key), path_of(entry.key), [&](MapReader& in) {
        in.key_ = &entry.mark;
        read(entry.key, in);
      });
  }
  /// The same of every map in the list below a key, which has one or more. \return false: there is no such key
  template <class Read>
  bool each_item(std::string_view key, const Read& read, bool required = false) {
    const SpecNode* const list = take(key, required);
    if (list == nullptr) return false;
    if (list->items.empty()) fault(*list, key, "is not a list", "write one `- {...}` for each");
    for (const SpecNode& item : list->items) read_below(&item, path_of_item(key, item, *list), read);
    return true;
  }
  /// Reports unread keys, with the nearest known one. Call last.
  void finish();
  /// A map that should not be there: a fault at its key; what it holds is none.
  void refuse(std::string message, std::string remedy);

 private:
  template <class Read>
  bool read_below(const SpecNode* node, std::string path, const Read& read) {
    if (node == nullptr) return false;
    MapReader in(*node, std::move(path), faults_);
    read(in);
    in.finish();
    return true;
  }
  [[nodiscard]] std::string path_of_item(std::string_view key, const SpecNode& item, const SpecNode& list) const;
  int choice_index(std::string_view key, std::span<const std::string_view> names, bool required);

  const SpecNode& node_;
  std::string path_;
  Faults& faults_;
  std::vector<std::string> known_;
  const Mark* key_ = nullptr;  ///< of a map that each_entry reads
  bool refused_ = false;
};

/// Reads a whole document: read(MapReader&). \throws SpecError with all its faults
template <class Read>
void read_document(const SpecNode& tree, const Read& read) {
  Faults faults;
  MapReader in(tree, "", faults);
  read(in);
  in.finish();
  faults.raise();
}

/// Minimum number of edits from one word to the other: a letter more, less or other, two neighbours swapped.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace fabricost::core
