// In-switch reduction beyond one server, where the floor grows with the rack, and the bound that no link lets it pass.
#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/price/in_switch.hpp>

#include "catch.hpp"
#include "support/fabrics.hpp"

using namespace fabricost;

namespace {

constexpr double full = support::inside_rate;

Fabric rack(int ranks) {
  Fabric f = support::fabric(ranks);
  f.in_switch = true;
  return f;
}

}  // namespace

TEST_CASE("a rack starts like a server and grows towards the floor of its size over 64 MiB", "[price]") {
  const ScaleUpConstants c = detail::scale_up_prior;
  const TransportConstants t = detail::transport_prior;
  for (const int n : {16, 36, 72}) {
    INFO(n << " ranks");
    const Line line = price_in_switch(schedule_of(Algorithm::nvls, Collective::all_reduce, Levels{n}), rack(n), c, t);
    CHECK(line(0) == Approx(c.launch + c.nvls.floor));
    const double floor = 3.9 * std::pow(n / 8.0, 0.74) * t.nvls_floor;
    const double volume = 2.0 * (n - 1) / n / in_switch_rate(c, rack(n));
    CHECK(line(1e12) == Approx(floor + volume * 1e12));
    const double at = 64.0 * 1024 * 1024;
    CHECK(line(at) == Approx(c.launch + c.nvls.floor + (floor - c.launch - c.nvls.floor) * (1 - std::exp(-1.0)) + volume * at));
  }
  CHECK(rack_floor_factor(8, c.form) == 1);
  CHECK(rack_floor_factor(16, c.form) == Approx(3.9 * std::pow(2.0, 0.74)));
}

TEST_CASE("latency beyond the fitted one is paid at both steps, and never takes the floor away", "[price]") {
  const ScaleUpConstants c = detail::scale_up_prior;
  const TransportConstants t = detail::transport_prior;
  Fabric f = rack(8);
  const Schedule s = schedule_of(Algorithm::nvls, Collective::all_reduce, f.levels);
  f.inner_latency = 1e-6;
  CHECK(price_in_switch(s, f, c, t)(0) == Approx(c.launch + c.nvls.floor + s.steps() * 1e-6));
  f.inner_latency = -1;
  CHECK(price_in_switch(s, f, c, t)(0) == Approx(c.launch + 0.1 * c.nvls.floor));
}

TEST_CASE("in-switch reduction never runs above what the links carry, and in a rack a tenth faster than in a server", "[price]") {
  ScaleUpConstants c = detail::scale_up_prior;
  c.nvls.rate_share = 0.5;
  CHECK(in_switch_rate(c, rack(8)) == Approx(0.5 * full));
  CHECK(in_switch_rate(c, rack(9)) == Approx(0.55 * full));
  c.nvls.rate_share = 2;
  for (const int n : {2, 8, 72}) {
    CHECK(in_switch_rate(c, rack(n)) == Approx(2.0 * (n - 1) / (n + 1) * full));
    CHECK(in_switch_rate(c, rack(n), Collective::all_gather) == Approx((n - 1.0) / n * full));
  }
}
