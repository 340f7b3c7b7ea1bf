#pragma once
/// A pipeline step as a chart: one row per stage, time to the right, as text of a fixed width or as SVG.

#include <fabricost/compiled_part.hpp>
#include <fabricost/plan/pipeline/run.hpp>

#include <string>
#include <string_view>

namespace fabricost::plan {

/// One line per stage, `width` characters for the whole step; each shows the work in the middle of its time:
/// F, B, W of the first chunk, f, b, w of further ones (a full backward is B too), a dot where the stage
/// waits. A forward and a backward that run as one alternate. Ends with a legend. \throws RequestError for a
/// width outside 10 to 1000
[[nodiscard]] std::string gantt_text(const PipelineRun& run, int width = 100);

/// Boxes with the microbatch's number where it fits, and a time axis.
[[nodiscard]] std::string gantt_svg(const PipelineRun& run, std::string_view title);

}  // namespace fabricost::plan
