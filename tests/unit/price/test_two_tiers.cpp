// Two tiers with equal constants are one tier.
#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/price/generic.hpp>

#include "catch.hpp"
#include "support/levels.hpp"

using namespace fabricost::core;

namespace {

constexpr double launch = 5e-6, floor_ = 8e-6, hop = 1.5e-6, rate = 40e9;

Line priced(const Schedule& s, const LevelCost& inner, const LevelCost& outer, double overlap) {
  return price_phases(s, {inner, outer}, launch, floor_, overlap);
}

}  // namespace

TEST_CASE("a ring over two equal tiers is a ring over one", "[price]") {
  for (const auto& sizes : support::splits())
    for (const Collective c :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast, Collective::reduce})
      for (const double overlap : {1.0, 1.3, 4.0}) {
        INFO(name(c) << " " << support::text(sizes) << " q " << overlap);
        const Line split = priced(schedule_of(Algorithm::ring, c, Levels{sizes[0], sizes[1]}), {hop, rate}, {hop, rate}, overlap);
        const Line flat = priced(schedule_of(Algorithm::ring, c, Levels{sizes[0] * sizes[1]}), {hop, rate}, {hop, rate}, overlap);
        for (const double bytes : {0.0, 1e3, 1e6, 1e9, 1e12}) CHECK(split(bytes) == Approx(flat(bytes)).epsilon(1e-12));
      }
}

TEST_CASE("a schedule on one tier does not ask what the other would cost", "[price]") {
  for (const double nothing : {0.0, 1e9}) {
    INFO("outer rate " << nothing);
    const Line line = priced(schedule_of(Algorithm::hierarchical, Collective::all_reduce, Levels{8}), {hop, rate}, {hop, nothing}, 1.3);
    CHECK(std::isfinite(line.rate));
    CHECK(line(1e9) > 1.75 * 1e9 / rate);
  }
}

TEST_CASE("a ring is carried by its slower tier alone", "[price]") {
  const Line line = priced(schedule_of(Algorithm::ring, Collective::all_gather, Levels{8, 4}), {hop, rate}, {hop, rate / 5}, 1);
  CHECK(line.volume(1e9) == Approx(31.0 / 32 * 1e9 / (rate / 5)));
  CHECK(line.wire_level == 1);
  const Line other = priced(schedule_of(Algorithm::ring, Collective::all_gather, Levels{8, 4}), {hop, rate / 5}, {hop, rate}, 1);
  CHECK(other.volume(1e9) == Approx(31.0 / 32 * 1e9 / (rate / 5)));
  CHECK(other.wire_level == 0);
}
