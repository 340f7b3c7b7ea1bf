#pragma once
/// The text that a command prints for people: headings, tables, sentences broken at a margin; and amounts as they stand in it.

#include "cli/runner.hpp"
#include "text/amounts.hpp"
#include "text/text_table.hpp"

#include <fabricost/explain/assumptions.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::cli {

class Page {
 public:
  explicit Page(const Terminal& terminal) : terminal_(terminal) {}
  std::size_t width = 100;  ///< of sentences, where the terminal is as wide

  [[nodiscard]] std::size_t margin() const { return std::min(width, terminal_.columns); }

  /// A line in bold, broken at the margin.
  void title(std::string_view text) {
    std::string lines = wrapped("", text, margin());
    lines.pop_back();
    out_ += terminal_.strong(lines) + "\n";
  }
  /// The same after an empty line.
  void section(std::string_view text) { out_ += "\n", title(text); }
  /// Indented, and broken at the margin.
  void say(std::string_view text) { item("  ", text); }
  /// Indented, and not broken where the terminal is wide enough.
  void line(std::string_view text) {
    if (shown_width(text) + 2 > terminal_.columns) return say(text);
    out_ += "  " + std::string{text} + "\n";
  }
  /// `text` behind `first`, broken at the margin.
  void item(std::string_view first, std::string_view text) { out_ += wrapped(first, text, margin()); }
  void items(std::string_view first, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) item(first, text);
  }
  void table(const TextTable& rows) { out_ += rows.text(2, terminal_.columns); }
  /// \param cells of one of `rows`: Cells(const Row&)
  template <class Rows, class ToCells>
  void table(std::initializer_list<std::string> headings, const Rows& rows, const ToCells& cells) {
    TextTable out{headings};
    for (const auto& row : rows) out.row(cells(row));
    table(out);
  }
  /// As it is.
  void add(std::string_view text) { out_ += text; }
  /// The same with lines without indentation in bold.
  void add_headed(std::string_view text) { out_ += terminal_.strong_headings(text); }

  // The same of texts that are formatted first.
  template <class... A>
  requires(sizeof...(A) > 0) void title(fmt::format_string<A...> text, A&&... a) { title(fmt::format(text, std::forward<A>(a)...)); }
  template <class... A>
  requires(sizeof...(A) > 0) void section(fmt::format_string<A...> text, A&&... a) { section(fmt::format(text, std::forward<A>(a)...)); }
  template <class... A>
  requires(sizeof...(A) > 0) void say(fmt::format_string<A...> text, A&&... a) { say(fmt::format(text, std::forward<A>(a)...)); }
  template <class... A>
  requires(sizeof...(A) > 0) void line(fmt::format_string<A...> text, A&&... a) { line(fmt::format(text, std::forward<A>(a)...)); }

  [[nodiscard]] const std::string& text() const { return out_; }
  [[nodiscard]] std::string strong(std::string_view text) const { return terminal_.strong(text); }

 private:
  const Terminal& terminal_;
  std::string out_;
};

/// At most so many characters, of which the last are dots.
[[nodiscard]] inline std::string shortened(const std::string& text, std::size_t most) {
  return text.size() > most ? text.substr(0, most - 3) + "..." : text;
}
// "12.3 us", "256 MiB", "450 GB/s"
[[nodiscard]] inline std::string seconds_text(double seconds) { return time_text(Time::from_value(seconds)); }
[[nodiscard]] inline std::string bytes_text(double bytes) { return size_text(Bytes::from_value(bytes)); }
[[nodiscard]] inline std::string per_second_text(double bytes) { return rate_text(Bandwidth::from_value(bytes)); }

/// A sentence on the assumed kernel efficiencies of GPU generations without measurements.
[[nodiscard]] inline std::string assumed_kernels_text(const System& system) {
  return fmt::format(
      "Assumed: kernels on {} ({}) were not measured. They are taken to reach the shares of the peak that NVIDIA's reach, which "
      "widens the range.",
      system.gpu.name, name(system.gpu.generation));
}

}  // namespace fabricost::cli
