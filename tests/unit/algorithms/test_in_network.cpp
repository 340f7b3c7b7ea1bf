#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"
#include "oracle/simulator/collectives.hpp"
#include "oracle/simulator/partners.hpp"
#include "oracle/simulator/rings.hpp"
#include "support/levels.hpp"

using namespace fabricost::core;
using support::close;

TEST_CASE("in-switch all_reduce moves S (1 + 1/n) per direction", "[schedule]") {
  for (int n = 2; n <= 72; ++n) {
    const Schedule s = schedule_of(Algorithm::nvls, Collective::all_reduce, Levels{n});
    CHECK(close(s.bytes(0), 1 + 1.0 / n));
    // so that its bus bandwidth may reach 2(n-1)/(n+1) of the link's rate
    CHECK(close(bus_factor(Collective::all_reduce, n) / s.bytes(0), 2.0 * (n - 1) / (n + 1)));
  }
  CHECK(schedule_of(Algorithm::nvls, Collective::all_reduce, Levels{1}).empty());
}

TEST_CASE("in-switch trees leave the domain as trees do", "[schedule]") {
  const Schedule two = schedule_of(Algorithm::nvls_tree, Collective::all_reduce, Levels{8, 2});
  CHECK(close(two.bytes(1), 1));
  const Schedule many = schedule_of(Algorithm::nvls_tree, Collective::all_reduce, Levels{8, 16});
  CHECK(close(many.bytes(1), 2));
  CHECK(close(many.steps(1), 8));
  CHECK(close(many.bytes(0), 1 + 1.0 / 8));
}

TEST_CASE("switches of the network reduce: every domain sends the message once", "[schedule]") {
  for (const Algorithm a : {Algorithm::collnet_direct, Algorithm::collnet_chain}) {
    const Schedule s = schedule_of(a, Collective::all_reduce, Levels{8, 16});
    CHECK(s.algorithm == a);
    CHECK(close(s.bytes(1), 1));
    CHECK(s.steps(1) == 2);
  }
  CHECK(close(schedule_of(Algorithm::collnet_direct, Collective::all_reduce, Levels{8, 16}).bytes(0), 2.0 * 7 / 8));
}

TEST_CASE("gathering through the network's switches moves half of an all_reduce inside", "[schedule]") {
  for (const Collective c : {Collective::all_gather, Collective::reduce_scatter}) {
    INFO(name(c));
    CHECK(close(schedule_of(Algorithm::collnet_direct, c, Levels{8, 16}).bytes(0), 7.0 / 8));
  }
}

TEST_CASE("PAT moves what Bruck's gathering moves", "[schedule][oracle]") {
  for (const int n : support::flat_counts()) {
    INFO(n << " nodes of one rank");
    oracle::World w = oracle::everyone_has_its_own({1, n});
    oracle::bruck_all_gather(w);
    REQUIRE(oracle::all_gathered(w));
    for (const Collective c : {Collective::all_gather, Collective::reduce_scatter}) {
      const Schedule s = schedule_of(Algorithm::pat, c, Levels{1, n});
      CHECK(s.steps() == w.steps());
      if (n > 1) CHECK(close(s.bytes(1), w.bytes(1)));
    }
  }
}

TEST_CASE("a transfer moves its message once over its level", "[schedule]") {
  for (const int level : {0, 1}) {
    const Schedule s = send_recv_schedule(Levels{1, 2}, level);
    CHECK(s.phases.size() == 1);
    CHECK(s.begin()->level == level);
    CHECK(s.bytes(level) == 1);
    CHECK(s.steps() == 1);
  }
}
