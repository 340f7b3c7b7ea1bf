#pragma once
/// Logs of hundreds of ranks repeat themselves: of a gigabyte some ten megabytes say something new. Lines that differ from earlier ones of
/// the same rank by their numbers alone are left out; the last of them is kept with their count (line_mark), so that counts
/// stay right and every line keeps its number. Lines whose numbers are the message are kept: ranks that join, watchdogs, settings,
/// tables. Private.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace fabricost::observe::diagnosis {

/// A number for the text of a line without its numbers, prefixes, host and process.
[[nodiscard]] std::uint64_t form_of_line(std::string_view line);

class Condenser {
 public:
  using Write = std::function<void(std::string_view)>;
  static constexpr std::uint64_t verbatim = std::uint64_t{4} << 20U;  ///< bytes of all logs that are kept whole
  /// \param whole bytes that are kept whole
  explicit Condenser(Write write, std::uint64_t whole = verbatim) : write_(std::move(write)), verbatim_(whole) {}

  /// A mark between files: it counts as a line, and starts new ranks.
  void mark(std::string_view line);
  /// Without its end.
  void line(std::string_view line);
  /// Writes the lines kept back: at the end of every file.
  void finish();
  /// The same in a text, while more may come.
  [[nodiscard]] std::string kept_back() const;

 private:
  /// The treatment of lines of one form.
  enum class Kind : unsigned char { repeated, every, network };
  /// Of a form whose lines are left out.
  struct Form {
    std::uint64_t dropped = 0;
    std::uint64_t number = 0;  ///< of the last one dropped
    std::string last{};
  };
  /// Of a hash table, searched onwards from the place: most lines only ask whether enough of their forms were kept.
  struct Slot {
    static constexpr std::uint32_t no_form = ~std::uint32_t{0};
    std::uint64_t place = 0;
    std::uint32_t form = no_form;  ///< in forms_
    std::uint16_t kept = 0;
    Kind kind = Kind::repeated;
  };

  void put(std::string_view line, std::uint64_t number, std::uint64_t times);
  [[nodiscard]] std::vector<const Form*> dropped() const;
  [[nodiscard]] bool keeps(const Slot& slot, std::string_view line, std::uint64_t host);
  /// Of that place, or the empty one for it.
  [[nodiscard]] Slot& slot_at(std::uint64_t place);
  /// \param text what has the form \return nullptr if there is no room for another one
  [[nodiscard]] const Slot* form_at(std::uint64_t place, std::string_view text);

  Write write_;
  std::uint64_t verbatim_;
  std::uint64_t number_ = 0;   ///< of the last line taken
  std::uint64_t written_ = 0;  ///< number that a reader has come to
  std::uint64_t file_ = 0, bytes_ = 0;
  std::vector<Form> forms_;
  std::vector<Slot> slots_;  ///< a power of two, at least twice as many as forms
  std::unordered_set<std::uint64_t> whole_, channels_;  ///< lines kept for their numbers
  std::vector<std::uint64_t> in_line_;                  ///< places
  std::string text_, whole_line_;
};

}  // namespace fabricost::observe::diagnosis
