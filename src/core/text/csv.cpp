/// Splits lines into cells and reports malformed ones.

#include "text/csv.hpp"

#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace fabricost::core {

namespace {

/// Whether a spreadsheet would evaluate the cell as a formula.
bool looks_like_formula(std::string_view text) {
  constexpr std::string_view starts = "=+-@";
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text.size() > 1 && starts.find(text.front()) != std::string_view::npos && !parse_number(text);
}

/// Removes the protection that csv_quoted adds to a formula.
void unguard(std::string& text) {
  if (text.starts_with('\'') && looks_like_formula(std::string_view{text}.substr(1))) text.erase(0, 1);
}

}  // namespace

std::optional<CsvFault> split_csv(std::string_view line, std::vector<CsvCell>& cells) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  std::size_t count = 0;
  std::size_t at = 0;
  for (bool more = true; more; ++count) {
    if (count == cells.size()) cells.emplace_back();
    CsvCell& cell = cells[count];
    cell.text.clear();
    while (at < line.size() && blank(line[at])) ++at;
    cell.column = static_cast<int>(at) + 1;
    if (at < line.size() && line[at] == '"') {
      const std::size_t open = at++;
      for (;; ++at) {
        if (at >= line.size())
          return CsvFault{static_cast<int>(open) + 1, "the quote is not closed on this line",
                          "close it; a quote inside a cell is written twice: \"\""};
        if (line[at] == '"') {
          if (at + 1 >= line.size() || line[at + 1] != '"') break;
          ++at;
        }
        cell.text += line[at];
      }
      ++at;
      while (at < line.size() && blank(line[at])) ++at;
      if (at < line.size() && line[at] != ',')
        return CsvFault{static_cast<int>(at) + 1, "there is text after the closing quote",
                        "put the whole cell in quotes; a quote inside it is written twice: \"\""};
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      std::size_t last = end;
      while (last > at && blank(line[last - 1])) --last;
      cell.text.assign(line.substr(at, last - at));
      at = end;
    }
    unguard(cell.text);
    more = at < line.size();
    if (more) ++at;  // the comma
  }
  cells.resize(count);
  return std::nullopt;
}

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

CsvTable::CsvTable(const std::filesystem::path& file) : reader_(file) {
  if (!read_line()) throw fault_of_file(name(), "is empty", "a table starts with a line of column names");
  if (const auto broken = split_csv(text_, cells_)) {
    fault_at(broken->column, broken->message, broken->remedy);
    finish();
  }
  for (const CsvCell& cell : cells_) {
    if (!cell.text.empty() && column(cell.text) >= 0)
      fault_at(cell.column, fmt::format("the column \"{}\" is there twice", cell.text), "keep one of them");
    header_.push_back(cell.text);
  }
  finish();
}

bool CsvTable::read_line() {
  while (reader_.next(text_)) {
    const auto first = text_.find_first_not_of(" \t");
    if (first != std::string::npos && text_[first] != '#') return true;
  }
  return false;
}

bool CsvTable::next() {
  while (read_line()) {
    const auto broken = split_csv(text_, cells_);
    if (broken) {
      fault_at(broken->column, broken->message, broken->remedy);
    } else if (cells_.size() < header_.size()) {
      fault_at(static_cast<int>(text_.size()) + 1, fmt::format("the row ends after {} of {} cells", cells_.size(), header_.size()),
               "leave unknown cells empty, but keep their commas");
    } else if (cells_.size() > header_.size()) {
      fault_at(cells_[header_.size()].column, fmt::format("the row has {} cells, the header {}", cells_.size(), header_.size()),
               "put a cell that holds a comma in double quotes");
    } else {
      return true;
    }
  }
  return false;
}

int CsvTable::column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  return found == header_.end() ? -1 : static_cast<int>(found - header_.begin());
}

Issue CsvTable::issue(int column, std::string message, std::string remedy) const {
  return issue_at(column < 0 ? 1 : cells_[static_cast<std::size_t>(column)].column, std::move(message), std::move(remedy));
}

Issue CsvTable::issue_at(int place, std::string message, std::string remedy) const {
  return fault_in_line(name(), reader_.number(), place, text_, std::move(message), std::move(remedy));
}

void CsvTable::fault(int column, std::string message, std::string remedy) {
  fault_at(column < 0 ? 1 : cells_[static_cast<std::size_t>(column)].column, std::move(message), std::move(remedy));
}

void CsvTable::fault_at(int place, std::string message, std::string remedy) {
  Issue found = issue_at(place, std::move(message), std::move(remedy));
  for (const Issue& one : issues_)  // a cell may be read as several things
    if (one.line == found.line && one.column == found.column && one.message == found.message) return;
  issues_.push_back(std::move(found));
  if (issues_.size() >= max_faults) finish();
}

void CsvTable::finish() {
  if (!issues_.empty()) throw SpecError(std::move(issues_));
}

std::string csv_quoted(std::string_view given) {
  std::string text = plain_text(std::string{given});
  std::replace(text.begin(), text.end(), '\n', ' ');  // a row is a line
  if (looks_like_formula(text)) return csv_quoted("'" + text);
  constexpr std::string_view blanks = " \t";
  const bool outer_blanks =
      !text.empty() && (blanks.find(text.front()) != std::string_view::npos || blanks.find(text.back()) != std::string_view::npos);
  if (!outer_blanks && text.find_first_of(",\"") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace fabricost::core
