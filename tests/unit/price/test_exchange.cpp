// Exchanges of all ranks with all inside a domain, the form written out again, and the term that binds where.
#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/price/exchange.hpp>

#include "catch.hpp"
#include "support/fabrics.hpp"

using namespace fabricost::plan;

namespace {

constexpr double kib = 1024;

}  // namespace

TEST_CASE("an exchange in LL costs the launch, a hop for each doubling beyond a pair, and a ramp or its channels' bytes", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  const auto& x = c.all_to_all;
  for (const int n : {2, 4, 8, 16}) {
    INFO(n << " ranks");
    Fabric f = support::fabric(n);
    f.channels = {16, 1};
    const Line line = price_exchange(schedule_of(Algorithm::pairwise, Collective::all_to_all, Levels{n}), f, c, Protocol::ll);
    const double start = x.base + (std::log2(n) - 1) * x.hop;
    CHECK(line(0) == Approx(start));
    // all 32 channels carry one part each, n / 32 of a peer's 16 kib
    const double channel = x.ll_share * c.ll.channel_share * 400e9 / 32;
    CHECK(line(n * 16 * kib) == Approx(start + norm(x.ll_ramp, n / 32.0 * 16 * kib / channel, c.form.exchange_peer_overlap)));
  }
}

// 32 and 64 GB200 with 128 KiB to 512 KiB a peer take 12 us and 4.7 GB/s a channel: neither the ramp nor the peers stand beside the bytes
TEST_CASE("the ramp of an exchange in LL hides behind its bytes", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  for (const int n : {8, 32}) {
    INFO(n << " ranks");
    Fabric f = support::fabric(n);
    const Line line = price_exchange(schedule_of(Algorithm::pairwise, Collective::all_to_all, Levels{n}), f, c, Protocol::ll);
    const double start = c.all_to_all.base + (std::log2(n) - 1) * c.all_to_all.hop;
    const double volume = line(n * 512 * kib) - start;
    CHECK(volume > 8 * c.all_to_all.ll_ramp);
    CHECK(line(n * 256 * kib) - start == Approx(volume / 2).epsilon(0.01));
  }
}

TEST_CASE("beyond some two dozen ranks an exchange takes at least what its peers do, however little it sends", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  const auto empty = [&](int n) {
    return price_exchange(schedule_of(Algorithm::pairwise, Collective::all_to_all, Levels{n}), support::fabric(n), c, Protocol::ll)(0);
  };
  CHECK(empty(16) == Approx(c.all_to_all.base + 3 * c.all_to_all.hop));
  for (const int n : {64, 72}) CHECK(empty(n) == Approx(c.form.exchange_peer * std::pow(n, 1.5)));
  for (const int n : {144, 576, 8192}) CHECK(empty(n) == Approx(empty(72) * n / 72));  // beyond what was measured each adds the same
}

// 32 channels are dealt to the ranks: 18, 36 and 72 leave some idle or some with one message more, until messages are cut finer
TEST_CASE("counts that are no power of two exchange at a lower rate until messages of tens of MiB", "[price]") {
  ScaleUpConstants c = fabricost::core::scale_up_prior;
  c.all_to_all.channel = c.form.exchange_chunk / (c.all_to_all.rate_share * 400e9 / 32);  // 32 of them are as fast as the links
  const auto rate = [&](int n, double each) {  // of bytes a peer
    const Line line = price_exchange(schedule_of(Algorithm::pairwise, Collective::all_to_all, Levels{n}), support::fabric(n), c,
                                     Protocol::simple);
    const double S = n * each, copies = c.all_to_all.self_copy / n + 1 - 1.0 / n;
    return copies * S / (line.rate * S + line.jumped(S)) / (c.all_to_all.rate_share * 400e9);
  };
  constexpr double MiB = 1024 * kib;
  CHECK(rate(18, 4 * MiB) == Approx(18.0 / 32).epsilon(0.03));
  CHECK(rate(18, 24 * MiB) == Approx(18.0 / 32).epsilon(0.03));    // 36 halves over 32 channels
  CHECK(rate(18, 48 * MiB) == Approx(72.0 / 96).epsilon(0.03));    // 72 quarters: three on some
  CHECK(rate(36, 4 * MiB) == Approx(36.0 / 64).epsilon(0.03));
  CHECK(rate(36, 24 * MiB) == Approx(72.0 / 96).epsilon(0.03));
  CHECK(rate(72, 4 * MiB) == Approx(72.0 / 96).epsilon(0.03));
  CHECK(rate(72, 24 * MiB) == Approx(144.0 / 160).epsilon(0.03));
  for (const int n : {8, 16, 32, 64})
    for (const double each : {1 * MiB, 24 * MiB, 1024 * MiB}) CHECK(rate(n, each) >= Approx(1));
  for (const int n : {18, 36, 72}) CHECK(rate(n, 1024 * MiB) >= Approx(1));
}

