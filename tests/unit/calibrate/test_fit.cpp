// Constants found again: forms written out a second time (tests/support/fitted.hpp shares no code with the model), bounds, sharing, order.
#include <fabricost/predict/fabric_of.hpp>

#include "synthetic.hpp"

#include "support/fitted.hpp"

#include "catch.hpp"

using namespace fabricost::core;
using namespace synthetic;

namespace {

FittedMachine machine_of(const System& system, std::size_t block) {
  return {.constants = system.constants, .block = {block, FittedMachine::none, FittedMachine::none}};
}

/// Exact times of the reference forms on an 8-GPU server.
std::vector<Series> reference_points(const System& box, std::size_t machine, const fitted::Generation& g, double scale) {
  std::vector<Series> out;
  const auto add = [&](Collective op, int n, Algorithm algorithm, Protocol protocol, bool int8, double first, double last, auto&& seconds) {
    const Fabric fabric = fabric_of(box, Operation{.collective = op, .ranks = n});
    Series s{.machine = machine,
             .fabric = fabric,
             .schedule = schedule_of(algorithm, op, fabric),
             .ran = {algorithm, protocol},
             .op = op,
             .byte_wide = int8,
             .scale = scale};
    for (const double bytes : sizes(first, last, 1.7)) {  // off the powers of two, which hide what whole chunks do
      s.bytes.push_back(bytes);
      s.log_seconds.push_back(std::log(seconds(bytes) * 1e-6));
      s.weight.push_back(1);
    }
    out.push_back(std::move(s));
  };
  const double mib = 1048576;
  const std::vector<std::pair<Collective, fitted::Op>> rings{{Collective::all_reduce, fitted::Op::all_reduce},
                                                             {Collective::all_gather, fitted::Op::all_gather},
                                                             {Collective::reduce_scatter, fitted::Op::reduce_scatter}};
  for (const int n : {2, 4, 8}) {
    for (const auto& [op, of] : rings)
      for (const bool int8 : {false, true}) {
        const fitted::Op form = of;  // clang before 16 captures no structured binding
        add(op, n, Algorithm::ring, Protocol::ll, int8, 512, 8 * mib, [&](double s) { return fitted::ring_ll(form, s, n, g, int8); });
        add(op, n, Algorithm::ring, Protocol::ll128, int8, 256 * 1024, 32 * mib,
            [&](double s) { return fitted::ring_ll128(form, s, n, g, int8); });
        add(op, n, Algorithm::ring, Protocol::simple, int8, 256 * 1024, 1024 * mib,
            [&](double s) { return fitted::ring_simple(form, s, n, g, int8); });
      }
    // to the sizes of NCCL until 2.28: up to 16 KiB a peer the ramp hides the bytes
    add(Collective::all_to_all, n, Algorithm::direct, Protocol::ll, false, 512, n * 524288.0,
        [&](double s) { return fitted::exchange_ll(s, n, g); });
    add(Collective::all_to_all, n, Algorithm::direct, Protocol::simple, false, n * 32768.0, 1024 * mib,
        [&](double s) { return fitted::exchange_simple(s, n, g); });
  }
  if (g.BN > 0)
    add(Collective::all_reduce, 8, Algorithm::nvls, Protocol::simple, false, 512 * 1024, 1024 * mib,
        [&](double s) { return fitted::nvls(s, 8, g); });
  return out;
}

}  // namespace

TEST_CASE("the constants of the reference forms are found from their times", "[calibrate]") {
  struct Known {
    System box;
    fitted::Generation g;
  };
  for (const Known& known : {Known{systems::ampere_box(), fitted::ampere}, Known{systems::hopper_box(), fitted::hopper},
                             Known{systems::blackwell_box(), fitted::blackwell}}) {
    INFO(known.box.name);
    const Constants truth = fitted::constants_of(known.g);
    const std::vector<Series> series = reference_points(known.box, 0, known.g, 0.001);  // so exact that the prior has no say
    const Fit fit = fit_constants({flat_block(1)}, {machine_of(known.box, 0)}, series, {.starts = 3, .max_steps = 500});
    for (const Unknown& u : fit.unknowns) {
      if (known.g.BN == 0 && u.parameter->key.starts_with("nvls.")) continue;
      if (u.parameter->key == "all_to_all.channel") continue;  // binds a send_recv among many ranks alone
      INFO(u.parameter->key);
      CHECK(u.determined());
      CHECK(u.parameter->value(fit.blocks[0]) == Approx(u.parameter->value(truth)).epsilon(0.02));
    }
    double worst = 0;
    for (const auto& residuals : fit.residuals)
      for (const double r : residuals) worst = std::max(worst, std::fabs(r));
    CHECK(worst < 1e-3);
  }
}

