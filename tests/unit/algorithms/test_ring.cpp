#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"
#include "oracle/simulator/collectives.hpp"
#include "oracle/simulator/rings.hpp"
#include "support/levels.hpp"
#include "unit/algorithms/moves.hpp"

using namespace fabricost::core;
using support::close;

namespace {

/// Runs the collective on a ring of real ranks and compares the moved bytes.
void compare_ring(Collective collective, const std::vector<int>& sizes) {
  INFO(name(collective) << " on a ring of " << support::text(sizes));
  const Schedule schedule = schedule_of(Algorithm::ring, collective, support::levels_of_sizes(sizes));
  oracle::World w = support::ranks_before(collective, sizes);
  const oracle::Ring ring = oracle::whole_ring(w.ranks());
  if (collective != Collective::all_gather) oracle::ring_reduce_scatter(w, {ring});
  if (collective != Collective::reduce_scatter) oracle::ring_all_gather(w, {ring});
  CHECK(support::is_done(collective, w));
  CHECK(schedule.steps() == w.steps());
  for (int level = 0; level < static_cast<int>(sizes.size()); ++level) {
    INFO("level " << level);
    // a group of one rank has nothing inside; a ring of two neighbours in different groups nothing either
    CHECK(close(schedule.bytes(level), w.bytes(level)));
  }
}

}  // namespace

TEST_CASE("a ring's schedule moves what ranks in a circle move", "[schedule][oracle]") {
  for (const Collective c : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
    for (const int n : support::flat_counts()) compare_ring(c, {n});
    for (const auto& sizes : support::splits()) compare_ring(c, sizes);
    compare_ring(c, {2, 3, 4});
    compare_ring(c, {4, 2, 8});
  }
}

TEST_CASE("of a ring's steps those between groups are those of the block that crosses most", "[schedule][oracle]") {
  for (const auto& sizes : support::splits()) {
    INFO(support::text(sizes));
    const int n = sizes[0] * sizes[1];
    const oracle::World w({sizes}, 1, 1);
    // the block of rank b goes to b+1, b+2, ...: the luckiest starts right after a border
    for (const Collective c : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce}) {
      const int hops = (c == Collective::all_reduce ? 2 : 1) * (n - 1);
      int min = hops, max = 0;
      for (int b = 0; b < n; ++b) {
        int crossings = 0;
        for (int i = 0; i < hops; ++i) crossings += w.distance((b + i) % n, (b + i + 1) % n);
        min = std::min(min, crossings);
        max = std::max(max, crossings);
      }
      const Schedule schedule = schedule_of(Algorithm::ring, c, support::levels_of_sizes(sizes));
      CHECK(schedule.steps(1) == max);
      CHECK(schedule.steps() == hops);
      CHECK(max <= min + 2);
    }
    // from the first rank to the last
    CHECK(schedule_of(Algorithm::ring, Collective::broadcast, support::levels_of_sizes(sizes)).steps(1) == sizes[1] - 1);
  }
}

TEST_CASE("a broadcast or a reduction passes everything on once", "[schedule][oracle]") {
  for (const int n : support::flat_counts()) {
    INFO(n << " ranks");
    for (const int chunks : {1, 5}) {
      oracle::World sent({n}, chunks, 1.0 / chunks);
      for (int s = 0; s < chunks; ++s) sent.at(0, s) = oracle::only(0);
      oracle::ring_broadcast(sent);
      for (int r = 0; r < n; ++r)
        for (int s = 0; s < chunks; ++s) REQUIRE(sent.at(r, s) == oracle::only(0));

      oracle::World summed = oracle::everyone_contributes({n}, chunks);
      oracle::ring_reduce(summed);
      for (int s = 0; s < chunks; ++s) REQUIRE(summed.at(n - 1, s) == oracle::all(n));

      for (const Collective c : {Collective::broadcast, Collective::reduce}) {
        const Schedule schedule = schedule_of(Algorithm::ring, c, Levels{n});
        const oracle::World& w = c == Collective::broadcast ? sent : summed;
        CHECK(close(schedule.bytes(0), w.bytes(0)));
        // the steps beyond the first chunk's are its length, not latency
        if (chunks == 1) CHECK(schedule.steps() == w.steps());
      }
    }
  }
}

TEST_CASE("a reduction on a ring adds in as many steps as it scatters", "[schedule]") {
  const Schedule all_reduce = schedule_of(Algorithm::ring, Collective::all_reduce, Levels{8});
  CHECK(all_reduce.begin()->forwards == 7);
  CHECK(all_reduce.begin()->reduces == 7);
  const Schedule gather = schedule_of(Algorithm::ring, Collective::all_gather, Levels{8});
  CHECK(gather.begin()->forwards == 7);
  CHECK(gather.begin()->reduces == 0);
  const Schedule scatter = schedule_of(Algorithm::ring, Collective::reduce_scatter, Levels{8});
  CHECK(scatter.begin()->forwards == 0);
  CHECK(scatter.begin()->reduces == 7);
}
