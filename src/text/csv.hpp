#pragma once
/// \file csv.hpp
/// CSV as this project writes it: one row a line, cells separated by commas, a cell in double quotes when it holds one, columns found
/// by the header's names in any order. Lines that are empty or start with '#' are comments. Faults are collected and thrown together.

#include "text/line_reader.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::io {

struct CsvCell {
  std::string text;  ///< without quotes and outer blanks
  int column = 1;    ///< where it starts in its line, from 1
};

struct CsvFault {
  int column = 1;
  std::string message, remedy;
};

/// Cuts a line into cells; nothing when it is well formed.
[[nodiscard]] std::optional<CsvFault> split_csv(std::string_view line, std::vector<CsvCell>& cells);

/// The whole text as a finite number in plain or scientific notation, whatever the locale.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// A CSV file with a header.
class CsvTable {
 public:
  static constexpr std::size_t max_faults = 20;

  /// Reads the header. \throws SpecError, also for a column named twice
  explicit CsvTable(const std::filesystem::path& file);

  /// The next row; rows that are no row (wrong number of cells, open quotes) are faults and left out.
  [[nodiscard]] bool next();

  /// Index of a column, or -1.
  [[nodiscard]] int column(std::string_view name) const;
  /// A cell of the current row; empty for column -1.
  [[nodiscard]] const std::string& cell(int column) const { return column < 0 ? none_ : cells_[static_cast<std::size_t>(column)].text; }
  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
  [[nodiscard]] const std::string& name() const { return reader_.name(); }
  [[nodiscard]] int line() const { return reader_.number(); }

  /// Remembers a fault of the current row. \param column -1: of the whole row \throws SpecError at the twentieth
  void fault(int column, std::string message, std::string remedy);
  /// \throws SpecError when there were faults
  void finish();

 private:
  void fault_at(int place, std::string message, std::string remedy);
  bool read_line();

  LineReader reader_;
  std::string text_;
  std::vector<std::string> header_;
  std::vector<CsvCell> cells_;
  std::vector<Issue> issues_;
  std::string none_;
};

/// One cell for writing: in quotes when it has to be, behind an apostrophe where a spreadsheet would take it for a formula (split_csv takes
/// it off again).
[[nodiscard]] std::string csv_quoted(std::string_view text);

}  // namespace fabricost::io
