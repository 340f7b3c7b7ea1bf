/// Drawing the bars of a pipeline step.

#include "pictures/svg.hpp"
#include "text/text_table.hpp"

#include <fabricost/plan/pictures/gantt.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fabricost::plan {
namespace {

constexpr int narrowest = 10, widest = 1000;

[[nodiscard]] char letter(const Work& work) {
  constexpr std::array<char, 4> first{'F', 'B', 'W', 'B'}, further{'f', 'b', 'w', 'b'};
  return (work.chunk == 0 ? first : further)[static_cast<std::size_t>(work.kind)];
}

/// Fill and outline of a kind, paler for further chunks.
struct Colours {
  std::string_view fill, stroke;
};
[[nodiscard]] Colours colours(const Work& work) {
  constexpr std::array<Colours, 4> first{{{"#8fb8de", "#3b6ea5"}, {"#a8d5a2", "#3f8f4f"}, {"#f3c98b", "#b9772a"}, {"#9ccfb0", "#2f7f60"}}};
  constexpr std::array<Colours, 4> further{
      {{"#d3e4f4", "#3b6ea5"}, {"#dcf0d9", "#3f8f4f"}, {"#fae8cd", "#b9772a"}, {"#d5ece0", "#2f7f60"}}};
  return (work.chunk == 0 ? first : further)[static_cast<std::size_t>(work.kind)];
}

/// From the first start to the last end.
[[nodiscard]] std::pair<double, double> span(const PipelineRun& run) {
  double first = 0, last = 0;
  bool any = false;
  for (const auto& stage : run.bars)
    for (const Bar& bar : stage) {
      first = any ? std::min(first, bar.start) : bar.start;
      last = std::max(last, bar.end);
      any = true;
    }
  return {first, last};
}

}  // namespace

std::string gantt_text(const PipelineRun& run, int width) {
  if (width < narrowest || width > widest)
    throw RequestError(fmt::format("width: a chart of {} characters cannot be drawn; write {} to {}", width, narrowest, widest));
  const auto [first, last] = span(run);
  const double slice = (last - first) / width;
  const std::size_t digits = std::to_string(run.bars.size()).size();
  std::string out;
  for (std::size_t s = 0; s < run.bars.size(); ++s) {
    const std::vector<Bar>& bars = run.bars[s];
    std::string row(static_cast<std::size_t>(width), '.');
    std::size_t at = 0;
    for (int x = 0; x < width; ++x) {
      const double middle = first + (x + 0.5) * slice;
      while (at < bars.size() && bars[at].end <= middle) ++at;
      if (at == bars.size()) break;
      if (bars[at].start > middle) continue;
      // two that run as one have the same bar
      const bool second = bars[at].work.with_next && at + 1 < bars.size() && x % 2 == 1;
      row[static_cast<std::size_t>(x)] = letter(bars[at + (second ? 1 : 0)].work);
    }
    out += fmt::format("  {:>{}}  {}\n", s, digits, row);
  }
  return out + wrapped(fmt::format("  {:>{}}  ", "", digits),
                       fmt::format("F forward, B backward, W weight gradient (small: further chunks), . waiting; one character is {}",
                                   time_text(Time::from_value(slice))),
                       std::max<std::size_t>(60, static_cast<std::size_t>(width) + digits + 4));
}

std::string gantt_svg(const PipelineRun& run, std::string_view title) {
  constexpr double left = 70, top = 50, row = 26, gap = 6, chart = 1400, right = 30, bottom = 70, letters = 11;
  const auto [first, last] = span(run);
  const double from = first, scale = last > first ? chart / (last - first) : 0;
  const double height = top + static_cast<double>(run.bars.size()) * (row + gap) + bottom;
  Svg svg;
  svg.text(left, 30, title, 16, Svg::Anchor::start, true, chart);
  for (std::size_t s = 0; s < run.bars.size(); ++s) {
    const double y = top + static_cast<double>(s) * (row + gap);
    svg.text(left - 10, y + row * 0.68, fmt::format("stage {}", s), letters, Svg::Anchor::end);
    svg.panel(left, y, chart, row, "#f4f4f4", "#e0e0e0", 0);
    bool lower = false;
    for (const Bar& bar : run.bars[s]) {
      // of two that run as one, the first takes the upper half
      const bool upper = bar.work.with_next;
      const double tall = upper || lower ? row / 2 : row, begin = y + (lower ? row / 2 : 0);
      const double x = left + (bar.start - from) * scale, wide = (bar.end - bar.start) * scale;
      const Colours look = colours(bar.work);
      svg.box(x, begin, wide, tall, look.fill, look.stroke, 0);
      const std::string number = std::to_string(bar.work.microbatch);
      if (wide > 7.0 * static_cast<double>(number.size()) + 2)
        svg.text(x + wide / 2, begin + tall / 2 + 4, number, tall < row ? 9 : letters, Svg::Anchor::middle);
      lower = upper;
    }
  }
  const double axis = height - bottom + 8;
  constexpr int ticks = 6;
  for (int i = 0; i <= ticks; ++i) {
    const double x = left + chart * i / ticks;
    svg.line(x, axis - 6, x, axis, "#555555", 1);
    svg.text(x, axis + 14, time_text(Time::from_value((last - first) * i / ticks)), letters, Svg::Anchor::middle);
  }
  double x = left;
  for (const auto& [kind, words] : {std::pair{WorkKind::forward, "forward"},
                                    {WorkKind::backward, "backward (input)"},
                                    {WorkKind::weight, "backward (weights)"},
                                    {WorkKind::full_backward, "full backward"}}) {
    const Colours look = colours({kind, 0, 0});
    svg.box(x, axis + 28, 14, 14, look.fill, look.stroke, 0);
    svg.text(x + 20, axis + 40, words, letters);
    x += 180;
  }
  svg.text(x, axis + 40, "numbers: microbatches; pale: further chunks", letters);
  return svg.document(left + chart + right, height, title);
}

}  // namespace fabricost::plan
