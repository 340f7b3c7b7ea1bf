#pragma once
/// \file text_table.hpp
/// Plain text as people read it: tables whose columns line up and paragraphs that end before the margin. Private to the sources.

#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// Columns two blanks apart, as wide as their widest cell. Trailing empty cells may be left out of a row.
class TextTable {
 public:
  enum class Align : unsigned char { left, right };
  struct Column {
    std::string heading;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// All lines, each ended; the line of headings is left out when all are empty.
  [[nodiscard]] std::string text(std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

inline constexpr TextTable::Align right = TextTable::Align::right;

/// Characters a terminal shows for UTF-8 text.
[[nodiscard]] std::size_t shown_width(std::string_view text);

/// `text` broken between words so that no line is longer than `width`; the first line starts with `first`, the others with as many blanks.
[[nodiscard]] std::string wrapped(std::string_view first, std::string_view text, std::size_t width = 80);

}  // namespace fabricost
