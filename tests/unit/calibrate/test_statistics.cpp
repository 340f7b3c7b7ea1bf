// The fit's own error estimates, over random machines: the truth is drawn from the prior, so the stated deviations can be checked.
#include "synthetic.hpp"

#include "support/fitted.hpp"

#include "catch.hpp"

using namespace fabricost::plan;
using namespace synthetic;

namespace {

struct Tally {
  int all = 0, one = 0, two = 0;
  void add(double deviations) {
    ++all;
    one += deviations <= 1 ? 1 : 0;
    two += deviations <= 2 ? 1 : 0;
  }
  [[nodiscard]] double share_one() const { return static_cast<double>(one) / all; }
  [[nodiscard]] double share_two() const { return static_cast<double>(two) / all; }
};

/// Fits machines whose constants are drawn around the prior, and counts how many of the narrowed ones lie within their stated errors.
Tally recovered(int cases, std::uint64_t salt, const std::function<System(Random&)>& machine, Block block, const Grid& grid, double scale,
                std::set<std::string>* narrowed = nullptr) {
  Tally out;
  for (int i = 0; i < cases; ++i) {
    Random random{support::seed * 1009 + salt * 100 + static_cast<std::uint64_t>(i)};
    System truth = machine(random);
    truth.constants.basis = Basis::calibrated;
    block.prior = truth.constants;
    truth.constants = drawn(block, random);
    std::vector<Series> series;
    measure(series, 0, truth, grid, random, scale);
    FittedMachine fitted{.constants = block.prior};
    fitted.block[static_cast<std::size_t>(block.set)] = 0;
    const Fit fit = fit_constants({block}, {fitted}, series, {.starts = 1});
    for (const Unknown& u : fit.unknowns) {
      if (!u.determined()) continue;
      if (narrowed != nullptr) narrowed->insert(std::string{u.parameter->key});
      out.add(std::fabs(std::log(u.parameter->value(fit.blocks[0]) / u.parameter->value(truth.constants))) / u.deviation);
    }
  }
  return out;
}

System switched_machine(Random& random) {
  System box = random.of(std::vector<System>{systems::ampere_box(), systems::hopper_box(), systems::blackwell_box()});
  for (Tier& t : box.tiers)
    if (t.role == TierRole::scale_up) support::scale_bandwidth(t, random.scaled(0.7, 1.5));
  return box;
}

}  // namespace

TEST_CASE("constants inside random switched machines are recovered to within their stated errors", "[calibrate]") {
  std::set<std::string> narrowed;
  const Tally t = recovered(24, 1, switched_machine, block_of(ConstantSet::scale_up, {}, 0.3, 0.1),
                            {.types = {DataType::half, DataType::int8}}, 0.05, &narrowed);
  INFO(t.all << " constants, within one deviation " << t.share_one() << ", within two " << t.share_two());
  CHECK(t.all > 300);
  CHECK(t.share_one() > 0.60);
  CHECK(t.share_one() < 0.80);
  CHECK(t.share_two() > 0.90);
  for (const char* key : {"launch", "ll.hop", "ll.channel_share", "simple.floor", "simple.hop", "simple.rate", "simple.drain",
                          "all_to_all.base", "all_to_all.rate", "nvls.floor", "nvls.rate"}) {
    INFO(key);
    CHECK(narrowed.count(key) == 1);
  }
}

TEST_CASE("constants of random PCIe machines are recovered to within their stated errors", "[calibrate]") {
  const auto machine = [](Random& random) {
    System box = systems::pcie_box();
    for (Tier& t : box.tiers)
      if (t.role == TierRole::scale_up) support::scale_bandwidth(t, random.scaled(0.7, 2));
    return box;
  };
  std::set<std::string> narrowed;
  const Tally t = recovered(24, 2, machine, block_of(ConstantSet::pcie, {}, 0.3, 0.1, 0.5), {}, 0.05, &narrowed);
  INFO(t.all << " constants, within one deviation " << t.share_one() << ", within two " << t.share_two());
  CHECK(t.all > 200);
  CHECK(t.share_one() > 0.60);
  CHECK(t.share_one() < 0.82);
  CHECK(t.share_two() > 0.90);
  for (const char* key : {"simple_rate.pair", "simple_rate.socket", "simple_rate.two_sockets", "launch", "ll_hop", "simple_hop"})
    CHECK(narrowed.count(key) == 1);
}

