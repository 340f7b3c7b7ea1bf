/// \file table_rows.cpp
/// A table is read whole: those of other tools have a row for each kind of call.

#include "readings/traces/table_rows.hpp"

#include "readings/traces/readers.hpp"

#include <algorithm>

namespace fabricost::observe {

TableRows::TableRows(const std::filesystem::path& file) : name_(file.string()) {
  constexpr std::size_t longest_table = std::size_t{1} << 28U;
  text_ = whole_file(file, longest_table);
  if (text_.find('\0') != std::string::npos) throw fault_of_file(name_, "there is a zero byte: the file is not text", "export it as CSV");
  if (!line(current_)) throw fault_of_file(name_, "is empty", "export it as CSV");
  if (const auto fault = split_csv(current_, cells_)) fail(fault->column, fault->message);
  for (CsvCell& cell : cells_) header_.push_back(std::move(cell.text));
}

void TableRows::fail(int column, std::string message) const {
  constexpr std::size_t shown = 120;
  throw SpecError(
      {fault_in_line(name_, number_, column, std::string{current_.substr(0, shown)}, std::move(message), "export the table again")});
}

bool TableRows::line(std::string_view& out) {
  if (at_ >= text_.size()) return false;
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  out = std::string_view{text_}.substr(at_, end - at_);
  if (!out.empty() && out.back() == '\r') out.remove_suffix(1);
  at_ = end + 1;
  ++number_;
  return true;
}

bool TableRows::next() {
  while (line(current_)) {
    if (current_.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (const auto fault = split_csv(current_, cells_)) fail(fault->column, fault->message);
    if (cells_.size() != header_.size()) fail(0, "the row has another number of cells than the header");
    return true;
  }
  return false;
}

std::string_view TableRows::cell(std::string_view column) const {
  for (std::size_t i = 0; i < header_.size(); ++i)
    if (header_[i] == column) return cells_[i].text;
  for (std::size_t i = 0; i < header_.size(); ++i)
    if (header_[i].starts_with(column)) return cells_[i].text;
  return {};
}

double TableRows::number(std::string_view column, double otherwise) const {
  const std::string_view text = cell(column);
  if (text.empty() || text == "None" || text == "nan") return otherwise;
  const auto out = parse_number(text);
  if (out) return *out;
  const auto at = std::find_if(cells_.begin(), cells_.end(), [&](const CsvCell& one) { return one.text == text; });
  fail(at == cells_.end() ? 0 : at->column, "this is no number");
}

}  // namespace fabricost::observe