// H100, NCCL 2.29.2, sendrecv_perf on 8 GPUs: 79 to 82 GB/s up to 64 MiB, 163 at 128, 299 at 256, then the links' 360
TEST_CASE("a message to one peer gets twice the channels whenever each has more than 16 MiB", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  Fabric f = support::fabric(2);
  const auto line_of = [&](int communicator) {
    f.communicator = communicator;
    return price_exchange(send_recv_schedule(f.levels, 0), f, c, Protocol::simple);
  };
  const auto seconds_a_byte = [&](int communicator, double S) {
    const Line line = line_of(communicator);
    return (line.rate * S + line.jumped(S)) / S;
  };
  constexpr double MiB = 1024 * kib;
  const double channel = c.form.exchange_chunk / c.all_to_all.channel, links = c.all_to_all.rate_share * 400e9;
  for (const auto& [communicator, first] : {std::pair{8, 4.0}, {16, 2.0}, {32, 1.0}, {72, 1.0}}) {
    INFO("communicator of " << communicator);
    for (double p = first; p <= 32; p *= 2) {
      CHECK(1 / seconds_a_byte(communicator, 16 * p * MiB) == Approx(std::min(links, p * channel)));
      // the double number carries more at once, but no size between the two was run: the time is held until they are as full
      const double more = std::min(links, std::min(32.0, 2 * p) * channel), S = 16 * p * MiB + 1;
      CHECK(S * seconds_a_byte(communicator, S) == Approx(16 * p * MiB * seconds_a_byte(communicator, 16 * p * MiB)));
      CHECK(1 / seconds_a_byte(communicator, 32 * p * MiB) == Approx(more));
      const Line line = line_of(communicator);
      CHECK(line.with_volume(S, S / more) == Approx(line.alternative_seconds(S, line(S))));
    }
  }
}

TEST_CASE("what a tapered second stage leaves slows an exchange of all and no single message", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  Fabric f = support::fabric(8);
  const auto rate = [&](Collective op) {
    const Schedule s = op == Collective::send_recv ? send_recv_schedule(f.levels, 0) : schedule_of(Algorithm::pairwise, op, f.levels);
    return price_exchange(s, f, c, Protocol::simple).rate;
  };
  const double alone = rate(Collective::send_recv), all = rate(Collective::all_to_all);
  CHECK(alone == Approx(1 / std::min(c.all_to_all.rate_share * 400e9, 4 * c.form.exchange_chunk / c.all_to_all.channel)));  // 4 of 8 ranks
  CHECK(all == Approx((7.0 / 8 + c.all_to_all.self_copy / 8) / (c.all_to_all.rate_share * 400e9)));
  f.inner_exchanges = 0.5;
  CHECK(rate(Collective::send_recv) == Approx(alone));
  CHECK(rate(Collective::all_to_all) == Approx(2 * all));
}

TEST_CASE("a transfer is the kernels' exactly while the channels of its messages carry less than the links", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  Fabric f = support::fabric(2);
  for (const int communicator : {2, 8, 16, 32, 72})
    for (const double links : {400e9, 4000e9}) {
      f.communicator = communicator;
      f.inner_rate = f.full_rate = links;
      const Line line = price_exchange(send_recv_schedule(f.levels, 0), f, c, Protocol::simple);
      for (double power = 10; power < 33; power += 0.25)
        for (const double by : {0.0, 1.0}) {
          const double S = std::floor(std::exp2(power)) + by;
          // channels of faster links are faster with them
          const bool slower = links < 1e12 && line.rate + line.jumped(S) / S > (1 + 1e-12) / (c.all_to_all.rate_share * links);
          CAPTURE(communicator, links, S);
          CHECK(line.transfer(S) == (slower ? TermKind::kernels : TermKind::wire));
        }
    }
  f = support::fabric(8);  // every channel carries a message
  const Line all = price_exchange(schedule_of(Algorithm::pairwise, Collective::all_to_all, f), f, c, Protocol::simple);
  for (const double S : {1e3, 1e6, 1e9}) CHECK(all.transfer(S) == TermKind::wire);
}
