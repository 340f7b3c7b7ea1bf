// Consequences of each step's partners: every algorithm of the registry that states them moves what its phases
// say, and every rank's data reaches every rank. A new algorithm is tested here without a further line.
#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"
#include "support/levels.hpp"

using namespace fabricost::core;

namespace {

/// The messages of all steps at one level, summed up.
struct Counted {
  int steps = 0;      ///< that cross the level, and none further out
  double serial = 0;  ///< sum over steps of the most that leaves any endpoint
  double mean = 0;    ///< that leaves an endpoint in all steps, averaged over them
};

[[nodiscard]] int endpoint(const Levels& levels, int level, int rank) { return rank / static_cast<int>(levels.below(level)); }
/// The outermost level at which two ranks are in different endpoints.
[[nodiscard]] int crossed(const Levels& levels, int a, int b) {
  int out = 0;
  for (int level = 0; level < levels.count; ++level)
    if (endpoint(levels, level, a) != endpoint(levels, level, b)) out = level;
  return out;
}

template <class A>
[[nodiscard]] std::vector<Counted> counted(Collective op, const Levels& levels) {
  const int n = static_cast<int>(levels.ranks());
  std::vector<Counted> out(static_cast<std::size_t>(levels.count));
  for (int step = 0; step < A::steps(op, levels); ++step) {
    std::vector<std::vector<double>> leaving(out.size(), std::vector<double>(static_cast<std::size_t>(n), 0));
    int furthest = -1;
    for (int rank = 0; rank < n; ++rank) {
      const algorithms::Message m = A::partner(op, levels, step, rank);
      if (m.to < 0) continue;
      REQUIRE(m.to < n);
      REQUIRE(m.to != rank);
      REQUIRE(m.bytes > 0);
      const int level = crossed(levels, rank, m.to);
      furthest = std::max(furthest, level);
      leaving[static_cast<std::size_t>(level)][static_cast<std::size_t>(endpoint(levels, level, rank))] += m.bytes;
    }
    REQUIRE(furthest >= 0);
    ++out[static_cast<std::size_t>(furthest)].steps;
    for (std::size_t level = 0; level < out.size(); ++level) {
      out[level].serial += *std::max_element(leaving[level].begin(), leaving[level].end());
      for (const double bytes : leaving[level]) out[level].mean += bytes * levels.below(static_cast<int>(level)) / n;
    }
  }
  return out;
}

/// Every rank has heard of every other, by what was handed on step by step; of a broadcast every rank of the root, of a reduce the root
/// of every rank.
template <class A>
[[nodiscard]] bool everybody_heard(Collective op, const Levels& levels) {
  const auto n = static_cast<std::size_t>(levels.ranks());
  std::vector<std::vector<bool>> heard(n, std::vector<bool>(n, false));
  for (std::size_t rank = 0; rank < n; ++rank) heard[rank][rank] = true;
  for (int step = 0; step < A::steps(op, levels); ++step) {
    const auto before = heard;
    for (std::size_t rank = 0; rank < n; ++rank) {
      const algorithms::Message m = A::partner(op, levels, step, static_cast<int>(rank));
      if (m.to < 0) continue;
      auto& hears = heard[static_cast<std::size_t>(m.to)];
      for (std::size_t of = 0; of < n; ++of) hears[of] = hears[of] || before[rank][of];
    }
  }
  const auto all = [](const auto& of) { return std::find(of.begin(), of.end(), false) == of.end(); };
  if (op == Collective::reduce) return all(heard[0]);
  if (op == Collective::broadcast) return std::all_of(heard.begin(), heard.end(), [](const auto& of) { return of[0]; });
  return std::all_of(heard.begin(), heard.end(), all);
}

template <class A>
[[nodiscard]] bool runs_on(Collective op, const Levels& levels) {
  const Connectivity at{levels};
  return algorithms::why_not<A>({.collective = op, .at = at}) == nullptr;
}

/// Without `check_partners`, whose refusal concerns partners alone: where A runs on two ranks, it also has to accept this many.
template <class A>
[[nodiscard]] bool has_partners_for(Collective op, const Levels& levels) {
  if constexpr (requires { A::check_partners(0); }) return support::is_power_of_two(static_cast<int>(levels.ranks()));
  return runs_on<A>(op, levels) || !runs_on<A>(op, Levels{2});
}

template <class A>
void compare(Collective op, const Levels& levels) {
  if (!has_partners_for<A>(op, levels)) return;
  if (!runs_on<A>(op, levels) && levels.count > 1) return;
  const Connectivity at{levels};
  INFO(A::name << " " << name(op) << " on " << levels.sizes[0] << " x " << levels.sizes[1] << ", which its why_not accepts");
  const Schedule schedule = schedule_of(Algorithm{place_of<A>}, op, at);
  const std::vector<Counted> all = counted<A>(op, levels);
  CHECK(everybody_heard<A>(op, levels));
  for (int level = 0; level < levels.count; ++level) {
    INFO("level " << level);
    const Counted& here = all[static_cast<std::size_t>(level)];
    CHECK(schedule.steps(level) == here.steps);
    // the two are one where all endpoints send alike
    CHECK(schedule.bytes(level) >= here.mean - 1e-12);
    CHECK(schedule.bytes(level) <= here.serial + 1e-12);
  }
}

template <class A>
void compare_all() {
  if constexpr (algorithms::StepByStep<A>) {
    for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                                Collective::reduce, Collective::all_to_all}) {
      if (A::not_for(op) != nullptr) continue;
      for (const int n : support::flat_counts())
        if (n > 1) compare<A>(op, Levels{n});
      for (const auto& sizes : support::splits()) compare<A>(op, support::levels_of_sizes(sizes));
    }
  }
}

template <class... All>
void compare_every(std::type_identity<std::tuple<All...>>) {
  (compare_all<All>(), ...);
}

}  // namespace

TEST_CASE("the partners of every step move what the phases say, to everybody", "[algorithms]") {
  compare_every(std::type_identity<algorithms::All>{});
}
