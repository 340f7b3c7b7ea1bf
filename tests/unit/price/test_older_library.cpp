// Prices of NCCL before 2.19 inside a domain: its forms written out again with the constants of a generation and of its tables.
#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/price/exchange.hpp>
#include <fabricost/price/price.hpp>
#include <fabricost/price/ring.hpp>

#include "catch.hpp"
#include "support/fabrics.hpp"

using namespace fabricost::core;

namespace {

constexpr double KiB = 1024, MiB = 1024 * KiB;
constexpr int channels = 24;

Fabric older(int ranks) {
  Fabric f = support::fabric(ranks);
  f.tuner = tuner_of_version(2, 12);
  return f;
}
Line ring(Collective op, const Fabric& f, Protocol protocol) {
  return price_ring(schedule_of(Algorithm::ring, op, f), f, fabricost::core::scale_up_prior, protocol, channels, false);
}

}  // namespace

TEST_CASE("before 2.19 every channel that an LL ring uses takes a time of its own, and forwarding takes longer", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  const TunerTables& k = tables_of(tuner_of_version(2, 12));
  REQUIRE(k.channel_start > 0);
  for (const int n : {2, 5, 8})
    for (const double used : {0.0, 0.5, 1.0, 6.0, 24.0}) {  // channels, of 4 KiB for each rank
      INFO(n << " ranks, " << used << " channels");
      const double size = used * 4 * KiB * n, F = std::min(1.0, used);
      const double start = k.launch_share * c.launch + used * k.channel_start;
      CHECK(ring(Collective::all_gather, older(n), Protocol::ll)(size) ==
            Approx(start + (n - 1) * c.ll.hop + F * F * (c.ll.full_threads + k.ll_forward_share * c.ll.forward * (n - 1))));
    }
}

TEST_CASE("before 2.19 all channels of LL128 and Simple rings start one by one, and Simple makes no local copies", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  const TunerTables& k = tables_of(tuner_of_version(2, 12));
  const double start = channels * k.channel_start, n = 8, rate = c.simple.rate_share * support::inside_rate;
  for (const double size : {2 * MiB, 64 * MiB}) {
    const double volume = (7 + c.ll128.drain) / n * size / (c.ll128.rate_share * rate);
    CHECK(ring(Collective::all_gather, older(8), Protocol::ll128)(size) ==
          Approx(k.launch_share * c.launch + start + 7 * c.ll.hop + norm(c.ll128.floor, volume, c.ll128.overlap)));
    const double wire = 7 / n * size / rate, latency = start + c.simple.floor + 7 * c.simple.hop;
    CHECK(ring(Collective::all_gather, older(8), Protocol::simple)(size) ==
          Approx(k.launch_share * c.launch + norm(latency, wire, c.simple.overlap)));
  }
}

TEST_CASE("before 2.19 a peer's messages start a channel for every 64 KiB, up to 32 of them", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  const auto& x = c.all_to_all;
  const TunerTables& k = tables_of(tuner_of_version(2, 12));
  const Fabric f = older(4);
  const Line line = price_exchange(schedule_of(Algorithm::pairwise, Collective::all_to_all, f), f, c, Protocol::simple);
  for (const double started : {1.0, 8.0, 32.0, 100.0}) {
    const double each = started * 64 * KiB, at_most = std::min(32.0, started);
    const double latency = x.floor + at_most * k.exchange_channel_start;
    const double wire = 3 * each / (x.rate_share * support::inside_rate);
    INFO(started << " channels");
    CHECK(line(4 * each) ==
          Approx(k.exchange_base_share * x.base + x.hop + norm(latency, wire, std::max(x.overlap, k.exchange_overlap))));
  }
}

TEST_CASE("before 2.19 an LL exchange takes a ramp to 16 KiB a peer, or on slow links the time of its bytes and as many flags", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  const auto& x = c.all_to_all;
  const TunerTables& k = tables_of(tuner_of_version(2, 12));
  for (const int n : {2, 4, 8})
    for (const double rate : {support::inside_rate, 1e9}) {
      Fabric f = older(n);
      f.inner_rate = rate;
      const Line line = price_exchange(schedule_of(Algorithm::pairwise, Collective::all_to_all, f), f, c, Protocol::ll);
      const double start = k.exchange_base_share * x.base + (std::log2(n) - 1) * x.hop;
      for (const double share : {0.0, 0.25, 1.0}) {  // of the limit of LL
        INFO(n << " ranks, " << rate << " bytes per second, " << share << " of the limit");
        const double each = share * k.exchange_ll_limit, flagged = 2 * (n - 1) * each / (x.rate_share * rate);
        CHECK(line(n * each) == Approx(start + std::max(share * x.ll_ramp, flagged)));
      }
    }
}

TEST_CASE("from 2.19 to 2.25 an all_gather takes longer, but for the bytes of LL128 and Simple; an all_reduce does not", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  const Tuner era = tuner_of_version(2, 23);
  const double share = tables_of(era).gather_share, n = 8;
  REQUIRE(share > 1);
  Fabric now = support::fabric(8), then = now;
  then.tuner = era;
  now.tuner = tuner_of_version(2, 28);
  for (const double size : {1 * KiB, 64 * KiB, 1 * MiB}) {
    for (const Collective op : {Collective::all_gather, Collective::reduce_scatter})
      CHECK(ring(op, then, Protocol::ll)(size) == Approx(share * ring(op, now, Protocol::ll)(size)));
    CHECK(ring(Collective::all_reduce, then, Protocol::ll)(size) == ring(Collective::all_reduce, now, Protocol::ll)(size));
  }
  const double size = 4 * MiB, rate = c.simple.rate_share * support::inside_rate;
  const double volume = (7 + c.ll128.drain) / n * size / (c.ll128.rate_share * rate);
  CHECK(ring(Collective::all_gather, then, Protocol::ll128)(size) ==
        Approx(share * (c.launch + 7 * c.ll.hop) + norm(share * c.ll128.floor, volume, c.ll128.overlap)));
  const double large = 8192 * MiB;
  CHECK(ring(Collective::all_gather, then, Protocol::simple)(large) ==
        Approx(ring(Collective::all_gather, now, Protocol::simple)(large)).epsilon(0.001));
}

TEST_CASE("back to back a rank waits for one step of a broadcast or reduction, and for all of anything else", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  const auto saved = [&](Collective op, Protocol protocol) {
    Fabric f = support::fabric(8);
    const double alone = ring(op, f, protocol)(0);
    f.back_to_back = true;
    return alone - ring(op, f, protocol)(0);
  };
  for (const Collective op : {Collective::broadcast, Collective::reduce}) {
    CHECK(saved(op, Protocol::ll) == Approx(6 * c.ll.hop));
    CHECK(saved(op, Protocol::ll128) == Approx(6 * c.ll.hop));
    CHECK(saved(op, Protocol::simple) == Approx(6 * c.simple.hop * (op == Collective::reduce ? c.simple.reduce_latency : 1)));
  }
  for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter})
    CHECK(saved(op, Protocol::ll) == 0);
}
