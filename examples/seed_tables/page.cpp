/// \file page.cpp
/// Rows to Markdown. Nothing here knows what a number means.

#include "page.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace seed_tables {

namespace {

/// GitHub's address of a heading.
std::string anchor(std::string_view title) {
  std::string out;
  for (const char c : title) {
    if (c >= 'A' && c <= 'Z')
      out += static_cast<char>(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')
      out += c;
    else if (c == ' ')
      out += '-';
  }
  return out;
}

std::string cell(std::string_view content) {
  std::string out;
  for (const char c : content) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

constexpr std::string_view introduction = R"(# The source texts' tables, recomputed

This page is printed by `examples/seed_tables` (`build/bin/seed_tables > docs/seed-tables.md`); a test keeps it fresh, so do not
edit it.

fabricost grew out of five public texts about GPU interconnects. They are widely repeated, and they disagree with each other
and with the hardware. Here each of their tables stands beside what fabricost computes from its specs (`data/`) and its
predictions. The texts are called by number:

| text | what it is |
|---|---|
| 000 | a note on NVLink as the scale-up fabric |
| 001 | a long post on the interconnect stack for serving language models |
| 002 | an essay on the rack as the unit of computing |
| 003 | a course chapter on how GPUs talk |
| 004 | a post on why clusters need NVLink and InfiniBand |

How to read the tables:

- **One way.** A bandwidth is payload in one direction unless a cell says otherwise. A datasheet's "900 GB/s" for NVLink counts both
  directions; 450 GB/s is what a transfer can use. GB is 10^9 bytes, MiB 2^20. "Reproduced" figures that count both ways are met by
  twice ours.
- **The last column** puts the numbers in. In it x is "times".
- **naive** divides the bytes a ring all-reduce sends, 2(n-1)/n of the buffer, by the slowest link's one-way rate: no latency, no protocol.
- **predicted** is fabricost's own answer, what NCCL takes: the time it adds up from launch, serial steps and wire. In brackets the
  interval in which nine of ten measurements should fall. *calibrated*: fitted on this very machine; *sibling*: on one built like it;
  *datasheet*: on neither, and the interval is wide because of it.
- **Verdicts.** *reproduced*: the figure follows, counted as the text counts. *qualified*: the figure exists but means something else,
  or holds only in part; the row says what. *corrected*: it does not follow; ours stands beside it. *not checkable*: nobody has
  published what it would take. Where a row compares numbers the verdict is computed: within 3 % of the text's figure or range is
  reproduced.

)";

}  // namespace

std::string markdown(const Table& table) {
  std::string out = fmt::format("### {}\n\n{}\n\n", table.title, table.about);
  const auto line = [&](const std::vector<std::string>& cells) {
    out += "|";
    for (const std::string& one : cells) out += fmt::format(" {} |", cell(one));
    out += "\n";
  };
  std::vector<std::string> headings{"", "the text"};
  headings.insert(headings.end(), table.beside.begin(), table.beside.end());
  headings.insert(headings.end(), {table.ours, "verdict", "how"});
  line(headings);
  line(std::vector<std::string>(headings.size(), "---"));
  for (const Row& row : table.rows) {
    if (row.beside.size() != table.beside.size()) throw std::logic_error(table.title + ": " + row.label + " has another number of columns");
    std::vector<std::string> cells{row.label, row.said};
    for (const Figure& figure : row.beside) cells.push_back(figure.text());
    const std::string verdict = row.verdict == Verdict::corrected ? "**corrected**" : std::string{name(row.verdict)};
    cells.insert(cells.end(), {row.ours.text() == "-" ? row.ours.text() : fmt::format("**{}**", row.ours.text()), verdict, row.shown});
    line(cells);
  }
  if (!table.remark.empty()) out += fmt::format("\n{}\n", table.remark);
  return out + "\n";
}

std::string page(const std::vector<Section>& sections) {
  std::string out{introduction};
  out += "Contents:\n\n";
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const std::string title = fmt::format("{}. {}", i + 1, sections[i].title);
    out += fmt::format("- [{}](#{})\n", title, anchor(title));
  }
  out += "\n";
  for (std::size_t i = 0; i < sections.size(); ++i) {
    out += fmt::format("## {}. {}\n\n", i + 1, sections[i].title);
    if (!sections[i].about.empty()) out += sections[i].about + "\n\n";
    for (const Table& table : sections[i].tables) out += markdown(table);
    if (!sections[i].closing.empty()) out += sections[i].closing + "\n";
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace seed_tables
