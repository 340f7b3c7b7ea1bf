// An exchange in two levels, its form written out again: inside first, then along the rails, one message to every partner.
#include <fabricost/price/price.hpp>

#include "catch.hpp"
#include "support/fabrics.hpp"

using namespace fabricost::core;

TEST_CASE("an exchange in two levels costs a step inside, a message to each partner and its bytes on both levels", "[price]") {
  Constants c;
  c.transport.exchange_tiny = 3;
  const auto& t = c.transport;
  for (const int count : {2, 16})
    for (const double exchanges : {1.0, 0.5}) {
      Fabric f = support::fabric(8, count);
      f.all_to_all_taper = exchanges;
      const Schedule s = schedule_of(Algorithm::hierarchical, Collective::all_to_all, f);
      const Line line = price(s, f, c, Protocol::simple, false);
      const double partners = count - 1;
      const double start = c.scale_up.launch + t.exchange_base + c.scale_up.simple.hop;
      const double per_byte = 7.0 / 8 / (c.scale_up.simple.rate_share * 400e9) +
                              8 * partners / count / (t.exchange_share * exchanges * 8 * 50e9);  // all 8 of a node through its NICs
      INFO(count << " nodes, " << exchanges);
      const auto at = [&](double bytes, double each) { CHECK(line(bytes) == Approx(start + partners * each + per_byte * bytes)); };
      at(0, t.exchange_peer * 3);  // tiny
      at(127.0 * count, t.exchange_peer * 3);
      at(200.0 * count, t.exchange_peer);                         // 128 B to 16 KiB a partner
      at(1e6 * count, t.exchange_peer + t.exchange_peer_simple);  // beyond
      CHECK(line.wire_level == 1);
      for (const auto& [each, open] : {std::pair{128, 0}, {150, -1}, {200, 1}, {256, 0}}) {  // from 128 to 256 bytes nobody measured
        const double bytes = each * count, otherwise = line.alternative_seconds(bytes, line(bytes));
        CHECK(otherwise - line(bytes) == Approx(open * partners * 2 * t.exchange_peer).margin(1e-12));
      }
    }
  Fabric slow = support::fabric(8, 16);
  const auto start = [&] {
    return price(schedule_of(Algorithm::hierarchical, Collective::all_to_all, slow), slow, c, Protocol::simple, false)(0);
  };
  const double before = start();
  slow.outer_latency_shift = 16e-6;  // one round of it for all 16 nodes
  CHECK(start() - before == Approx(15e-6));
  Fabric fast = support::fabric(8, 2);
  fast.outer_rate = 1e15;
  CHECK(price(schedule_of(Algorithm::hierarchical, Collective::all_to_all, fast), fast, c, Protocol::simple, false).wire_level == 0);
  fast.inner_exchanges = 0.5;
  const double slope = price(schedule_of(Algorithm::hierarchical, Collective::all_to_all, fast), fast, c, Protocol::simple, false).rate;
  CHECK(slope == Approx(7.0 / 8 / (0.5 * c.scale_up.simple.rate_share * 400e9)).epsilon(1e-3));
}
