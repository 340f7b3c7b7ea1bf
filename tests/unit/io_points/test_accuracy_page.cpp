// Every healthy public run is in a figure of docs/accuracy.md, or in its list of runs left out.
#include "accuracy_page/measurements.cpp"  // what the page reads; a program has no library to link
#include "support/measurements.hpp"

#include "catch.hpp"

using namespace fabricost::observe;

namespace {

int rows_of(const Points& merged) {
  int rows = 0;
  for (const Point& p : merged.points) rows += p.repeats;
  return rows;
}

}  // namespace

TEST_CASE("the accuracy page counts every healthy public run, or lists it as left out", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  const accuracy::Measurements read = accuracy::read_measurements(folder.string());
  int left = 0;
  for (const accuracy::Measurements::Left& one : read.left_out) {
    CHECK(!one.points.points.empty());
    CHECK(!one.why.empty());
    left += rows_of(one.points);
  }
  CHECK(left == read.left);
  CHECK(rows_of(read.one_node) == 2644);
  CHECK(rows_of(read.clusters) + left == read.measured);
  std::size_t healthy = 0;
  // of the third round's own runs the page has those of several nodes alone
  for (const Point& p : read_points(folder / "third" / "points_collectives.csv").points) healthy += p.nodes > 1 ? 1 : 0;
  for (const char* round : {"multinode", "second/multinode", "second/newer", "third/released/multinode", "third/released/newer"})
    healthy += read_points(folder / round / "points_healthy.csv").points.size();
  CHECK(rows_of(read.one_node) + rows_of(read.later_one_node) + rows_of(read.clusters) + left == static_cast<int>(healthy));
}
