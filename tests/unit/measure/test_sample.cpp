// One case: warm-up, batches, the two clocks, against a machine whose times are known.
#include "fake_device.hpp"

#include "catch.hpp"

using namespace fake;

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
