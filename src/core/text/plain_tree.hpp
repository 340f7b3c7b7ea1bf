#pragma once
/// A document of plain values, as JSON or a pickle holds it: maps, lists, text, numbers, true, false, nothing. Values are numbers of nodes,
/// so that a pickle may name one value twice, or a list contain itself, at no cost. For files that fit into memory: dumps, results of
/// benchmarks, plans; long traces are read in pieces (src/observe/readings/traces/json_pieces.hpp).
///
/// A pickle is a program for a stack machine: of its instructions (CPython's pickletools.py, protocols 0 to 5) only those are known here
/// that make plain values. An instruction that names a class, calls something or refers to anything outside is refused; nothing is run.

#include <fabricost/namespaces.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

class PlainTree {
 public:
  using Id = std::uint32_t;
  enum class Kind : unsigned char { nothing, boolean, whole, real, text, list, map };
  static constexpr Id none = 0;  ///< the node that holds nothing

  struct Node {
    Kind kind = Kind::nothing;
    int line = 1;  ///< of JSON, where it begins
    std::int64_t whole = 0;
    double real = 0;
    std::string text{};
    std::vector<Id> values{};  ///< of a list; of a map, key and value in turn
  };

  PlainTree() : nodes_(1) {}

  [[nodiscard]] const Node& operator[](Id id) const { return nodes_[id]; }
  [[nodiscard]] Node& at(Id id) { return nodes_[id]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  Id add(Kind kind) {
    nodes_.push_back({});
    nodes_.back().kind = kind;
    return static_cast<Id>(nodes_.size() - 1);
  }

  /// The value of a key of a map; none: it has no such key, or is no map.
  [[nodiscard]] Id find(Id map, std::string_view key) const;
  /// Keys and values of a map in their order; empty for anything else.
  [[nodiscard]] std::vector<std::pair<std::string_view, Id>> members(Id map) const;
  [[nodiscard]] std::string_view text(Id id) const { return nodes_[id].kind == Kind::text ? std::string_view{nodes_[id].text} : ""; }
  [[nodiscard]] std::int64_t whole(Id id, std::int64_t otherwise) const;
  [[nodiscard]] double real(Id id, double otherwise) const;
  [[nodiscard]] const std::vector<Id>& items(Id id) const;  ///< of a list; empty for anything else
  /// A number or text as text; empty for anything else.
  [[nodiscard]] std::string shown(Id id) const;

  Id root = none;

 private:
  std::vector<Node> nodes_;
};

/// The bounds of a document; beyond them it is refused.
struct PlainLimits {
  std::size_t nodes = std::size_t{1} << 21U;
  std::size_t depth = 64;
  const char* writer = "a tool";  ///< which writes no such thing
  bool keeps_control = false;     ///< ends of lines and tabs in texts stay what they are; else they are shown as blanks
};

/// Several documents may follow each other, as in lines of JSON: `next` is where the next one starts. A comma missing between the members
/// of a map is accepted: NCCL 2.28 forgets one. \throws SpecError with line and column
[[nodiscard]] PlainTree read_json_value(std::string_view text, std::size_t& next, const std::string& name, const PlainLimits& limits = {});
/// A text file that is one document, as benchmarks and `plan` write it. \throws SpecError where it is none, or no text (LineReader)
[[nodiscard]] PlainTree read_json_file(const std::filesystem::path& file);

}  // namespace fabricost::core
