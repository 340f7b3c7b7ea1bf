#pragma once
/// The project's CSV format: one row per line, cells separated by commas, in double quotes if they contain
/// one, columns identified by the header's names in any order. Lines that are empty or start with '#' are
/// comments. Faults are collected and thrown together.

#include "text/line_reader.hpp"

#include <fabricost/namespaces.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

struct CsvCell {
  std::string text;  ///< without quotes and outer blanks
  int column = 1;    ///< its start in the line, from 1
};

struct CsvFault {
  int column = 1;
  std::string message, remedy;
};

/// Splits a line into cells; empty if it is well formed, else the fault.
[[nodiscard]] std::optional<CsvFault> split_csv(std::string_view line, std::vector<CsvCell>& cells);

/// The whole text as a finite number in plain or scientific notation, independent of the locale.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// A CSV file with a header.
class CsvTable {
 public:
  static constexpr std::size_t max_faults = 20;

  /// Reads the header. \throws SpecError, also for a duplicate column
  explicit CsvTable(const std::filesystem::path& file);

  /// Reads the next row; malformed rows (wrong number of cells, open quotes) are faults and skipped.
  [[nodiscard]] bool next();

  /// Index of a column, or -1.
  [[nodiscard]] int column(std::string_view name) const;
  /// A cell of the current row; empty for column -1.
  [[nodiscard]] const std::string& cell(int column) const { return column < 0 ? none_ : cells_[static_cast<std::size_t>(column)].text; }
  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
  [[nodiscard]] const std::string& name() const { return reader_.name(); }
  [[nodiscard]] int line() const { return reader_.number(); }

  /// A fault of the current row that a caller may raise. \param column -1: the whole row
  [[nodiscard]] Issue issue(int column, std::string message, std::string remedy) const;
  /// Records a fault of the current row, once. \param column -1: the whole row \throws SpecError at the twentieth
  void fault(int column, std::string message, std::string remedy);
  /// \throws SpecError if there were faults
  void finish();

 private:
  [[nodiscard]] Issue issue_at(int place, std::string message, std::string remedy) const;
  void fault_at(int place, std::string message, std::string remedy);
  bool read_line();

  LineReader reader_;
  std::string text_;
  std::vector<std::string> header_;
  std::vector<CsvCell> cells_;
  std::vector<Issue> issues_;
  std::string none_;
};

/// A cell for writing, without characters that a terminal acts on: in quotes if necessary, with an apostrophe before a text that a
/// spreadsheet would evaluate as a formula (split_csv removes it).
[[nodiscard]] std::string csv_quoted(std::string_view text);

}  // namespace fabricost::core
