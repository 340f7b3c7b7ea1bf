// The table of a curve against the exact line at every size, and the sizes that it leaves to the line.
#include <fabricost/predict/curve_table.hpp>

#include "support/random_cases.hpp"

#include "catch.hpp"

using namespace fabricost::core;

namespace {

CurveTable table_of(const Line& line) {
  CurveTable table;
  table.fill([&](double, double) { return &line; });
  return table;
}
bool knows(const CurveTable& table, double bytes) { return !std::isnan(table(bytes)); }

/// 1 ms and 1 ns per byte: the two meet at 10^6 bytes.
Line two_terms(double overlap) {
  Line line;
  line.add_latency_part(TermKind::steps, 0, 1, 1e-3).add_rate_part(TermKind::wire, 0, 1, 1e-9);
  line.overlap = overlap;
  return line;
}

}  // namespace

TEST_CASE("what the table of a curve knows is within 1e-9 of the line", "[predict][property]") {
  support::Report report{"table differs"};
  std::size_t known = 0, tables = 0;
  for (int i = 0; i < 400; ++i) {
    const support::Case c = support::random_case(i);
    if (support::pairs_of(c).count == 0) continue;
    const Curve curve = compile(c.system, c.operation);
    if (curve.table().empty()) continue;
    ++tables;
    std::mt19937_64 random{static_cast<std::uint64_t>(i)};
    std::uniform_real_distribution<double> power{8, 36};
    for (int k = 0; k < 1000; ++k) {
      const double bytes = std::exp2(power(random)), t = curve.table()(bytes), exact = curve.line(bytes)(bytes);
      if (std::isnan(t)) continue;
      ++known;
      report.expect(std::fabs(t / exact - 1) <= 1e-9, c, curve.ran_at(bytes), bytes, [&] { return std::to_string(t / exact) + " of"; });
    }
  }
  INFO(report.text());
  CHECK(report.failed() == 0);
  CHECK(tables > 100);
  CHECK(static_cast<double>(known) > 0.75 * 1000 * static_cast<double>(tables));
}

TEST_CASE("a table holds to its own edges", "[predict]") {
  const Line line = two_terms(1.4);
  const CurveTable table = table_of(line);
  for (const double size : {256.0, std::nextafter(320.0, 0), 320.0, 1e6, std::nextafter(std::exp2(36), 0)}) {
    INFO(size);
    CHECK(table(size) == Approx(line(size)).epsilon(1e-9));
  }
  for (const double size : {0.0, std::nextafter(256.0, 0), std::exp2(36), 1e18, -1000.0, std::nan(""), HUGE_VAL}) {
    INFO(size);
    CHECK_FALSE(knows(table, size));
  }
}

TEST_CASE("a table leaves jumps, bends and corners to the line", "[predict]") {
  constexpr double size = 1300000;  // in the quarter from 1.25 x 2^20 = 1,310,720 down to 2^20
  using Shape = Ramp::Shape;
  for (const Shape shape : {Shape::step, Shape::until, Shape::linear, Shape::square}) {
    Line line = two_terms(1.4);
    line.add_ramp({.shape = shape, .amplitude = 1e-3, .per_byte = 1 / size});
    const CurveTable table = table_of(line);
    INFO(static_cast<int>(shape));
    CHECK_FALSE(knows(table, size));
    CHECK_FALSE(knows(table, 1.01 * 1048576));
    CHECK(table(1.26 * 1048576) == Approx(line(1.26 * 1048576)).epsilon(1e-9));
    CHECK(table(0.99 * 1048576) == Approx(line(0.99 * 1048576)).epsilon(1e-9));
  }
  Line jump = two_terms(1.4);
  jump.add_ramp({.shape = Shape::step, .amplitude = 1e-3, .per_byte = 1.0 / 1048576});
  CHECK_FALSE(knows(table_of(jump), 1048576));  // at the edge of two quarters
  Line chunks = two_terms(1);
  chunks.chunk = size;
  chunks.chunk_seconds = 1e-4;
  CHECK_FALSE(knows(table_of(chunks), 1.01 * 1048576));  // the first chunk ends in this quarter
  CHECK(knows(table_of(chunks), 0.9 * 1048576));
  CHECK_FALSE(knows(table_of(chunks), 1e9));
  const Line corner = two_terms(400);
  CHECK_FALSE(knows(table_of(corner), 1e6));
  CHECK(table_of(corner)(1e9) == Approx(corner(1e9)).epsilon(1e-9));
}