TEST_CASE("a joint fit has one value of every shared constant and finds every generation's own", "[calibrate]") {
  std::vector<Series> series = reference_points(systems::ampere_box(), 0, fitted::ampere, 0.002);
  for (auto&& s : reference_points(systems::hopper_box(), 1, fitted::hopper, 0.002)) series.push_back(s);
  for (auto&& s : reference_points(systems::blackwell_box(), 2, fitted::blackwell, 0.002)) series.push_back(s);
  const std::vector<Block> blocks{flat_block(), flat_block(), flat_block()};
  const std::vector<FittedMachine> machines{machine_of(systems::ampere_box(), 0), machine_of(systems::hopper_box(), 1),
                                            machine_of(systems::blackwell_box(), 2)};
  const Fit fit = fit_constants(blocks, machines, series, {.starts = 1, .share = true, .max_steps = 500});
  const Constants truths[]{fitted::constants_of(fitted::ampere), fitted::constants_of(fitted::hopper),
                           fitted::constants_of(fitted::blackwell)};
  for (const Parameter& p : scale_up_parameters) {
    INFO(p.key);
    if (p.fitted == FitTreatment::shared)
      CHECK((p.value(fit.blocks[0]) == p.value(fit.blocks[1]) && p.value(fit.blocks[1]) == p.value(fit.blocks[2])));
    if (p.held()) CHECK(p.value(fit.blocks[1]) == p.value(blocks[1].prior));
    for (std::size_t b = 0; b < 3; ++b) {
      if (b == 0 && p.key.starts_with("nvls.")) continue;
      if (p.key == "all_to_all.channel") continue;  // as above
      if (!p.held()) CHECK(p.value(fit.blocks[b]) == Approx(p.value(truths[b])).epsilon(0.03));
    }
  }
}

TEST_CASE("bounds hold whatever was measured", "[calibrate]") {
  Random random{support::seed + 10};
  for (int i = 0; i < 12; ++i) {
    INFO("case " << i);
    System box = systems::hopper_box();
    std::vector<Series> series;
    measure(series, 0, box, {.ranks = {2, 8}, .bytes = sizes(512, 1 << 28, 8)}, random);
    const double factor = random.scaled(1e-4, 1e4);  // another machine altogether
    for (Series& s : series)
      for (double& t : s.log_seconds) t += std::log(factor) + 2 * normal(random);
    const Fit fit = fit_constants({flat_block(3)}, {machine_of(box, 0)}, series, {.starts = 2});
    for (const Parameter& p : scale_up_parameters) {
      INFO(p.key);
      CHECK(p.value(fit.blocks[0]) >= p.min);
      CHECK(p.value(fit.blocks[0]) <= p.max);
    }
    for (const Unknown& u : fit.unknowns) {
      CHECK(std::isfinite(u.deviation));
      CHECK(std::fabs(u.correlation) <= 1 + 1e-9);
    }
  }
}

TEST_CASE("constants no point speaks of stay at the prior and say so", "[calibrate]") {
  Random random{support::seed + 11};
  System box = systems::hopper_box();
  box.constants = fitted::constants_of(fitted::hopper);
  const Block block = block_of(ConstantSet::scale_up, Constants{}, 0.3, 0.1);
  std::vector<Series> series;
  measure(series, 0, box, {.ops = {Collective::all_gather}}, random);
  const Fit fit = fit_constants({block}, {machine_of(box, 0)}, series);
  for (const Unknown& u : fit.unknowns) {
    INFO(u.parameter->key);
    const bool unseen = u.parameter->key.starts_with("nvls.") || u.parameter->key.starts_with("all_to_all.") ||
                        u.parameter->key == "simple.reduce_scatter_rate" || u.parameter->key == "simple.all_reduce_rate" ||
                        u.parameter->key == "int8_volume";
    if (!unseen) continue;
    if (u.parameter->latency == 0 && u.parameter->rate == 0) {
      CHECK_FALSE(u.determined());
      CHECK(std::fabs(u.change) < 1e-3);
      CHECK(u.deviation == Approx(u.prior_deviation).epsilon(1e-3));
    }
    CHECK(u.deviation > 0.5 * u.parameter->spread);  // its own part is as open as before
  }
  // with the common factors it moves: all rates of this machine lie above the prior's by the same factor
  const double common = unknown_named(fit, "nvls.rate").change;
  CHECK(unknown_named(fit, "all_to_all.rate").change == Approx(common).margin(1e-3));
  CHECK(unknown_named(fit, "simple.rate").determined());
  CHECK(unknown_named(fit, "simple.rate").change * common > 0);
  // an isolated prior keeps them to the digit
  const Fit apart = fit_constants({flat_block()}, {machine_of(box, 0)}, series);
  for (const Unknown& u : apart.unknowns)
    if (u.parameter->key.starts_with("nvls.") || u.parameter->key.starts_with("all_to_all.")) CHECK(std::fabs(u.change) < 1e-3);
}

