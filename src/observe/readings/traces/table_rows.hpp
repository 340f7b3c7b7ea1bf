#pragma once
/// \file table_rows.hpp
/// Rows of a CSV table of another tool, packed or not, by the names of its header.

#include "text/csv.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::observe {

class TableRows {
 public:
  /// \throws SpecError when it cannot be read
  explicit TableRows(const std::filesystem::path& file);
  /// \throws SpecError for a row that is no row of this table
  [[nodiscard]] bool next();
  /// A cell of the row by the name of its column, or how that begins; empty: none.
  [[nodiscard]] std::string_view cell(std::string_view column) const;
  /// \throws SpecError where the cell is no number; `otherwise` where it is empty or None
  [[nodiscard]] double number(std::string_view column, double otherwise) const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] bool line(std::string_view& out);
  [[noreturn]] void fail(int column, std::string message) const;

  std::string name_, text_;
  std::size_t at_ = 0;
  int number_ = 0;
  std::string_view current_;
  std::vector<std::string> header_;
  std::vector<CsvCell> cells_;
};

}  // namespace fabricost::observe
