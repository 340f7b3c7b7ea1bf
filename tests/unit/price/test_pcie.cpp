// GPUs that meet over PCIe: the forms written out again, for a pair, one socket and two.
#include <fabricost/price/price.hpp>

#include "catch.hpp"
#include "support/fitted.hpp"

using namespace fabricost::core;

namespace {

Fabric box(int ranks, bool peer_to_peer = false) {
  Fabric f;
  f.levels = Levels{ranks};
  f.over_pcie = true;
  f.library = Library::nccl;
  f.pcie_rate = 25e9;
  f.per_socket = 4;
  f.peer_to_peer = peer_to_peer;
  return f;
}
/// Constants that tell the rates above apart.
PcieConstants constants() {
  PcieConstants c = fabricost::core::pcie_prior;
  c.simple_share = {0.8, 0.7, 0.3};
  c.ll_share = {0.4, 0.35, 0.15};
  c.reduce_scatter_rate = 1.1;
  c.reduce_scatter_rate_two_sockets = 1.3;
  c.exchange_pair_rate = 0.9;
  c.exchange_two_sockets_rate = 0.6;
  c.warm_rate = 1.28;
  return c;
}
constexpr double sizes[] = {0, 1e3, 2e5, 1.5e6, 3e8};

}  // namespace

TEST_CASE("the rate over PCIe is a pair's, a socket's or two sockets'", "[price]") {
  const PcieConstants c = constants();
  for (const auto& [ranks, share] : {std::pair{2, 0.8}, {3, 0.7}, {4, 0.7}, {5, 0.3}, {8, 0.3}})
    for (const bool direct : {false, true}) {
      INFO(ranks << (direct ? " directly" : ""));
      CHECK(pcie_ring_rate(box(ranks, direct), c) == Approx(share * 25e9));
      const double small_stores = direct && ranks > 4 ? c.form.peers_ll_share : 1;
      CHECK(pcie_ll_rate(box(ranks, direct), c) == Approx(small_stores * share / 2 * 25e9));
    }
}

TEST_CASE("a board whose rate is stated carries that, LL in the same proportion", "[price]") {
  PcieConstants c = constants();
  c.ll_share = {0.4, 0.14, 0.03};
  for (const auto& [ranks, share] : {std::pair{2, 0.5}, {4, 0.2}, {8, 0.1}}) {
    Fabric f = box(ranks);
    f.pcie_carried = 11e9;
    CHECK(pcie_ring_rate(f, c) == 11e9);
    CHECK(pcie_ll_rate(f, c) == Approx(share * 11e9));
    f.pcie_exchanged = 13e9;
    Constants all;
    all.pcie = c;
    const auto slope = [&](Algorithm algorithm, Collective op) {  // seconds per byte of large messages
      const Line line = price(schedule_of(algorithm, op, f), f, all, Protocol::simple, false);
      return (line(2e12) - line(1e12)) / 1e12;
    };
    CHECK(slope(Algorithm::direct, Collective::all_to_all) == Approx((ranks - 1 + c.drain) / ranks / 13e9).epsilon(1e-3));
    CHECK(slope(Algorithm::ring, Collective::all_gather) == Approx((ranks - 1 + c.drain) / ranks / 11e9).epsilon(1e-3));
  }
}

TEST_CASE("operations use that rate by what they do to it", "[price]") {
  const PcieConstants c = constants();
  for (const std::size_t reach : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    INFO("reach " << reach);
    const double scatter = reach == 2 ? 1.3 : 1.1;
    CHECK(pcie_rate_factor(c, Collective::reduce_scatter, reach) == scatter);
    CHECK(pcie_rate_factor(c, Collective::reduce, reach) == scatter);
    CHECK(pcie_rate_factor(c, Collective::all_reduce, reach) == Approx(2 / (1 + 1 / scatter)));
    CHECK(pcie_rate_factor(c, Collective::all_gather, reach) == 1);
    CHECK(pcie_rate_factor(c, Collective::broadcast, reach) == 1);
    const double exchange = reach == 0 ? 0.9 : reach == 2 ? 0.6 : 1;
    CHECK(pcie_rate_factor(c, Collective::all_to_all, reach) == exchange);
    CHECK(pcie_rate_factor(c, Collective::send_recv, reach) == exchange);
  }
}

