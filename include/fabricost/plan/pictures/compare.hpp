#pragma once
/// Machines side by side as one picture.

#include <fabricost/compiled_part.hpp>
#include <fabricost/plan/economics/compare.hpp>

#include <span>
#include <string>
#include <string_view>

namespace fabricost::plan {

/// SVG: per machine the time as stacked terms with its 5-95 % interval, below it dollars and joules per
/// million tokens and the power of the site, every axis with its unit, in colours that colour-blind readers
/// can tell apart. A machine that cannot do the job says so in its row. \param title the comparison, in one
/// line \throws RequestError for an empty list
[[nodiscard]] std::string comparison_svg(std::span<const Compared> all, std::string_view title);

}  // namespace fabricost::plan
