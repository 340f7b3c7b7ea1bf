// One case: sizes, warm-up, batches and the two clocks against a machine whose times are known, and the statistics of its times.
#include "fake_device.hpp"
#include "measure/plan/sizes.hpp"
#include "measure/sample.hpp"

#include "catch.hpp"

using namespace fake;
using namespace fabricost::probes::measure;

// One case: warm-up, batches, the two clocks, against a machine whose times are known.

namespace {

Sample sample(FakeDevice& device, const Case& what, const SampleRules& rules = {}) {
  const auto job = device.prepare(what);
  return take_sample(device, *job, what, rules, device.clock());
}

const Case large_copy{.kind = ProbeKind::memory_copy, .bytes = GiB};

}  // namespace

TEST_CASE("the median comes out within the noise that was put in") {
  for (const double noise : {0.0, 0.002, 0.02}) {
    FakeDevice device({.noise = noise});
    const Sample s = sample(device, large_copy);
    INFO("noise " << noise);
    CHECK(s.refused.empty());
    CHECK(s.seconds == Approx(device.truth(large_copy)).epsilon(2 * noise + 1e-6));
    CHECK(s.spread < 2 * 1.349 * noise + 1e-9);
  }
}

TEST_CASE("a batch lasts long against the grain of the clock, whatever the time of one repetition") {
  for (const ProbeKind kind : {ProbeKind::kernel_launch, ProbeKind::memory_read, ProbeKind::pointer_chase}) {
    FakeDevice device({});
    const Case what{.kind = kind, .bytes = kind == ProbeKind::kernel_launch ? 0 : 64 * MiB};
    const Sample s = sample(device, what);
    const bool as_many_as_allowed = s.repetitions == SampleRules{}.max_repetitions;
    CHECK((s.seconds * s.repetitions >= 2e-3 || as_many_as_allowed));
  }
}

TEST_CASE("what warms up slowly is not measured cold") {
  FakeDevice device({.noise = 0.001, .cold_clocks = 0.5});
  const Sample s = sample(device, large_copy);
  CHECK(s.steady);
  CHECK(s.seconds == Approx(device.truth(large_copy)).epsilon(0.03));
}

TEST_CASE("warm-up lasts as long as asked, though the first two batches agree") {
  FakeDevice device({.noise = 0});
  const double start = device.time;
  const Sample s = sample(device, large_copy, {.min_warm_up = 1.5, .min_batches = 3, .max_batches = 3});
  CHECK(s.steady);
  CHECK(device.time - start > 1.5);
  CHECK(device.time - start < 1.6);
}

TEST_CASE("a machine that never settles is measured, and said to be unsteady") {
  FakeDevice device({.noise = 0.3});
  CHECK_FALSE(sample(device, large_copy, {.steady = 1e-6}).steady);
}

TEST_CASE("a device clock that runs ahead of the host's is refused") {
  FakeDevice fast({.noise = 0.001, .device_clock = 1.2});
  const Sample s = sample(fast, large_copy);
  CHECK(s.refused.find("one clock is wrong") != std::string::npos);
  // of a graph's node both times are differences of two runs, and either may come out larger
  CHECK(sample(fast, {.kind = ProbeKind::graph_node}).refused.empty());
}

TEST_CASE("a host that waits longer than launches explain is noted, not refused") {
  FakeDevice slow({.noise = 0.001, .device_clock = 0.5});
  const Sample s = sample(slow, large_copy);
  CHECK(s.refused.empty());
  REQUIRE(s.host.has_value());
  CHECK(*s.host > 1.5 * s.seconds);
  FakeDevice sound({.noise = 0.001});
  CHECK_FALSE(sample(sound, large_copy).host.has_value());
}

TEST_CASE("of kernel_sync the host's wait is the subject, of launches the device's time") {
  FakeDevice device({.noise = 0, .device_clock = 0.5});
  const Case sync{.kind = ProbeKind::kernel_sync}, launch{.kind = ProbeKind::kernel_launch};
  CHECK(sample(device, sync).seconds == Approx(device.traits.launch).epsilon(0.02));
  CHECK(sample(device, launch).seconds == Approx(0.5 * device.traits.launch).epsilon(0.02));
}

TEST_CASE("planted outliers are counted and leave the median alone") {
  FakeDevice device({.noise = 0.002, .outlier_every = 5});
  const Sample s = sample(device, large_copy, {.min_batches = 20});
  CHECK(s.outliers >= 3);
  CHECK(s.outliers <= 6);
  CHECK(s.seconds == Approx(device.truth(large_copy)).epsilon(0.005));
}

TEST_CASE("noise asks for more batches, quiet for fewer") {
  FakeDevice quiet({.noise = 0.0005}), loud({.noise = 0.05});
  CHECK(sample(quiet, large_copy).batches == SampleRules{}.min_batches);
  CHECK(sample(loud, large_copy).batches > 2 * SampleRules{}.min_batches);
}

// Sizes: the grid, and where they gather.

