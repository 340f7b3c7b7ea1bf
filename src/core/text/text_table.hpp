#pragma once
/// Plain text layout: tables with aligned columns, paragraphs broken at a margin, errors as bars of characters.

#include <fabricost/namespaces.hpp>

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

/// A cell of a table: a text or a name as it is, a count in digits, what is absent empty.
template <class T>
[[nodiscard]] std::string cell(const T& value) {
  if constexpr (std::integral<T>)
    return std::to_string(value);
  else if constexpr (requires { value.has_value(); })
    return value ? cell(*value) : "";
  else if constexpr (requires { value.view(); })
    return std::string{value.view()};
  else
    return std::string{value};
}
using Cells = std::vector<std::string>;
template <class... Values>
[[nodiscard]] Cells cells(const Values&... values) {
  return {cell(values)...};
}

/// Columns two blanks apart, as wide as their widest cell; an empty one is left out. Trailing empty cells of a row may be omitted.
class TextTable {
 public:
  /// \param headings ">time": the column is aligned to the right, as in fmt; "=layout": aligned to the left, its cells are never broken
  explicit TextTable(Cells headings) : headings_(std::move(headings)) {}
  TextTable(std::initializer_list<std::string> headings) : headings_(headings) {}
  void row(Cells of) { rows_.push_back(std::move(of)); }
  template <class First, class Second, class... More>
  void row(const First& first, const Second& second, const More&... more) {
    row(cells(first, second, more...));
  }
  /// Columns that do not fit follow in blocks below, whatever the number of rows. \param repeated columns that each block begins with
  void go_on_below(std::size_t repeated = 1) {
    goes_on_ = true;
    repeated_ = repeated;
  }
  /// All lines, each ended; without the line of headings if all are empty. In a table wider than `width` the cells of one column of texts
  /// are broken between words; where that is not enough, the other columns follow below (go_on_below, or at most 12 rows), or a line names them.
  [[nodiscard]] std::string text(std::size_t indent = 0, std::size_t width = 80) const;

 private:
  Cells headings_;
  std::vector<Cells> rows_;
  bool goes_on_ = false;
  std::size_t repeated_ = 1;
};

/// Characters a terminal shows for UTF-8 text.
[[nodiscard]] std::size_t shown_width(std::string_view text);

/// `text` in lines of at most `width`, the first after `first`, the others indented; an amount stays with its unit, a long address is
/// broken.
[[nodiscard]] std::string wrapped(std::string_view first, std::string_view text, std::size_t width = 80);
/// The same of a command line, to be copied: a line that goes on ends in a backslash, never inside quotes nor before
/// the value of an option.
[[nodiscard]] std::string wrapped_command(std::string_view first, std::string_view command, std::size_t width);

/// Eleven lines under a heading, at most 100 columns: below -50 %, -50 to -25, -25 to -10, -10 to -5, -5 to
/// -2, -2 to 2 and so on up, each bin including its lower end; a bar is as long as its share of the fullest
/// bin, and every bin that is not empty has one.
/// \param errors predicted / measured - 1
[[nodiscard]] std::string error_histogram(const std::vector<double>& errors);

}  // namespace fabricost::core
