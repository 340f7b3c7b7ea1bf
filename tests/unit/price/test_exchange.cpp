// Everybody to everybody inside a domain, its form written out again, and what binds where.
#include <fabricost/algorithms/point_to_point.hpp>
#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/price/exchange.hpp>

#include "catch.hpp"
#include "support/fabrics.hpp"

using namespace fabricost;

namespace {

constexpr double KiB = 1024;

}  // namespace

TEST_CASE("an exchange in LL costs the launch, a hop for each doubling beyond a pair, and a ramp to 16 KiB a peer", "[price]") {
  const ScaleUpConstants c = detail::scale_up_prior;
  const auto& x = c.all_to_all;
  for (const int n : {2, 4, 8, 72}) {
    INFO(n << " ranks");
    const Line line =
        price_exchange(schedule_of(Algorithm::pairwise, Collective::all_to_all, Levels{n}), support::fabric(n), c, Protocol::ll);
    const double start = x.base + (std::log2(n) - 1) * x.hop;
    CHECK(line(0) == Approx(start));
    // at 16 KiB for every peer: the fitted ramp, or what the wires take at half the Simple rate where that is more
    const double wires = 2 * (n - 1) * 16 * KiB / (x.rate_share * 400e9);
    CHECK(line(n * 16 * KiB) == Approx(start + std::max(x.ll_ramp, wires)));
    CHECK((wires > x.ll_ramp) == (n == 72));
  }
}

TEST_CASE("what a tapered second stage leaves slows an exchange of all and no single message", "[price]") {
  const ScaleUpConstants c = detail::scale_up_prior;
  Fabric f = support::fabric(8);
  const auto rate = [&](Collective op) {
    const Schedule s = op == Collective::send_recv ? send_recv_schedule(f.levels, 0) : schedule_of(Algorithm::pairwise, op, f.levels);
    return price_exchange(s, f, c, Protocol::simple).rate;
  };
  const double alone = rate(Collective::send_recv), all = rate(Collective::all_to_all);
  CHECK(alone == Approx(1 / (c.all_to_all.rate_share * 400e9)));
  CHECK(all == Approx((7.0 / 8 + c.all_to_all.self_copy / 8) / (c.all_to_all.rate_share * 400e9)));
  f.inner_exchanges = 0.5;
  CHECK(rate(Collective::send_recv) == Approx(alone));
  CHECK(rate(Collective::all_to_all) == Approx(2 * all));
}
