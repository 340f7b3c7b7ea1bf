// The least time of a byte: what crosses the links at their full rate, of the library's algorithms and of other kernels.
#include <fabricost/price/copy_engine.hpp>
#include <fabricost/price/custom_reduce.hpp>
#include <fabricost/price/price.hpp>
#include <fabricost/price/put.hpp>

#include "catch.hpp"
#include "support/fabrics.hpp"

using namespace fabricost::core;

TEST_CASE("kernels beside the library's are promised no more than their bytes over the links", "[price]") {
  const Constants c;
  Fabric f = support::fabric(8);
  f.full_rate = 500e9;  // with the whole domain active
  const auto least = [&](CollectiveKernel kernel) { return price_custom(kernel, f, c).min; };
  CHECK(least(CollectiveKernel::push_one_shot) == Approx(7 / 400e9));
  CHECK(least(CollectiveKernel::push_two_shot) == Approx(14.0 / 8 / 400e9));
  CHECK(least(CollectiveKernel::multicast) == Approx((1 + 1.0 / 8) / 500e9));
  CHECK(least(CollectiveKernel::scattered_multicast) == Approx((7.0 / 8 + 1) / 500e9));
  for (const bool multicast : {false, true}) CHECK(price_copy_engine(f, multicast, false).min == Approx(7.0 / 8 / 500e9));
  for (const int gpus : {1, 8}) {  // a message leaves through its own GPU's NICs
    const Line put = price_put(support::fabric(gpus, 2), true, 1, true);
    CHECK(put.min == Approx(1 / 50e9));
    CHECK(put.rate == Approx(1 / (prior::ways::put_share * 50e9)));
  }
}

TEST_CASE("an algorithm is promised no more than the slower of its tiers carries, each at what it leaves an exchange", "[price]") {
  const auto least = [](Algorithm a, Collective op, const Fabric& f) { return min_per_byte(schedule_of(a, op, f), f); };
  Fabric server = support::fabric(8), nodes = support::fabric(8, 2);
  server.inner_exchanges = nodes.inner_exchanges = 0.5;
  CHECK(least(Algorithm::ring, Collective::all_gather, server) == Approx(7.0 / 8 / 400e9));
  CHECK(least(Algorithm::direct, Collective::all_to_all, server) == Approx(7.0 / 8 / 200e9));
  CHECK(least(Algorithm::direct, Collective::all_to_all, nodes) == Approx(8 * 8.0 / 16 / 400e9));
  nodes.outer_rate = 1e15;
  CHECK(least(Algorithm::direct, Collective::all_to_all, nodes) == Approx(7.0 / 16 / 200e9));
  nodes.outer_rate = 0;  // not known: it bounds nothing
  CHECK(least(Algorithm::direct, Collective::all_to_all, nodes) == Approx(7.0 / 16 / 200e9));
}

TEST_CASE("kernels that read their peers take AMD's smaller rounds on its GPUs alone", "[price]") {
  using G = Generation;
  for (const auto& [generation, blocks] : {std::pair{G::ampere, 36}, {G::rubin, 36}, {G::cdna2, 16}, {G::cdna5, 16}, {G::tpu, 36}, {G::other, 36}}) {
    Fabric f = support::fabric(8);
    f.generation = generation;
    INFO(name(generation));
    CHECK(price_custom(CollectiveKernel::pull_one_shot, f, Constants{}).chunk == blocks * 512 * 16);
  }
}
