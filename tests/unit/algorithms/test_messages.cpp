// The messages of a step, the steps that pass on and those that combine: by the definition of each algorithm.
#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"

using namespace fabricost::core;

namespace {

struct Row {
  int level;
  double steps, message, forwards, reduces;
};

void compare(const Schedule& schedule, const std::vector<Row>& rows) {
  INFO(name(schedule.algorithm) << " " << name(schedule.collective));
  REQUIRE(static_cast<std::size_t>(schedule.end() - schedule.begin()) == rows.size());
  const Phase* phase = schedule.begin();
  for (const Row& row : rows) {
    INFO("phase " << phase - schedule.begin());
    CHECK(phase->level == row.level);
    CHECK(phase->steps == row.steps);
    CHECK(phase->message == Approx(row.message));
    CHECK(phase->forwards == row.forwards);
    CHECK(phase->reduces == row.reduces);
    ++phase;
  }
}

constexpr Levels flat{8}, two{8, 4};

}  // namespace

TEST_CASE("halving sends a rank's block last, combines on the way down and passes on the way up", "[schedule]") {
  compare(schedule_of(Algorithm::halving_doubling, Collective::all_reduce, flat), {{0, 6, 1.0 / 8, 3, 3}});
  compare(schedule_of(Algorithm::halving_doubling, Collective::all_gather, flat), {{0, 3, 1.0 / 8, 3, 0}});
  compare(schedule_of(Algorithm::rabenseifner, Collective::reduce_scatter, flat), {{0, 3, 1.0 / 8, 3, 3}});
  compare(schedule_of(Algorithm::rabenseifner, Collective::all_reduce, two), {{0, 6, 1.0 / 32, 3, 3}, {1, 4, 1.0 / 32, 2, 2}});
}

TEST_CASE("levels of rings send what the levels below left", "[schedule]") {
  compare(schedule_of(Algorithm::hierarchical, Collective::all_reduce, two),
          {{0, 7, 1.0 / 8, 0, 7}, {1, 3, 1.0 / 32, 0, 3}, {1, 3, 1.0 / 32, 3, 0}, {0, 7, 1.0 / 8, 7, 0}});
  compare(schedule_of(Algorithm::hierarchical, Collective::reduce_scatter, flat), {{0, 7, 1.0 / 8, 0, 7}});
  compare(schedule_of(Algorithm::hierarchical, Collective::all_gather, flat), {{0, 7, 1.0 / 8, 7, 0}});
  compare(schedule_of(Algorithm::hierarchical, Collective::all_to_all, two), {{0, 1, 1.0 / 8, 0, 0}, {1, 1, 1.0 / 4, 0, 0}});
}

TEST_CASE("exchanges send a block to each partner and combine only where they reduce", "[schedule]") {
  compare(schedule_of(Algorithm::pairwise, Collective::all_to_all, flat), {{0, 7, 1.0 / 8, 0, 0}});
  compare(schedule_of(Algorithm::pairwise, Collective::reduce_scatter, flat), {{0, 7, 1.0 / 8, 0, 7}});
  compare(schedule_of(Algorithm::direct, Collective::reduce_scatter, two), {{0, 0, 1.0 / 32, 0, 7}, {1, 1, 1.0 / 32, 0, 24}});
  compare(schedule_of(Algorithm::direct, Collective::all_to_all, two), {{0, 0, 1.0 / 32, 0, 0}, {1, 1, 1.0 / 32, 0, 0}});
}

