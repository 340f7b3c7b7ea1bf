#pragma once
/// A long JSON document in pieces: the members of its map, and the elements of one list in it, each as the bytes that make it. Memory is
/// that of the largest piece, however long the file and its lines are. What lies inside a piece is read by the caller (JsonMembers), who
/// looks only at what it needs: brackets and quotes of every piece are checked, the rest where it is read.

#include "readings/dumps/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::observe {

class JsonPieces {
 public:
  /// \throws SpecError when the file cannot be read
  explicit JsonPieces(const std::filesystem::path& file);

  using Member = std::function<void(std::string_view key, std::string_view value)>;
  using Element = std::function<void(std::string_view value)>;
  /// \param list the member whose elements are passed on one by one; of a document that is a list, all are
  /// \throws SpecError with line and column where it is cut or not JSON
  void read(std::string_view list, const Member& member, const Element& element);

  /// Maps that follow each other, as in lines of JSON, or the elements of one list. \throws SpecError as read
  void documents(const Element& element);
  /// A fault was that the file ends too early.
  [[nodiscard]] bool ends_early() const { return ends_early_; }

  /// A fault in the piece passed on last. \throws SpecError
  [[noreturn]] void fail(const std::string& message, const std::string& remedy = "write the trace again: it may be cut or edited") const;
  [[nodiscard]] std::uint64_t bytes() const { return before_ + end_; }
  /// The packed file ends too early.
  [[nodiscard]] const std::string& name() const { return source_.name(); }

 private:
  [[nodiscard]] bool fill();
  char peek();
  [[nodiscard]] std::string_view piece();
  [[noreturn]] void fail_at_end(const std::string& message);
  void text();
  void nested();
  void elements(const Element& element);

  ByteSource source_;
  std::vector<char> buffer_;
  std::size_t keep_ = 0, at_ = 0, end_ = 0;  ///< of the buffer: what is still needed, what is read next, what is filled
  std::uint64_t before_ = 0;                 ///< bytes of the file before the buffer
  std::uint64_t lines_ = 0, line_start_ = 0;
  bool ends_early_ = false;
};

/// The members of a map in memory, as in `for (JsonMembers m{raw}; m.next();) use(m.key, m.value);`. A list has values without keys.
class JsonMembers {
 public:
  explicit JsonMembers(std::string_view raw);
  [[nodiscard]] bool next();
  /// Whether the text read so far is neither map nor list.
  [[nodiscard]] bool broken() const { return broken_; }
  std::string_view key, value;

 private:
  [[nodiscard]] std::size_t end_of_value(std::size_t from) const;
  void blanks();

  std::string_view raw_;
  std::size_t at_ = 0;
  bool map_ = false, broken_ = false, first_ = true;
};

/// Takes the values of these members of a map, texts without their quotes. \return false: it is neither map nor list
bool read_members(std::string_view raw, std::initializer_list<std::pair<std::string_view, std::string_view*>> wanted);

/// The text of a value without its quotes; a value that is no text as it is. Escapes stay.
[[nodiscard]] std::string_view unquoted(std::string_view value);
/// The same for eyes: with escapes resolved (\u becomes '?'), cleaned, and not longer than a line.
[[nodiscard]] std::string shown_text(std::string_view value);
/// A number, also inside quotes; `otherwise` for anything else.
[[nodiscard]] std::int64_t json_whole(std::string_view value, std::int64_t otherwise);
/// Decimal microseconds as nanoseconds, exactly. \return false: no such number
[[nodiscard]] bool nanoseconds(std::string_view value, std::int64_t& out);

}  // namespace fabricost::observe
