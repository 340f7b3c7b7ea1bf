// The parts a line is made of: how many it keeps, and the time each ramp adds.
#include <fabricost/price/line.hpp>

#include "catch.hpp"

using namespace fabricost::plan;

TEST_CASE("a line keeps two ramps and none that adds nothing", "[price]") {
  Line line;
  line.add_ramp({.shape = Ramp::Shape::linear, .amplitude = 0, .per_byte = 1});
  line.add_ramp({.shape = Ramp::Shape::linear, .amplitude = -1, .per_byte = 1});
  CHECK(line.ramps.size() == 0);
  line.add_ramp({.shape = Ramp::Shape::linear, .amplitude = 1, .per_byte = 1});
  line.add_ramp({.shape = Ramp::Shape::linear, .amplitude = 2, .per_byte = 1});
  CHECK(line.ramps.size() == Line::max_ramps);
  CHECK(line(10) == 3);
  CHECK_THROWS_AS(line.add_ramp({.shape = Ramp::Shape::linear, .amplitude = 4, .per_byte = 1}), std::length_error);  // no time without it
  CHECK(line(10) == 3);
}

TEST_CASE("a line keeps no jump that changes nothing", "[price]") {
  Line line;
  line.add_jump({.from = 100}).add_jump_held_after(100, 2, 2);
  CHECK(line.jumps.size() == 0);
  line.add_jump({.from = 100, .seconds = 1}).add_jump({.from = 100, .rate = 1});
  CHECK(line.jumps.size() == 2);
}

TEST_CASE("parts beyond those a line has room for are carried by the last", "[price]") {
  Line line;
  for (int i = 1; i <= 6; ++i) line.add_base_part(TermKind::steps, 0, i, 0.5);
  CHECK(line.base_parts.size() == Line::max_parts);
  CHECK(line(0) == 0.5 * (1 + 2 + 3 + 4 + 5 + 6));
  double sum = 0;
  for (const Part& part : line.base_parts) sum += part.value();
  CHECK(sum == Approx(line.base));
  line.add_base_part(TermKind::floor, 0, 0, 1);
  line.add_base_part(TermKind::floor, 0, 1, 0);
  CHECK(line(0) == 0.5 * (1 + 2 + 3 + 4 + 5 + 6));
}

TEST_CASE("ramps are what their shape says at the size, at its half and far beyond", "[price]") {
  struct Row {
    Ramp::Shape shape;
    double none, half, one, twice, far;
  };
  const double e = std::exp(-1.0);
  using S = Ramp::Shape;
  const Row rows[] = {{S::none, 0, 0, 0, 0, 0},
                      {S::linear, 0, 0.5, 1, 1, 1},
                      {S::square, 0, 0.25, 1, 1, 1},
                      {S::saturating, 0, 1.0 / 3, 0.5, 2.0 / 3, 1},
                      {S::saturating_square, 0, 0.2, 0.5, 0.8, 1},
                      {S::exponential, 0, 1 - std::sqrt(e), 1 - e, 1 - e * e, 1},
                      {S::step, 0, 0, 0, 1, 1},
                      {S::until, 1, 1, 0, 0, 0},
                      {S::channels, 0, 0, 0, 0.5, 0.75},
                      {S::unbounded, 0, 0.5, 1, 2, 1e9}};
  for (const Row& row : rows) {
    const Ramp ramp{.shape = row.shape, .amplitude = 3, .per_byte = 1e-3, .limit = 4};
    INFO(static_cast<int>(row.shape));
    CHECK(ramp(0) == Approx(3 * row.none));
    CHECK(ramp(500) == Approx(3 * row.half));
    CHECK(ramp(1000) == Approx(3 * row.one));
    CHECK(ramp(2000) == Approx(3 * row.twice));
    CHECK(ramp(1e12) == Approx(3 * row.far));
  }
}

TEST_CASE("beyond the first, chunks move whole by their share", "[price]") {
  Line line;
  line.chunk = 100;
  line.chunk_seconds = 2;
  line.chunk_share = 0.75;
  CHECK(line.chunks(100) == 0);
  CHECK(line.chunks(100.5) == Approx(2 * (0.75 * 1 + 0.25 * 0.005)));
  CHECK(line.chunks(200) == Approx(2));
  CHECK(line.chunks(250) == Approx(2 * (0.75 * 2 + 0.25 * 1.5)));
}

TEST_CASE("where a jump makes the volume fall it is held, before the jump or after it, and the rule's time is kept beside it", "[price]") {
  Line before;  // 1 s a byte; from 100 bytes on half of it, and 10 s once
  before.add_rate_part(TermKind::wire, 0, 1, 1);
  before.add_jump_held_before({.from = 100, .seconds = 10, .rate = -0.5}, 1);
  for (const auto& [bytes, seconds, rule] : {std::array<double, 3>{59.0, 59, 59}, {60.0, 60, 60}, {80.0, 60, 80}, {99.9, 60, 99.9}, {100.0, 60, 60}, {200.0, 110, 110}}) {
    CAPTURE(bytes);
    CHECK(before(bytes) == Approx(seconds));
    CHECK(before.alternative_seconds(bytes, before(bytes)) == Approx(rule));
  }
  Line after;  // beyond 100 bytes half as long a byte
  after.add_rate_part(TermKind::wire, 0, 1, 1);
  after.add_jump_held_after(100, 1, 0.5);
  for (const auto& [bytes, seconds, rule] : {std::array<double, 3>{100.0, 100, 100}, {101.0, 100, 50.5}, {199.0, 100, 99.5}, {200.0, 100, 100}, {300.0, 150, 150}}) {
    CAPTURE(bytes);
    CHECK(after(bytes) == Approx(seconds));
    CHECK(after.alternative_seconds(bytes, after(bytes)) == Approx(rule));
  }
  Line rising;  // nothing falls: a plain jump
  rising.add_rate_part(TermKind::wire, 0, 1, 1);
  rising.add_jump_held_before({.from = 100, .seconds = 100, .rate = -0.5}, 1);
  rising.add_jump_held_after(1000, 0.5, 0.75);
  CHECK(rising(99) == 99);
  CHECK(rising(100) == 150);
  CHECK(rising.alternative_seconds(99, 99) == 99);
  CHECK(rising(2000) == Approx(100 + 0.75 * 2000));
}

TEST_CASE("a part of the time that ends between two measured sizes is left open there", "[price]") {
  Line line;
  line.add_base_part(TermKind::launch, 0, 1, 3);
  line.unmeasured_end = {64, 100, 156, 2};
  CHECK(line.alternative_seconds(64, line(64)) == 3);
  CHECK(line.alternative_seconds(80, line(80)) == 1);
  CHECK(line.alternative_seconds(120, line(120)) == 5);
  CHECK(line.alternative_seconds(156, line(156)) == 3);
}
