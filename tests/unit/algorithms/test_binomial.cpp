#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"
#include "support/levels.hpp"

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

TEST_CASE("a binomial broadcast reaches every rank once, a reduce hears every rank once", "[schedule]") {
  for (const std::vector<int>& sizes : {std::vector<int>{2}, {7}, {16}, {3, 5}, {8, 4}}) {
    const Levels levels = support::levels_of_sizes(sizes);
    const int n = static_cast<int>(levels.ranks());
    for (const Collective op : {Collective::broadcast, Collective::reduce}) {
      INFO(name(op) << " " << support::text(sizes));
      std::vector<int> got(static_cast<std::size_t>(n), 0), sent = got;
      std::vector<bool> has(static_cast<std::size_t>(n), op == Collective::reduce);
      has[0] = true;
      for (int step = 0; step < algorithms::Binomial::steps(op, levels); ++step)
        for (int rank = n - 1; rank >= 0; --rank) {
          const algorithms::Message m = algorithms::Binomial::partner(op, levels, step, rank);
          if (m.to < 0) continue;
          CHECK(has[static_cast<std::size_t>(rank)]);
          ++got[static_cast<std::size_t>(m.to)];
          ++sent[static_cast<std::size_t>(rank)];
          has[static_cast<std::size_t>(m.to)] = true;
          if (op == Collective::reduce) has[static_cast<std::size_t>(rank)] = false;  // has passed on its sum
        }
      for (int rank = 1; rank < n; ++rank) CHECK((op == Collective::reduce ? sent : got)[static_cast<std::size_t>(rank)] == 1);
      CHECK((op == Collective::reduce ? sent : got)[0] == 0);
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
