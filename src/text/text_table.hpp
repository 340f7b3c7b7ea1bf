#pragma once
/// \file text_table.hpp
/// Plain text layout: tables with aligned columns and paragraphs broken at a margin. Private to the sources.

#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// Columns two blanks apart, as wide as their widest cell. Trailing empty cells of a row may be omitted.
class TextTable {
 public:
  enum class Align : unsigned char { left, right };
  struct Column {
    std::string heading;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// All lines, each ended; without the line of headings if all are empty.
  [[nodiscard]] std::string text(std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

inline constexpr TextTable::Align right = TextTable::Align::right;

/// Characters a terminal shows for UTF-8 text.
[[nodiscard]] std::size_t shown_width(std::string_view text);

/// `text` broken between words into lines of at most `width`, the first after `first`, the others indented.
[[nodiscard]] std::string wrapped(std::string_view first, std::string_view text, std::size_t width = 80);

}  // namespace fabricost
