#pragma once
/// \file condense.hpp
/// Logs of hundreds of ranks repeat themselves: of a gigabyte some ten megabytes say something new. Lines that differ from earlier ones of
/// the same rank by their numbers alone are left out; the last of them is kept with their count (line_mark), so that counts
/// stay right and every line keeps its number. Lines whose numbers are the message are kept: ranks that join, watchdogs, settings,
/// tables. Private.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
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
  struct Form {
    Kind kind = Kind::repeated;
    std::uint32_t kept = 0;
    std::uint64_t dropped = 0;
    std::uint64_t number = 0;  ///< of the last one dropped
    std::string last{};
  };

  void put(std::string_view line, std::uint64_t number, std::uint64_t times);
  [[nodiscard]] std::vector<const Form*> dropped() const;
  [[nodiscard]] bool keeps(Form& form, std::string_view line, std::uint64_t host);
  /// \param text what has the form \return nullptr if there is no room for another one
  [[nodiscard]] Form* form_at(std::uint64_t place, std::string_view text);

  Write write_;
  std::uint64_t verbatim_;
  std::uint64_t number_ = 0;   ///< of the last line taken
  std::uint64_t written_ = 0;  ///< number that a reader has come to
  std::uint64_t file_ = 0, bytes_ = 0;
  std::unordered_map<std::uint64_t, Form> forms_;
  std::array<std::pair<std::uint64_t, Form*>, 4096> recent_{};  ///< of forms_, by the last bits of the place
  std::unordered_set<std::uint64_t> whole_, channels_;  ///< lines kept for their numbers
  std::vector<Form*> in_line_;
  std::string text_, whole_line_;
};

}  // namespace fabricost::observe::diagnosis
