/// Lining up columns and breaking lines; bins of errors are narrow around zero, wider outside.

#include "text/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fabricost::core {

std::size_t shown_width(std::string_view text) {
  // bytes that continue a character look like 10xxxxxx
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

namespace {

constexpr std::string_view word_ends = " \n";

/// Whether `word` is a unit, perhaps with a punctuation mark behind it: an amount is not parted from it.
bool is_unit(std::string_view word) {
  constexpr auto units =
      std::to_array<std::string_view>({"%",  "ns", "us", "ms", "s",    "min",  "h",    "d", "B",  "KiB", "MiB", "GiB", "TiB",
                                       "kB", "MB", "GB", "TB", "MB/s", "GB/s", "TB/s", "W", "kW", "MW",  "kWh", "MWh", "GWh"});
  while (!word.empty() && std::string_view{",.;:)"}.find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  return std::find(units.begin(), units.end(), word) != units.end();
}

/// Where the word at `at` ends; an amount goes on over the blank before its unit.
std::size_t end_of_word(std::string_view text, std::size_t at) {
  const auto ends = [&](std::size_t from) { return std::min(text.find_first_of(word_ends, from), text.size()); };
  const std::size_t end = ends(at);
  if (end + 1 >= text.size() || text[end] != ' ' || end == at || text[end - 1] < '0' || text[end - 1] > '9') return end;
  const std::size_t second = ends(end + 1);
  return is_unit(text.substr(end + 1, second - end - 1)) ? second : end;
}

/// How much of a word longer than a line stands on it: an address is broken behind one of its marks.
std::size_t first_part(std::string_view word, std::size_t room) {
  const std::size_t mark = word.substr(0, room).find_last_of("/-_?&=,");
  return mark == std::string_view::npos ? word.size() : mark + 1;
}

/// \param parts break words longer than a line, too
std::string wrapped_words(std::string_view first, std::string_view text, std::size_t width, bool parts) {
  std::string out{first};
  std::size_t column = shown_width(first);
  const std::string indent(column, ' ');
  const std::size_t room = width > column ? width - column : 0;
  bool fresh = true;
  for (std::size_t at = text.find_first_not_of(word_ends); at < text.size(); at = text.find_first_not_of(word_ends, at)) {
    std::string_view word = text.substr(at, end_of_word(text, at) - at);
    at += word.size();
    const auto next_line = [&] {
      out += "\n" + indent;
      column = indent.size();
      fresh = true;
    };
    if (!fresh && column + 1 + shown_width(word) > width) next_line();
    while (parts && shown_width(word) > room && first_part(word, room) < word.size()) {
      const std::size_t part = first_part(word, room);
      out += word.substr(0, part);
      word.remove_prefix(part);
      next_line();
    }
    if (!fresh) {
      out += ' ';
      ++column;
    }
    out += word;
    column += shown_width(word);
    fresh = false;
  }
  return out + "\n";
}

/// A cell in lines of its column's width; a longer address or path is cut.
Cells broken(const std::string& text, std::size_t width) {
  if (shown_width(text) <= width) return {text};
  const std::string lines = wrapped_words("", text, width, false);
  Cells out;
  for (std::size_t at = 0, end = 0; (end = lines.find('\n', at)) != std::string::npos; at = end + 1) {
    std::string& line = out.emplace_back(lines.substr(at, end - at));
    if (line.size() > width && line.find('/') != std::string::npos) line.replace(width - 3, std::string::npos, "...");
  }
  return out;
}

std::size_t longest_word(std::string_view text) {
  std::size_t out = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    out = std::max(out, shown_width(text.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

/// Narrows the widest column of texts by what a table is too wide, if at least half of it stays, most rows stay whole and no word is
/// broken.
void narrow(std::vector<std::size_t>& widths, const Cells& headings, const std::vector<Cells>& rows, const std::vector<bool>& whole,
            std::size_t indent, std::size_t width) {
  constexpr std::ptrdiff_t few_rows = 4;  // which may all be in two lines
  std::size_t total = indent, columns = 0;
  for (const std::size_t one : widths) total += one + (one > 0 && columns++ > 0 ? 2 : 0);
  if (total <= width) return;
  std::size_t* widest = nullptr;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const std::size_t left = widths[i] - std::min(widths[i], total - width);
    if (whole[i] || left == 0 || 2 * left < widths[i] || (widest != nullptr && *widest >= widths[i])) continue;
    const bool no_word_breaks =
        std::all_of(rows.begin(), rows.end(), [&](const Cells& row) { return row.size() <= i || longest_word(row[i]) <= left; });
    const auto in_two =
        std::count_if(rows.begin(), rows.end(), [&](const Cells& row) { return row.size() > i && shown_width(row[i]) > left; });
    const bool few_in_two = 2 * in_two <= std::ssize(rows) || std::ssize(rows) <= few_rows;
    if (no_word_breaks && few_in_two && shown_width(headings[i]) <= left) widest = &widths[i];
  }
  if (widest != nullptr) *widest -= total - width;
}

}  // namespace

std::string TextTable::text(std::size_t indent, std::size_t width) const {
  constexpr std::size_t least = 10;  // columns that a broken text needs
  constexpr std::size_t most_rows_below = 12;
  Cells headings = headings_;
  std::vector<std::size_t> widths;
  std::vector<bool> right, whole;
  bool headed = false;
  for (std::string& heading : headings) {
    right.push_back(heading.starts_with('>'));
    whole.push_back(right.back() || heading.starts_with('='));
    if (whole.back()) heading.erase(0, 1);
    widths.push_back(shown_width(heading));
    headed = headed || !heading.empty();
  }
  for (const Cells& row : rows_)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], shown_width(row[i]));
  std::string left_out;
  std::size_t first_below = widths.size();
  if (width > 0) {
    narrow(widths, headings, rows_, whole, indent, width);
    std::size_t end = indent, shown = 0;
    for (bool fits = true; fits && shown < widths.size(); ++shown) {
      if (widths[shown] == 0) continue;
      const std::size_t begin = end + (end > indent ? 2 : 0);
      if (begin + widths[shown] > width) {
        fits = begin == indent || (!whole[shown] && begin + std::max(least, shown_width(headings[shown])) <= width);
        if (!fits) break;
        widths[shown] = std::max(width - begin, least);
      }
      end = begin + widths[shown];
    }
    if ((goes_on_ || rows_.size() <= most_rows_below) && shown > 1) first_below = shown;
    for (std::size_t i = shown; i < widths.size(); ++i)
      if (std::exchange(widths[i], 0) > 0 && !headings[i].empty()) left_out += (left_out.empty() ? "" : ", ") + headings[i];
  }
  std::string out;
  const auto lines = [&](const Cells& row) {
    std::vector<Cells> pieces(std::min(row.size(), widths.size()));
    std::size_t count = 1;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (widths[i] > 0) pieces[i] = broken(row[i], widths[i]);
      count = std::max(count, pieces[i].size());
    }
    for (std::size_t k = 0; k < count; ++k) {
      std::string one(indent, ' ');
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (widths[i] == 0) continue;
        if (one.size() > indent) one += "  ";
        const std::string shown = k < pieces[i].size() ? pieces[i][k] : std::string{};
        const std::string gap(widths[i] - std::min(widths[i], shown_width(shown)), ' ');
        one += right[i] ? gap + shown : shown + gap;
      }
      one.erase(one.find_last_not_of(' ') + 1);
      out += one + "\n";
    }
  };
  if (headed) lines(headings);
  for (const Cells& row : rows_) lines(row);
  if (first_below < widths.size()) {
    const auto first =
        static_cast<std::size_t>(std::find_if(widths.begin(), widths.end(), [](std::size_t one) { return one > 0; }) - widths.begin());
    const std::size_t again = first + repeated_ < first_below ? repeated_ : 1;
    const auto below = [&](const Cells& of) {
      Cells kept;
      for (std::size_t i = first; i < first + again; ++i) kept.push_back(i < of.size() ? of[i] : std::string{});
      for (std::size_t i = first_below; i < of.size(); ++i) kept.push_back(of[i]);
      return kept;
    };
    TextTable rest{below(headings_)};
    rest.go_on_below(again);
    for (const Cells& row : rows_) rest.row(below(row));
    return out + "\n" + rest.text(indent, width);
  }
  if (!left_out.empty())
    out += wrapped(std::string(indent, ' ') + "... ", "more columns in a wider terminal (or COLUMNS=160): " + left_out, width);
  return out;
}