namespace {

/// The sizes a curve ends up with.
template <class Time>
std::vector<CurvePoint> refined(Time time, double factor, const BendRules& rules) {
  std::vector<CurvePoint> curve;
  std::set<std::uint64_t> tried;
  const auto add = [&](std::uint64_t size) {
    tried.insert(size);
    curve.push_back({size, time(static_cast<double>(size)), 0});
    std::sort(curve.begin(), curve.end(), [](const CurvePoint& a, const CurvePoint& b) { return a.bytes < b.bytes; });
  };
  for (const std::uint64_t size : coarse_sizes(KiB, 1024 * MiB, factor, 16)) add(size);
  for (int i = 0; i < 200; ++i) {
    const auto size = next_size(curve, tried, rules, 16);
    if (!size) return curve;
    add(*size);
  }
  FAIL("sizes are asked for without end");
  return curve;
}

int between(const std::vector<CurvePoint>& curve, double low, double high) {
  return static_cast<int>(std::count_if(curve.begin(), curve.end(), [&](const CurvePoint& p) {
    return static_cast<double>(p.bytes) >= low && static_cast<double>(p.bytes) <= high;
  }));
}

}  // namespace

TEST_CASE("the grid runs from the smallest size to the largest in multiples of its unit") {
  const auto sizes = coarse_sizes(512, 512 * MiB, 8, 96);
  CHECK(sizes.front() == 480);
  CHECK(sizes.back() == 512 * MiB / 96 * 96);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    CHECK(sizes[i] % 96 == 0);
    if (i > 0) CHECK(static_cast<double>(sizes[i]) / static_cast<double>(sizes[i - 1]) < 8 * std::sqrt(8.0) + 1);
  }
  CHECK(coarse_sizes(16, 16, 8, 16) == std::vector<std::uint64_t>{16});
}

TEST_CASE("a power law needs no more sizes than the grid") {
  const auto straight = [](double bytes) { return 1e-9 * std::pow(bytes, 0.7); };
  CHECK(refined(straight, 8, {}).size() == coarse_sizes(KiB, 1024 * MiB, 8, 16).size());
}

TEST_CASE("sizes gather where latency turns into bandwidth") {
  const auto bend = [](double bytes) { return 10e-6 + bytes / 400e9; };  // at 4 MB
  const auto curve = refined(bend, 16, {});
  CHECK(between(curve, 0.5e6, 64e6) >= 5);
  CHECK(between(curve, 1e3, 100e3) <= 3);
}

TEST_CASE("a cliff is closed in on, to the finest ratio and no further") {
  const double edge = 3.1e6;
  const auto cliff = [&](double bytes) { return (bytes < edge ? 1 : 2) * (10e-6 + bytes / 400e9); };
  const BendRules rules{};
  const auto curve = refined(cliff, 16, rules);
  double below = 0, above = 1e18;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const auto bytes = static_cast<double>(curve[i].bytes);
    if (bytes < edge) below = std::max(below, bytes);
    if (bytes >= edge) above = std::min(above, bytes);
    if (i > 0) CHECK(bytes / static_cast<double>(curve[i - 1].bytes) > 1.25);
  }
  CHECK(above / below < 2.1);
}

TEST_CASE("between any two neighbours the refined curve is within the threshold of the truth") {
  const auto bend = [](double bytes) { return 10e-6 + bytes / 400e9; };
  const BendRules rules{};
  const auto curve = refined(bend, 8, rules);
  for (std::size_t i = 1; i < curve.size(); ++i) {
    const double middle = std::sqrt(static_cast<double>(curve[i - 1].bytes) * static_cast<double>(curve[i].bytes));
    const double line = std::sqrt(curve[i - 1].seconds * curve[i].seconds);
    CHECK(std::fabs(std::log(bend(middle) / line)) < 1.5 * rules.threshold);
  }
}

TEST_CASE("what lies within its own spread is no bend") {
  const std::vector<CurvePoint> curve{{KiB, 1e-6, 0.05}, {8 * KiB, 1.1e-6, 0.05}, {64 * KiB, 1e-6, 0.05}};
  CHECK_FALSE(next_size(curve, {}, {}, 16).has_value());
}

// Median, spread and the rule for outliers, against planted values.

TEST_CASE("the median and the quartiles of a handful of batches are those of the definition") {
  const Statistics s = statistics_of({1.00, 1.01, 1.02, 1.03, 1.04});
  CHECK(s.median == Approx(1.02));
  CHECK(s.spread == Approx(0.02 / 1.02));
  CHECK(s.kept == 5);
  CHECK(s.outliers == 0);
}

TEST_CASE("planted outliers are counted, and move neither median nor spread") {
  std::mt19937_64 random{7};
  std::normal_distribution<double> noise(1, 0.01);
  std::vector<double> clean;
  for (int i = 0; i < 40; ++i) clean.push_back(noise(random));
  std::vector<double> dirty = clean;
  for (const double far : {2.0, 3.0, 0.5}) dirty.push_back(far);
  const Statistics without = statistics_of(clean), with = statistics_of(dirty);
  REQUIRE(without.outliers == 0);
  CHECK(with.outliers == 3);
  CHECK(with.kept == 40);
  CHECK(with.median == without.median);
  CHECK(with.spread == without.spread);
}

TEST_CASE("a clock that ticks coarsely makes no outliers") {
  const Statistics s = statistics_of({1, 1, 1, 1, 1, 1, 1.0009});
  CHECK(s.outliers == 0);
}

TEST_CASE("two humps of a bimodal time are spread, not outliers") {
  const Statistics s = statistics_of({1, 1.01, 1.02, 2, 2.01, 2.02});
  CHECK(s.outliers == 0);
  CHECK(s.spread > 0.5);
}

TEST_CASE("nothing measured says nothing") {
  const Statistics s = statistics_of({});
  CHECK(s.kept == 0);
  CHECK(s.median == 0);
  CHECK(s.relative_error() == 0);
}