TEST_CASE("one latency informs the others by the common factor", "[calibrate]") {
  const System box = systems::hopper_box();
  const Block block = block_of(ConstantSet::scale_up, box.constants, 0.3, 0.1);
  for (const double factor : {0.6, 1.5}) {
    std::vector<Series> series;
    Random random{support::seed + 12};
    measure(series, 0, box, {.ops = {Collective::all_gather}, .ranks = {8}, .bytes = {2048}}, random, 0.05, 0);
    series[0].log_seconds[0] += std::log(factor);
    const Fit fit = fit_constants({block}, {machine_of(box, 0)}, series);
    for (const char* key : {"launch", "ll.hop", "all_to_all.base", "nvls.floor", "simple.floor"}) {
      INFO(key);
      CHECK(unknown_named(fit, key).change * std::log(factor) > 0.01);
    }
    for (const char* key : {"simple.rate", "nvls.rate", "all_to_all.rate"}) CHECK(std::fabs(unknown_named(fit, key).change) < 0.01);
  }
}

TEST_CASE("a single point draws its prediction near and never past or away", "[calibrate]") {
  for (int i = 0; i < 60; ++i) {
    Random random{support::seed * 31 + static_cast<std::uint64_t>(i)};
    INFO("case " << i);
    System box =
        random.of(std::vector<System>{systems::ampere_box(), systems::hopper_box(), systems::blackwell_box(), systems::pcie_box()});
    const bool over_pcie = box.name == "pcie-box";
    const Block block = block_of(over_pcie ? ConstantSet::pcie : ConstantSet::scale_up, box.constants, 0.3, 0.1);
    FittedMachine machine{.constants = box.constants};
    machine.block[static_cast<std::size_t>(block.set)] = 0;
    std::vector<Series> series;
    measure(series, 0, box, {.ops = {random.of(four_operations)}, .ranks = {2 << random.below(3)}, .bytes = {random.scaled(512, 1e9)}},
            random, 0.05, 0);
    const double off = std::log(random.scaled(0.4, 2.5));
    series[0].log_seconds[0] += off;
    const Fit fit = fit_constants({block}, {machine}, series);
    const double left = fit.residuals[0][0];  // it was -off
    CHECK(std::fabs(left) <= std::fabs(off) + 1e-9);
    CHECK(left * -off >= -1e-3 * std::fabs(off));
  }
}

TEST_CASE("the order of machines, series and points does not matter", "[calibrate]") {
  Random random{support::seed + 13};
  System box = systems::hopper_box(), other = systems::blackwell_box();
  box.constants = fitted::constants_of(fitted::hopper);
  other.constants = fitted::constants_of(fitted::blackwell);
  std::vector<Series> series;
  measure(series, 0, box, {.bytes = sizes(512, 1 << 29, 4)}, random);
  measure(series, 1, other, {.bytes = sizes(512, 1 << 29, 4)}, random);
  const std::vector<Block> blocks{flat_block(), flat_block()};
  const Fit one = fit_constants(blocks, {machine_of(box, 0), machine_of(other, 1)}, series, {.starts = 2, .share = true});
  std::vector<Series> shuffled(series.rbegin(), series.rend());
  for (Series& s : shuffled) {
    s.machine = 1 - s.machine;
    std::reverse(s.bytes.begin(), s.bytes.end());
    std::reverse(s.log_seconds.begin(), s.log_seconds.end());
  }
  const Fit two = fit_constants(blocks, {machine_of(other, 0), machine_of(box, 1)}, shuffled, {.starts = 2, .share = true});
  for (const Parameter& p : scale_up_parameters) {
    INFO(p.key);
    CHECK(p.value(one.blocks[0]) == Approx(p.value(two.blocks[1])).epsilon(5e-3));
    CHECK(p.value(one.blocks[1]) == Approx(p.value(two.blocks[0])).epsilon(5e-3));
  }
  const Fit same = fit_constants(blocks, {machine_of(box, 0), machine_of(other, 1)}, series, {.starts = 2, .share = true});
  for (const Parameter& p : scale_up_parameters) CHECK(p.value(one.blocks[0]) == p.value(same.blocks[0]));
}

TEST_CASE("more starts never end higher", "[calibrate]") {
  Random random{support::seed + 14};
  System box = systems::ampere_box();
  box.constants = fitted::constants_of(fitted::ampere);
  std::vector<Series> series;
  measure(series, 0, box, {.bytes = sizes(512, 1 << 29, 4)}, random);
  double before = 1e300;
  for (const int starts : {1, 2, 4}) {
    const Fit fit = fit_constants({flat_block()}, {machine_of(box, 0)}, series, {.starts = starts});
    CHECK(fit.cost <= before * (1 + 1e-12));
    before = fit.cost;
  }
}