std::string wrapped(std::string_view first, std::string_view text, std::size_t width) { return wrapped_words(first, text, width, true); }

std::string wrapped_command(std::string_view first, std::string_view command, std::size_t width) {
  constexpr char joint = '\x1f';  // stands for the blanks that no line may end at: inside quotes, and between an option and its value
  std::string glued{command};
  bool quoted = false;
  for (std::size_t i = 0, word = 0; i < glued.size(); ++i) {
    if (glued[i] == '"' || glued[i] == '\'') quoted = !quoted;
    if (glued[i] != ' ') continue;
    const bool option = glued[word] == '-' && glued.find(joint, word) >= i && i + 1 < glued.size() && glued[i + 1] != '-';
    if (quoted || option)
      glued[i] = joint;
    else
      word = i + 1;
  }
  std::string out = wrapped_words(first, glued, width - 2, false);
  std::replace(out.begin(), out.end(), joint, ' ');
  for (std::size_t end = out.find('\n'); end + 1 < out.size(); end = out.find('\n', end + 3)) out.replace(end, 1, " \\\n  ");
  return out;
}

namespace {

constexpr std::array<double, 10> edges{-50, -25, -10, -5, -2, 2, 5, 10, 25, 50};
constexpr long long longest_bar = 48;

/// The bin of an error. Rounding is tolerated at edges: 100 x -0.05 is -5.000000000000001.
[[nodiscard]] std::size_t bin_of(double percent) {
  return static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), percent + 1e-9) - edges.begin());
}

}  // namespace

std::string error_histogram(const std::vector<double>& errors) {
  std::array<long long, edges.size() + 1> counts{};
  for (const double error : errors) ++counts[bin_of(100 * error)];
  const long long max = std::max(1LL, *std::max_element(counts.begin(), counts.end()));
  TextTable rows{">error %", ">points", ">share", ""};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string label = i == 0              ? fmt::format("below {:+.0f}", edges.front())
                              : i == edges.size() ? fmt::format("above {:+.0f}", edges.back())
                                                  : fmt::format("{:+.0f} to {:+.0f}", edges[i - 1], edges[i]);
    const double share = errors.empty() ? 0 : 100 * static_cast<double>(counts[i]) / static_cast<double>(errors.size());
    const long long bar = (counts[i] * longest_bar + max - 1) / max;
    rows.row({label, std::to_string(counts[i]), fmt::format("{:.1f} %", share), std::string(static_cast<std::size_t>(bar), '#')});
  }
  return rows.text(2, 0);
}

}  // namespace fabricost::core
