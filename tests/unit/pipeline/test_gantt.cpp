// Charts of a pipeline step.
#include "support/message_of.hpp"

#include <fabricost/plan/pictures/gantt.hpp>

#include <catch.hpp>

#include <algorithm>
#include <sstream>

using namespace fabricost::plan;
using namespace support;

namespace {

const StageTimes unit{.forward = 1, .backward = 1, .weight = 1};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace

TEST_CASE("a chart shows each stage's work in its time", "[pipeline]") {
  // 2 stages, 2 microbatches: 9 units of time, ten characters would blur, 18 are two each
  const auto lines = lines_of(gantt_text(run_pipeline(PipelineSchedule::one_f_one_b, 2, 1, 2, unit), 18));
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == "  0  FFFF....BBBB..BBBB");
  CHECK(lines[1] == "  1  ..FFBBBBFFBBBB....");
  CHECK(contains(lines[2] + lines[3], "500 ms"));
}

TEST_CASE("a chart has as many waiting characters as the bubble has time", "[pipeline]") {
  for (const PipelineSchedule s :
       {PipelineSchedule::gpipe, PipelineSchedule::zb_h1, PipelineSchedule::v_half, PipelineSchedule::dualpipe}) {
    const PipelineRun run = run_pipeline(s, 4, 1, 12, unit);
    const int width = static_cast<int>(run.makespan * 4 + 0.5);
    const auto lines = lines_of(gantt_text(run, width));
    INFO(name(s));
    REQUIRE(lines.size() == 5);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto dots = std::count(lines[i].begin(), lines[i].end(), '.');
      CHECK(static_cast<double>(dots) / 4 == Approx(run.makespan - run.work).margin(1e-9));
    }
  }
}

TEST_CASE("further chunks are small letters, and widths that cannot be drawn are refused", "[pipeline]") {
  const PipelineRun run = run_pipeline(PipelineSchedule::zb_v, 2, 2, 4, unit);
  const std::string text = gantt_text(run, 60);
  for (const char letter : {'F', 'f', 'B', 'b', 'W', 'w'}) CHECK(text.find(letter) != std::string::npos);
  CHECK(contains(message_of([&] { return gantt_text(run, 3); }), "write 10 to 1000"));
}

TEST_CASE("the picture has a box for every piece of work", "[pipeline]") {
  const PipelineRun run = run_pipeline(PipelineSchedule::zb_h1, 3, 1, 6, unit);
  const std::string svg = gantt_svg(run, "three <stages>");
  std::size_t boxes = 0;
  for (std::size_t at = svg.find("<rect "); at != std::string::npos; at = svg.find("<rect ", at + 1)) ++boxes;
  CHECK(boxes == 3 * 6 * 3 + 3 + 1 + 4);  // work, rows, background, legend
  CHECK(contains(svg, "three &lt;stages&gt;"));
  CHECK(svg.find("</svg>") != std::string::npos);
}