TEST_CASE("constants between nodes are recovered to within their stated errors", "[calibrate]") {
  const auto machine = [](Random& random) {
    System box = random.of(std::vector<System>{systems::hopper_box(), systems::blackwell_box(), systems::ampere_box()});
    for (Tier& t : box.tiers)
      if (t.role == TierRole::nic) {
        support::scale_bandwidth(t, random.scaled(0.5, 2));
        t.transport = random.of(std::vector<Transport>{systems::infiniband, systems::roce});
      }
    return box;
  };
  std::set<std::string> narrowed;
  const Tally t = recovered(24, 3, machine, block_of(ConstantSet::transport, {}, 0.5, 0.15, 0.5),
                            {.nodes = {2, 4, 8, 16}, .bytes = sizes(512, 4e9)}, 0.1, &narrowed);
  INFO(t.all << " constants, within one deviation " << t.share_one() << ", within two " << t.share_two());
  CHECK(t.all > 80);
  CHECK(t.share_one() > 0.58);
  CHECK(t.share_one() < 0.85);
  CHECK(t.share_two() > 0.90);
  for (const char* key : {"tree_step", "ring_simple_step", "efficiency", "exchange_share"}) CHECK(narrowed.count(key) == 1);
}

TEST_CASE("standard errors shrink with the square root of the number of points", "[calibrate]") {
  Random random{support::seed + 20};
  System truth = systems::blackwell_box();
  truth.constants = fitted::constants_of(fitted::blackwell);  // none of its exponents near the bound
  const Block block = flat_block(1);                          // independent and wide
  std::vector<std::map<std::string, double>> deviation;
  for (const int times : {4, 16}) {
    std::vector<Series> series;
    for (int k = 0; k < times; ++k) measure(series, 0, truth, {.bytes = sizes(512, 1 << 29, 4)}, random);
    const Fit fit =
        fit_constants({block}, {{.constants = block.prior, .block = {0, FittedMachine::none, FittedMachine::none}}}, series, {.starts = 1});
    deviation.emplace_back();
    for (const Unknown& u : fit.unknowns)
      // in the others the prior has a say, or how much the points tell depends on where in its error the constant came out
      if (u.deviation < (times == 4 ? 0.06 : 0.1)) deviation.back()[std::string{u.parameter->key}] = u.deviation;
  }
  int compared = 0;
  for (const auto& [key, wide] : deviation[0]) {
    if (key.starts_with("nvls.")) continue;  // where the chunk doubles depends on the constants themselves
    INFO(key);
    CHECK(wide / deviation[1].at(key) == Approx(2).epsilon(0.15));
    ++compared;
  }
  CHECK(compared >= 10);
}

TEST_CASE("tenfold times in three of a hundred points move constants by less than their errors", "[calibrate]") {
  int moved = 0, all = 0;
  for (int i = 0; i < 8; ++i) {
    Random random{support::seed * 17 + static_cast<std::uint64_t>(i)};
    System truth = switched_machine(random);
    const Block block = block_of(ConstantSet::scale_up, truth.constants, 0.3, 0.1);
    truth.constants = drawn(block, random);
    std::vector<Series> series;
    measure(series, 0, truth, {.types = {DataType::half, DataType::int8}}, random);
    const std::vector<FittedMachine> machines{{.constants = block.prior, .block = {0, FittedMachine::none, FittedMachine::none}}};
    const Fit clean = fit_constants({block}, machines, series, {.starts = 1});
    for (Series& s : series)
      for (double& t : s.log_seconds)
        if (random.below(100) < 3) t += std::log(10.0);
    const Fit dirty = fit_constants({block}, machines, series, {.starts = 1});
    for (std::size_t k = 0; k < clean.unknowns.size(); ++k) {
      const double by = std::fabs(clean.unknowns[k].change - dirty.unknowns[k].change);
      INFO("case " << i << " " << clean.unknowns[k].parameter->key << " moved by " << by / clean.unknowns[k].deviation);
      CHECK(by < 2 * clean.unknowns[k].deviation);
      ++all;
      moved += by < clean.unknowns[k].deviation ? 0 : 1;
    }
  }
  INFO(moved << " of " << all);
  CHECK(moved <= all / 20);
}
