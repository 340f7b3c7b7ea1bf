// What a step sends at a time, which steps pass on and which combine: by the definition of each algorithm.
#include <fabricost/schedule/exchange.hpp>
#include <fabricost/schedule/halving_doubling.hpp>
#include <fabricost/schedule/hierarchical.hpp>
#include <fabricost/schedule/in_network.hpp>

#include "../catch.hpp"

#include <vector>

using namespace fabricost;

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
  compare(halving_doubling_schedule(Collective::all_reduce, flat, false), {{0, 6, 1.0 / 8, 3, 3}});
  compare(halving_doubling_schedule(Collective::all_gather, flat, false), {{0, 3, 1.0 / 8, 3, 0}});
  compare(halving_doubling_schedule(Collective::reduce_scatter, flat, true), {{0, 3, 1.0 / 8, 3, 3}});
  compare(halving_doubling_schedule(Collective::all_reduce, two, true), {{0, 6, 1.0 / 32, 3, 3}, {1, 4, 1.0 / 32, 2, 2}});
}

TEST_CASE("levels of rings send what the levels below left", "[schedule]") {
  compare(hierarchical_schedule(Collective::all_reduce, two),
          {{0, 7, 1.0 / 8, 0, 7}, {1, 3, 1.0 / 32, 0, 3}, {1, 3, 1.0 / 32, 3, 0}, {0, 7, 1.0 / 8, 7, 0}});
  compare(hierarchical_schedule(Collective::reduce_scatter, flat), {{0, 7, 1.0 / 8, 0, 7}});
  compare(hierarchical_schedule(Collective::all_gather, flat), {{0, 7, 1.0 / 8, 7, 0}});
  compare(hierarchical_schedule(Collective::all_to_all, two), {{0, 1, 1.0 / 8, 0, 0}, {1, 1, 1.0 / 4, 0, 0}});
}

TEST_CASE("exchanges send a block to each partner and combine only where they reduce", "[schedule]") {
  compare(pairwise_schedule(Collective::all_to_all, flat), {{0, 7, 1.0 / 8, 0, 0}});
  compare(pairwise_schedule(Collective::reduce_scatter, flat), {{0, 7, 1.0 / 8, 0, 7}});
  compare(direct_schedule(Collective::reduce_scatter, two), {{0, 0, 1.0 / 32, 0, 7}, {1, 1, 1.0 / 32, 0, 24}});
  compare(direct_schedule(Collective::all_to_all, two), {{0, 0, 1.0 / 32, 0, 0}, {1, 1, 1.0 / 32, 0, 0}});
}

TEST_CASE("switches that reduce get a rank's part at a time", "[schedule]") {
  compare(nvls_schedule(Collective::all_reduce, flat), {{0, 2, 1.0 / 8, 0, 1}});
  compare(nvls_schedule(Collective::all_gather, flat), {{0, 1, 1.0 / 8, 0, 0}});
  compare(nvls_schedule(Collective::reduce_scatter, flat), {{0, 1, 1.0 / 8, 0, 1}});
  compare(nvls_tree_schedule(Collective::all_reduce, two), {{0, 2, 1.0 / 8, 0, 1}, {1, 4, 1.0 / 8, 2, 2}});
  compare(collnet_schedule(Algorithm::collnet_direct, Collective::all_reduce, two), {{0, 2, 1.0 / 8, 0, 1}, {1, 2, 1.0 / 8, 0, 1}});
  compare(collnet_schedule(Algorithm::collnet_chain, Collective::all_reduce, two), {{0, 14, 1, 0, 1}, {1, 2, 1.0 / 8, 0, 1}});
}