TEST_CASE("rings over PCIe follow the fitted forms", "[price]") {
  const PcieConstants c = constants();
  Constants all;
  all.pcie = c;
  for (const int n : {2, 4, 8})
    for (const bool direct : {false, true})
      for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
        const Fabric f = box(n, direct);
        const double k = (op == Collective::all_reduce ? 2 : 1) * (n - 1.0);
        const double per_byte = (k + c.drain) / n;
        const double faster = op == Collective::all_reduce ? c.ll_all_reduce_rate : 1;
        const std::size_t reach = n == 2 ? 0 : n == 4 ? 1 : 2;
        const double ll = (direct && n == 8 ? c.form.peers_ll_share : 1) * c.ll_share[reach] * 25e9 * faster;
        const double simple = pcie_rate_factor(c, op, reach) * c.simple_share[reach] * 25e9;
        const bool warm = n > 2;
        const Schedule ring = schedule_of(Algorithm::ring, op, f);
        const Line low = price(ring, f, all, Protocol::ll, false), high = price(ring, f, all, Protocol::simple, false);
        for (const double s : sizes) {
          INFO(name(op) << " " << n << (direct ? " directly " : " ") << s << " B");
          CHECK(low(s) == Approx(fitted::norm(c.ll_overlap, c.launch + c.ll_hop * k, per_byte * s / ll)));
          const double warm_bytes = warm ? std::min(s, c.warm_bytes) : 0;
          const double volume = per_byte * (s - warm_bytes + warm_bytes / c.warm_rate) / simple;
          CHECK(high(s) == Approx(c.launch + fitted::norm(c.simple_overlap, c.simple_floor + c.simple_hop * k, volume)));
        }
      }
}

TEST_CASE("exchanges over PCIe follow the fitted forms", "[price]") {
  const PcieConstants c = constants();
  Constants all;
  all.pcie = c;
  for (const int n : {2, 4, 8}) {
    const Fabric f = box(n);
    const Schedule direct = schedule_of(Algorithm::direct, Collective::all_to_all, f);
    const Line low = price(direct, f, all, Protocol::ll, false), high = price(direct, f, all, Protocol::simple, false);
    const double base = c.exchange_base + (std::log2(n) - 1) * c.exchange_hop;
    const double per_byte = (n - 1 + c.drain) / n;
    for (const double s : sizes) {
      INFO(n << " ranks " << s << " B");
      const std::size_t reach = n == 2 ? 0 : n == 4 ? 1 : 2;
      const double ll = c.exchange_ll_share * c.ll_share[reach] * 25e9;
      CHECK(low(s) == Approx(fitted::norm(c.ll_overlap, base, per_byte * s / ll)));
      const double simple = pcie_rate_factor(c, Collective::all_to_all, reach) * c.simple_share[reach] * 25e9;
      CHECK(high(s) == Approx(base + fitted::norm(c.simple_overlap, c.exchange_floor, per_byte * s / simple)));
    }
  }
}

TEST_CASE("what links that GPUs share leave an exchange of all slows nothing else", "[price]") {
  Constants all;
  all.pcie = constants();
  Fabric f = box(4);
  for (const Protocol protocol : {Protocol::ll, Protocol::simple})
    for (const Collective op : {Collective::all_to_all, Collective::send_recv, Collective::all_gather}) {
      const Algorithm algorithm = op == Collective::all_gather ? Algorithm::ring : Algorithm::direct;
      const auto rate = [&](double left) {
        f.inner_exchanges = left;
        return 1 / price(schedule_of(algorithm, op, f), f, all, protocol, false).rate_parts[0].each;
      };
      INFO(name(op) << " " << name(protocol));
      CHECK(rate(0.1) == Approx(op == Collective::all_to_all ? 0.1 * 25e9 : rate(1)));
    }
}
