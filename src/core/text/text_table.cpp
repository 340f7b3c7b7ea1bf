/// \file text_table.cpp
/// Lining up columns and breaking lines.

#include "text/text_table.hpp"

#include <algorithm>
#include <utility>

namespace fabricost::core {

std::size_t shown_width(std::string_view text) {
  // bytes that continue a character look like 10xxxxxx
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string TextTable::text(std::size_t indent, std::size_t width) const {
  constexpr std::size_t least = 10;  // columns that a broken text needs
  Cells headings = headings_;
  std::vector<std::size_t> widths;
  std::vector<bool> right;
  bool headed = false;
  for (std::string& heading : headings) {
    right.push_back(heading.starts_with('>'));
    if (right.back()) heading.erase(0, 1);
    widths.push_back(shown_width(heading));
    headed = headed || !heading.empty();
  }
  for (const Cells& row : rows_)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], shown_width(row[i]));
  std::string left_out;
  if (width > 0) {
    std::size_t end = indent, shown = 0;
    for (bool fits = true; fits && shown < widths.size(); ++shown) {
      if (widths[shown] == 0) continue;
      const std::size_t begin = end + (end > indent ? 2 : 0);
      if (begin + widths[shown] > width) {
        fits = begin == indent || (!right[shown] && begin + std::max(least, shown_width(headings[shown])) <= width);
        if (!fits) break;
        widths[shown] = std::max(width - begin, least);
      }
      end = begin + widths[shown];
    }
    for (std::size_t i = shown; i < widths.size(); ++i)
      if (std::exchange(widths[i], 0) > 0 && !headings[i].empty()) left_out += (left_out.empty() ? "" : ", ") + headings[i];
  }
  std::string out;
  const auto line = [&](const auto& cell, std::size_t count) {
    std::string one(indent, ' ');
    for (std::size_t i = 0; i < count && i < widths.size(); ++i) {
      const std::string& shown = cell(i);
      if (widths[i] == 0) continue;
      if (one.size() > indent) one += "  ";
      if (shown_width(shown) > widths[i]) {
        std::string broken = wrapped(std::string(shown_width(one), ' '), shown, shown_width(one) + widths[i]);
        one += broken.substr(shown_width(one));
        one.pop_back();
        continue;
      }
      const std::string gap(widths[i] - shown_width(shown), ' ');
      one += right[i] ? gap + shown : shown + gap;
    }
    one.erase(one.find_last_not_of(' ') + 1);
    out += one + "\n";
  };
  if (headed) line([&](std::size_t i) -> const std::string& { return headings[i]; }, headings.size());
  for (const Cells& row : rows_) line([&](std::size_t i) -> const std::string& { return row[i]; }, row.size());
  if (!left_out.empty()) out += wrapped(std::string(indent, ' ') + "... ", "more columns in a wider terminal (or COLUMNS=160): " + left_out, width);
  return out;
}

std::string wrapped(std::string_view first, std::string_view text, std::size_t width) {
  std::string out{first};
  std::size_t column = shown_width(first);
  const std::string indent(column, ' ');
  bool fresh = true;
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n')) ++at;
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end;
    if (word.empty()) continue;
    const std::size_t wide = shown_width(word);
    if (!fresh && column + 1 + wide > width) {
      out += "\n" + indent;
      column = indent.size();
      fresh = true;
    }
    if (!fresh) {
      out += ' ';
      ++column;
    }
    out += word;
    column += wide;
    fresh = false;
  }
  return out + "\n";
}

}  // namespace fabricost::core
