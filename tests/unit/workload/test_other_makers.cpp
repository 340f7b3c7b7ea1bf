// Steps on processors whose kernels nobody measured.
#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <catch.hpp>

#include <cmath>

using namespace fabricost::plan;

TEST_CASE("a step on processors without measurements is less sure than one on a generation that was", "[measured]") {
  const Stack stack = load_stack(unfitted_stack);
  const System h100 = load_system("dgx-h100"), gaudi = load_system("gaudi-3");
  CHECK_FALSE(kernels_assumed(h100));
  CHECK_FALSE(kernels_assumed(load_system("gb300-nvl72")));
  CHECK_FALSE(kernels_assumed(load_system("tpu-v7-cube")));
  CHECK_FALSE(kernels_assumed(load_system("mi300x-8")));
  CHECK_FALSE(kernels_assumed(load_system("mi355x-8")));
  for (const char* name : {"gaudi-3", "trn2"}) {
    INFO(name);
    CHECK(kernels_assumed(load_system(name)));
  }
  const auto [low, high] = interval_of(1, stack, gaudi, Precision::bf16);
  const double own = spread_of(stack, {Generation::gaudi, Precision::bf16});
  CHECK(std::log(high) == Approx(nine_in_ten * std::hypot(own, assumed_kernels_spread)));
  CHECK(low * high == Approx(1));
  CHECK(interval_of(1, stack, h100, Precision::bf16).second < high);
  System measured = gaudi;
  measured.constants.compute_basis = Basis::calibrated;  // as after a calibration of one's own
  CHECK(std::log(interval_of(1, stack, measured, Precision::bf16).second) == Approx(nine_in_ten * own));
}
