/// \file test_numa.cpp
/// Lists of processors as Linux writes them, and a thread that is moved and comes back.

#include "catch.hpp"

#include "measure/gpu/numa.hpp"

using namespace fabricost::probes::measure::gpu;

TEST_CASE("a list of processors is read as Linux writes it") {
  const auto found = processors_of("0-3,8,10-11\n");
  REQUIRE(found);
  CHECK(CPU_COUNT(&*found) == 7);
  for (const int processor : {0, 1, 2, 3, 8, 10, 11}) CHECK(CPU_ISSET(processor, &*found));
  CHECK_FALSE(CPU_ISSET(4, &*found));
}

TEST_CASE("what is no list of processors names none") {
  for (const char* text : {"", "x", "3-1", "0-99999", "-1", "0,x", "1:2"}) CHECK_FALSE(processors_of(text));
}

TEST_CASE("a thread comes back to the processors it had") {
  cpu_set_t before, after;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  { const OnNode here(0), unknown(-1), missing(1000); }
  REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&before, &after));
}

TEST_CASE("a device that Linux does not know has no node") { CHECK(numa_node_of("FFFF:10:00.0") == -1); }
