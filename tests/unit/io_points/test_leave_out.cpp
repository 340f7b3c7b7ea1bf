// Which points `--leave-out` holds.
#include <fabricost/error.hpp>
#include <fabricost/validation/set_aside.hpp>

#include "catch.hpp"

using namespace fabricost::core;

namespace {

Point point(const char* source, double bytes) {
  Point p;
  p.source = source;
  p.bytes = bytes;
  return p;
}

}  // namespace

TEST_CASE("a source is left out whole, or between two sizes, both included", "[points]") {
  CHECK(LeaveOut("160_dgx1").holds(point("160_dgx1_ar", 8)));
  CHECK_FALSE(LeaveOut("160_dgx1").holds(point("161_dgx1_ar", 8)));
  const LeaveOut some("016_alps:128KiB:1GiB");
  for (const double bytes : {131072.0, 1e6, 1073741824.0}) CHECK(some.holds(point("016_alps_ar", bytes)));
  for (const double bytes : {131071.0, 1073741825.0}) CHECK_FALSE(some.holds(point("016_alps_ar", bytes)));
  CHECK_FALSE(some.holds(point("007_alps_ar", 1e6)));
  CHECK(LeaveOut("007_alps:512KiB").holds(point("007_alps_ar", 1e12)));
  CHECK_FALSE(LeaveOut("007_alps:512KiB").holds(point("007_alps_ar", 524287)));
  CHECK(some.term() == "016_alps:128KiB:1GiB");
}

TEST_CASE("a star stands for any letters of a source", "[points]") {
  const LeaveOut medium("*gdroff_medium:512MiB");
  CHECK(medium.holds(point("233_a100pcie_gdroff_medium_all_gather", 6e8)));
  CHECK(medium.holds(point("gdroff_medium", 6e8)));
  CHECK_FALSE(medium.holds(point("233_a100pcie_gdroff_medium_all_gather", 5e8)));
  CHECK_FALSE(medium.holds(point("226_a100pcie_gdroff_big_all_gather", 6e8)));
  CHECK(LeaveOut("2*_big*reduce").holds(point("226_a100pcie_gdroff_big_all_reduce", 1)));
  CHECK_FALSE(LeaveOut("2*_big*reduce").holds(point("226_a100pcie_gdroff_big_all_gather", 1)));
  const std::string many(2000, 'a');
  CHECK_FALSE(LeaveOut("*a*a*a*a*a*a*a*a*a*a*a*a*b").holds(point(many.c_str(), 1)));  // and takes no time
}

TEST_CASE("what is no size belongs to the name, and a range the wrong way round is refused", "[points]") {
  CHECK(LeaveOut("https://a.log").holds(point("https://a.log", 8)));
  CHECK(LeaveOut("job:4").holds(point("job", 8)));  // 4 bytes and more
  CHECK_FALSE(LeaveOut("job:4").holds(point("job", 3)));
  CHECK_THROWS_WITH(LeaveOut("job:1GiB:1KiB"), Catch::Contains("leaves out no size"));
}
