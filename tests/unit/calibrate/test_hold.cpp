// Constants that somebody asks not to be fitted.
#include "synthetic.hpp"

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

using namespace fabricost::core;
using namespace synthetic;

TEST_CASE("a constant that is held keeps its value, and the fit without it is no better", "[calibrate]") {
  Random random{support::seed + 21};
  const Points points = points_of(load_system("dgx-h100"), "dgx-h100", {.bytes = sizes(512, 1 << 29, 4)}, random, 0.05, 1.1);
  const Calibration free = calibrate(points, {.system = "dgx-h100"});
  const auto hop = [](const Calibration& fit) { return fit.sets.front().constants.scale_up.ll.hop; };
  const Calibration own = calibrate(points, {.system = "dgx-h100", .hold = {"scale_up:ll.hop"}});
  CHECK(hop(own) == load_system("dgx-h100").constants.scale_up.ll.hop);
  const Calibration wrong = calibrate(points, {.system = "dgx-h100", .hold = {"ll.hop=4e-6"}});
  CHECK(hop(wrong) == 4e-6);
  CHECK(wrong.mean_after > 1.02 * free.mean_after);
  CHECK(wrong.constants == free.constants - 1);
  for (const std::string term : {"ll.hopp", "ll.hop=fast", "ll.hop=-1", "compute:ll.hop", ""})
    CHECK_THROWS_AS(calibrate(points, {.system = "dgx-h100", .hold = {term}}), RequestError);
}
