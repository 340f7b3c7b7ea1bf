// The places of a parallel group's ranks, and the cost of its collectives.
#include "jobs.hpp"

#include <fabricost/plan/kernels/groups.hpp>
#include <fabricost/predict/predict.hpp>

#include <catch.hpp>

using namespace fabricost::plan;

TEST_CASE("a group keeps all its ranks and never puts more in a domain than fit", "[groups]") {
  for (int n = 1; n <= 96; ++n)
    for (const int stride : {1, 2, 4, 8, 16, 64})
      for (const int domain : {1, 4, 8, 72}) {
        const Placement at = place(n, stride, domain);
        INFO(n << " ranks " << stride << " apart on domains of " << domain);
        REQUIRE(at.ranks() == n);
        REQUIRE(at.local >= 1);
        if (at.local > 1) REQUIRE(at.local * stride <= domain);
        if (n * stride <= domain) REQUIRE(at.domains == 1);
      }
}

TEST_CASE("tensor ranks fill a node, data ranks behind them sit one to a node", "[groups]") {
  CHECK(place(8, 1, 8).local == 8);
  CHECK(place(16, 8, 8).local == 1);
  CHECK(place(16, 8, 8).domains == 16);
  CHECK(place(16, 8, 72).local == 8);  // nine replicas would fit an NVL72; sixteen divide into twice eight
  CHECK(place(64, 1, 72).domains == 1);
}

TEST_CASE("a group's collective costs what predict says of the same ranks", "[groups]") {
  for (const char* name : {"dgx-h100", "gb200-nvl72"}) {
    const System& system = jobs::machine(name);
    GroupCosts costs(system);
    for (const Collective c : {Collective::all_reduce, Collective::all_gather, Collective::all_to_all})
      for (const double bytes : {4096.0, 1e6, 3e8}) {
        const Prediction one = predict(system, Operation{.collective = c, .bytes = Bytes::from_value(bytes), .ranks = system.domain});
        CHECK(costs.seconds(c, {system.domain, 1}, bytes) == Approx(one.seconds));
        const int nodes = 4 * system.domain / system.gpus_per_node;
        const Prediction four =
            predict(system, Operation{.collective = c, .bytes = Bytes::from_value(bytes), .ranks = 4 * system.domain, .nodes = nodes});
        CHECK(costs.seconds(c, {system.domain, 4}, bytes) == Approx(four.seconds));
      }
  }
}

TEST_CASE("one rank, or nothing to move, costs nothing", "[groups]") {
  GroupCosts costs(jobs::machine("dgx-h100"));
  CHECK(costs.seconds(Collective::all_reduce, {1, 1}, 1e9) == 0);
  CHECK(costs.seconds(Collective::all_reduce, {8, 4}, 0) == 0);
}
