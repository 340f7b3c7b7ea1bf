// The oracle itself: it must notice a wrong algorithm.
#include "collectives.hpp"
#include "rings.hpp"

#include "catch.hpp"

using namespace oracle;

TEST_CASE("the oracle refuses a contribution added twice", "[oracle]") {
  World w = everyone_contributes({2}, 1);
  w.run({{0, 1, {0}, true}});
  REQUIRE_THROWS_AS(w.run({{0, 1, {0}, true}}), std::logic_error);
}

TEST_CASE("the oracle refuses to send what a rank does not have", "[oracle]") {
  World w = everyone_has_its_own({3});
  REQUIRE_THROWS_AS(w.run({{0, 1, {2}, false}}), std::logic_error);
}

TEST_CASE("the oracle refuses to overwrite a fuller sum", "[oracle]") {
  World w = everyone_contributes({3}, 1);
  w.run({{0, 1, {0}, true}});
  REQUIRE_THROWS_AS(w.run({{2, 1, {0}, false}}), std::logic_error);
}

TEST_CASE("the oracle sends what was there before the step", "[oracle]") {
  World w = everyone_has_its_own({3});
  REQUIRE_THROWS_AS(w.run({{0, 1, {0}, false}, {1, 2, {0}, false}}), std::logic_error);
}

TEST_CASE("the oracle knows an unfinished collective", "[oracle]") {
  World w = everyone_contributes({4}, 4);
  const Ring ring = whole_ring(4);
  REQUIRE_FALSE(reduce_scattered(w));
  ring_reduce_scatter(w, {ring});
  REQUIRE(reduce_scattered(w));
  REQUIRE_FALSE(all_reduced(w));
  ring_all_gather(w, {ring});
  REQUIRE(all_reduced(w));
}

TEST_CASE("the oracle counts bytes by how far they go", "[oracle]") {
  World w = everyone_has_its_own({2, 2, 2});
  w.run({{0, 1, {0}, false}, {0, 2, {0}, false}, {0, 7, {0}, false}});
  REQUIRE(w.bytes(0) == Approx(1.0 / 8));  // to its neighbour
  REQUIRE(w.bytes(1) == Approx(2.0 / 8));  // out of its pair, the far one included
  REQUIRE(w.bytes(2) == Approx(1.0 / 8));
  REQUIRE(w.steps() == 1);
  REQUIRE(w.distance(0, 1) == 0);
  REQUIRE(w.distance(0, 7) == 2);
}
