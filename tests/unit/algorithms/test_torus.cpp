#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"
#include "oracle/simulator/torus.hpp"
#include "support/levels.hpp"

using namespace fabricost::core;
using support::close;

namespace {

Schedule bucket_schedule(Collective c, const oracle::Torus& t, const std::vector<int>& dims) {
  return schedule_of(Algorithm::torus_bucket, c, Connectivity{Levels{t.chips()}, dims, true});
}

}  // namespace

TEST_CASE("the bucket algorithm moves what chips that only reach neighbours move", "[schedule][oracle]") {
  for (const auto& dims :
       std::vector<std::vector<int>>{{4}, {3, 3}, {4, 4}, {5, 5}, {3, 3, 3}, {4, 4, 4}, {2, 4}, {2, 8}, {3, 5}, {4, 8}, {2, 3, 4}})
    for (const Collective collective : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
      INFO(name(collective) << " " << support::text(dims));
      oracle::Torus t{dims};
      const int parts = 2 * t.axes(), n = t.chips();
      oracle::World w({n}, parts * n, 1.0 / (parts * n));
      for (int r = 0; r < n; ++r)
        for (int p = 0; p < parts; ++p)
          for (int s = 0; s < n; ++s)
            if (collective != Collective::all_gather || s == r) w.at(r, p * n + s) = oracle::only(r);
      const bool reduce = collective != Collective::all_gather, gather = collective != Collective::reduce_scatter;
      const int steps = oracle::bucket(w, t, reduce, gather);
      bool done = true;
      for (int r = 0; r < n; ++r)
        for (int p = 0; p < parts; ++p)
          for (int s = 0; s < n; ++s) {
            const oracle::Mask wanted = reduce ? oracle::all(n) : oracle::only(s);
            if ((gather || s == r) && w.at(r, p * n + s) != wanted) done = false;
          }
      REQUIRE(done);
      const Schedule schedule = bucket_schedule(collective, t, dims);
      CHECK(schedule.steps() == steps);
      if (t.axes() < 3) CHECK(close(schedule.bytes(0), t.busiest_link() * 2 * t.axes()));
      CHECK(schedule.bytes(0) >= t.busiest_link() * 2 * t.axes() - 1e-12);
      bool cube = true;
      for (const int a : dims) cube = cube && a == dims.front();
      if (cube) CHECK(close(schedule.bytes(0), w.bytes(0)));  // every link carries the same
    }
}

TEST_CASE("an all_reduce on a torus moves no more than its two halves one after the other", "[schedule]") {
  for (int a = 2; a <= 9; ++a)
    for (int b = 2; b <= 9; ++b)
      for (int c = 1; c <= 9; ++c)
        for (const bool wrap : {true, false}) {
          std::vector<int> dims{a, b};
          if (c > 1) dims.push_back(c);
          const auto bytes = [&](Collective op) {
            return schedule_of(Algorithm::torus_bucket, op, Connectivity{Levels{a * b * c}, dims, wrap}).bytes(0);
          };
          INFO(support::text(dims));
          CHECK(bytes(Collective::all_reduce) <= (bytes(Collective::reduce_scatter) + bytes(Collective::all_gather)) * (1 + 1e-12));
        }
}

TEST_CASE("all_to_all on a torus is bound by its busiest link", "[schedule][oracle]") {
  for (const bool wrap : {true, false})
    for (const auto& dims : std::vector<std::vector<int>>{{4}, {5}, {8}, {4, 4}, {3, 5}, {4, 8}, {4, 4, 4}, {3, 4, 5}}) {
      INFO(support::text(dims) << (wrap ? " with" : " without") << " wrap-around");
      oracle::Torus t{dims};
      oracle::dimension_ordered_exchange(t, wrap);
      const Schedule schedule = schedule_of(Algorithm::torus_bucket, Collective::all_to_all, Connectivity{Levels{t.chips()}, dims, wrap});
      // the schedule counts against all 2 d links of a chip together
      CHECK(close(schedule.bytes(0), t.busiest_link() * 2 * t.axes()));
    }
}

TEST_CASE("without wrap-around a bucket takes twice as long and a torus of one chip nothing", "[schedule]") {
  const std::vector<int> dims{4, 4, 4};
  CHECK(close(schedule_of(Algorithm::torus_bucket, Collective::all_reduce, Connectivity{Levels{64}, dims, false}).bytes(0),
              2 * schedule_of(Algorithm::torus_bucket, Collective::all_reduce, Connectivity{Levels{64}, dims, true}).bytes(0)));
  const std::vector<int> one{1, 1};
  CHECK(schedule_of(Algorithm::torus_bucket, Collective::all_reduce, Connectivity{Levels{1}, one, true}).empty());
  CHECK(schedule_of(Algorithm::torus_bucket, Collective::all_to_all, Connectivity{Levels{1}, one, true}).empty());
}
