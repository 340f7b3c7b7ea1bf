// In-switch collectives: NCCL's rule of the chunks, the cost of ranks, and the bound that links set.
#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/price/custom_reduce.hpp>
#include <fabricost/price/in_switch.hpp>

#include "catch.hpp"
#include "support/fabrics.hpp"

using namespace fabricost::core;

namespace {

constexpr double full = support::inside_rate, KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

Fabric rack(int ranks) {
  Fabric f = support::fabric(ranks);
  f.in_switch = true;
  f.generation = Generation::blackwell;
  return f;
}
Line line_of(int ranks, Collective op = Collective::all_reduce, const ScaleUpConstants& c = fabricost::core::scale_up_prior) {
  return price_in_switch(schedule_of(Algorithm::nvls, op, Levels{ranks}), rack(ranks), c);
}

}  // namespace

TEST_CASE("an in-switch collective starts with a part per rank, of 32 at most", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  for (const int n : {8, 16, 32, 36, 72, 576}) {
    INFO(n << " ranks");
    const double heads = std::min(n, 32);
    CHECK(line_of(n)(0) == Approx(c.launch + c.nvls.floor + heads * c.form.switch_head));
    CHECK(line_of(n, Collective::all_gather)(0) == line_of(n)(0));
  }
}

// 32 channels of Blackwell: 64 rounds of 128 KiB are 2 GiB on 8 ranks, 4 on 16, 8 from 32 on, where racks of GB200 get faster
TEST_CASE("messages get faster at the sizes where they fill rounds of twice the chunk, and no smaller one takes longer", "[price]") {
  for (const auto& [n, last] : {std::pair{8, 2 * GiB}, {16, 4 * GiB}, {32, 8 * GiB}, {72, 8 * GiB}}) {
    const Line line = line_of(n);
    for (const double at : {last / 128, last / 16, last}) {
      INFO(n << " ranks, " << at / MiB << " MiB");
      const auto slope = [&](double bytes) { return (line(bytes * 1.001) - line(bytes)) / (0.001 * bytes); };
      CHECK(slope(at) < slope(at / 2));
      const double before = at * (1 - 1e-9);
      CHECK(line(before) == Approx(line(at)));
      CHECK(line.alternative_seconds(before, line(before)) > line(at));  // by NCCL's rule
    }
  }
}

TEST_CASE("S bytes pass the switches at one rate in large chunks, whatever the ranks; gathers and scatters take less", "[price]") {
  const auto slope = [](const Line& line) { return (line(3e12) - line(2e12)) / 1e12; };
  const double eight = slope(line_of(8));
  for (const int n : {16, 32, 72}) CHECK(slope(line_of(n)) == Approx(eight));
  CHECK(slope(line_of(16, Collective::all_gather)) < slope(line_of(16, Collective::reduce_scatter)));
  CHECK(slope(line_of(16, Collective::reduce_scatter)) < slope(line_of(16)));
  CHECK(in_switch_rate(fabricost::core::scale_up_prior, rack(8)) == Approx(1.75 / eight));
}

TEST_CASE("latency beyond the fitted one is paid at both steps, and never takes the floor away", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  Fabric f = rack(8);
  const Schedule s = schedule_of(Algorithm::nvls, Collective::all_reduce, f.levels);
  const double others = c.launch + 8 * c.form.switch_head;
  f.inner_latency_shift = 1e-6;
  CHECK(price_in_switch(s, f, c)(0) == Approx(others + c.nvls.floor + s.steps() * 1e-6));
  f.inner_latency_shift = -1;
  CHECK(price_in_switch(s, f, c)(0) == Approx(others + 0.1 * c.nvls.floor));
}

TEST_CASE("in-switch reduction never runs above what the links carry", "[price]") {
  ScaleUpConstants c = fabricost::core::scale_up_prior;
  c.nvls.chunk = 1e-3;  // a chunk without latency
  c.nvls.rate_share = 0.5;
  CHECK(in_switch_rate(c, rack(8)) == Approx(0.5 * full));
  CHECK(in_switch_rate(c, rack(72)) == Approx(0.5 * full * (71.0 / 72) / (7.0 / 8)));
  c.nvls.rate_share = 4;
  for (const int n : {2, 8, 72}) {
    CHECK(in_switch_rate(c, rack(n)) == Approx(2.0 * (n - 1) / (n + 1) * full));
    CHECK(in_switch_rate(c, rack(n), Collective::all_gather) == Approx((n - 1.0) / n * full));
  }
}

TEST_CASE("an engine's kernel takes no less than its bytes over the links that carry them", "[price]") {
  Fabric f = support::fabric(8);
  f.inner_rate = 0.75 * full;
  const auto least = [&](CollectiveKernel kernel) { return price_custom(kernel, f, Constants{}).min; };
  CHECK(least(CollectiveKernel::pull_one_shot) == Approx(7 / (0.75 * full)));
  CHECK(least(CollectiveKernel::pull_two_shot) == Approx(2 * 7.0 / 8 / (0.75 * full)));
  CHECK(least(CollectiveKernel::multicast) == Approx((1 + 1.0 / 8) / full));  // the whole once, and its own part reduced
}
