#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"
#include "support/levels.hpp"

#include <vector>

using namespace fabricost::core;

namespace {

/// Steps until all ranks have the data of one, if each rank that has it sends to one that has not; fewer domains first.
int doublings(int size) {
  int steps = 0;
  for (int have = 1; have < size; have *= 2) ++steps;
  return steps;
}

}  // namespace

TEST_CASE("a binomial tree doubles those who have the data in every step", "[schedule]") {
  for (const Collective op : {Collective::broadcast, Collective::reduce})
    for (const std::vector<int>& sizes : {std::vector<int>{2}, {3}, {8}, {9}, {72}, {8192}, {8, 4}, {5, 3}}) {
      INFO(name(op) << " " << support::text(sizes));
      const Levels levels = support::levels_of_sizes(sizes);
      const Schedule schedule = schedule_of(Algorithm{place_of<algorithms::Binomial>}, op, levels);
      for (std::size_t level = 0; level < sizes.size(); ++level) {
        CHECK(schedule.steps(static_cast<int>(level)) == doublings(sizes[level]));
        CHECK(schedule.bytes(static_cast<int>(level)) == doublings(sizes[level]));  // the root sends all of S each time
      }
    }
}

TEST_CASE("a binomial tree runs broadcast and reduce, wherever ranks reach others than neighbours", "[schedule]") {
  using algorithms::Binomial;
  for (const Collective op : {Collective::broadcast, Collective::reduce}) CHECK(Binomial::not_for(op) == nullptr);
  for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::all_to_all, Collective::send_recv})
    CHECK(Binomial::not_for(op) != nullptr);
  CHECK_FALSE(Binomial::reaches_neighbours);
}