TEST_CASE("switches that reduce get a rank's part at a time", "[schedule]") {
  compare(schedule_of(Algorithm::nvls, Collective::all_reduce, flat), {{0, 2, 1.0 / 8, 0, 1}});
  compare(schedule_of(Algorithm::nvls, Collective::all_gather, flat), {{0, 1, 1.0 / 8, 0, 0}});
  compare(schedule_of(Algorithm::nvls, Collective::reduce_scatter, flat), {{0, 1, 1.0 / 8, 0, 1}});
  compare(schedule_of(Algorithm::nvls_tree, Collective::all_reduce, two), {{0, 2, 1.0 / 8, 0, 1}, {1, 4, 1.0 / 8, 2, 2}});
  compare(schedule_of(Algorithm::collnet_direct, Collective::all_reduce, two), {{0, 2, 1.0 / 8, 0, 1}, {1, 2, 1.0 / 8, 0, 1}});
  compare(schedule_of(Algorithm::collnet_chain, Collective::all_reduce, two), {{0, 14, 1, 0, 1}, {1, 2, 1.0 / 8, 0, 1}});
}

TEST_CASE("trees pass everything on and PAT a block", "[schedule]") {
  compare(schedule_of(Algorithm::tree, Collective::all_reduce, two), {{0, 14, 1, 7, 7}, {1, 4, 1, 2, 2}});
  compare(schedule_of(Algorithm::tree, Collective::broadcast, two), {{0, 7, 1, 7, 0}, {1, 2, 1, 2, 0}});
  compare(schedule_of(Algorithm::tree, Collective::reduce, two), {{0, 7, 1, 0, 7}, {1, 2, 1, 0, 2}});
  compare(schedule_of(Algorithm::pat, Collective::all_gather, two), {{1, 5, 1.0 / 32, 5, 0}});
  compare(schedule_of(Algorithm::pat, Collective::reduce_scatter, two), {{1, 5, 1.0 / 32, 0, 5}});
}

TEST_CASE("a torus passes a message on as often as chips lie apart on average", "[schedule]") {
  for (const auto& dims : {std::array<int, 3>{4, 4, 4}, std::array<int, 3>{2, 3, 8}, std::array<int, 3>{5, 1, 7}})
    for (const bool wrap : {true, false}) {
      const int chips = dims[0] * dims[1] * dims[2];
      double mean = 0;
      for (const int a : dims)
        for (int from = 0; from < a; ++from)
          for (int to = 0; to < a; ++to)
            mean += (wrap ? std::min(std::abs(from - to), a - std::abs(from - to)) : std::abs(from - to)) / double(a * a);
      const Schedule exchange = schedule_of(Algorithm::torus_bucket, Collective::all_to_all, Connectivity{Levels{chips}, dims, wrap});
      CHECK(exchange.begin()->forwards == Approx(mean));
      CHECK(exchange.begin()->message == Approx(1.0 / chips));
      const double steps = dims[0] + dims[1] + dims[2] - 3;
      compare(schedule_of(Algorithm::torus_bucket, Collective::all_reduce, Connectivity{Levels{chips}, dims, wrap}),
              {{0, 2 * steps, 1.0 / chips, steps, steps}});
      compare(schedule_of(Algorithm::torus_bucket, Collective::all_gather, Connectivity{Levels{chips}, dims, wrap}),
              {{0, steps, 1.0 / chips, steps, 0}});
      compare(schedule_of(Algorithm::torus_bucket, Collective::reduce_scatter, Connectivity{Levels{chips}, dims, wrap}),
              {{0, steps, 1.0 / chips, 0, steps}});
    }
}

TEST_CASE("levels of one group are none, ranks are the product of all, a phase that moves nothing is no phase", "[schedule]") {
  CHECK(Levels{8, 1}.count == 1);
  CHECK(Levels{8, 2}.count == 2);
  Levels deep{2, 3};
  deep.count = 4;
  deep.sizes[2] = 5;
  deep.sizes[3] = 7;
  CHECK(deep.ranks() == 210);
  Schedule nothing{Algorithm::ring, Collective::all_reduce, flat};
  nothing.add({.level = 0, .steps = 0, .bytes = 0, .message = 1});
  CHECK(nothing.empty());
  nothing.add({.level = 0, .steps = 0, .bytes = 1, .message = 1});
  nothing.add({.level = 0, .steps = 1, .bytes = 0, .message = 1});
  CHECK(nothing.phases.size() == 2);
}
