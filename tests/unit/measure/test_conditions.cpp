/// \file test_conditions.cpp
/// The rows' account of the GPUs that took part and of how they were timed, and a process that goes away.

#include <fabricost/predict/complete.hpp>

#include "fake_device.hpp"
#include "measure/measure.hpp"

#include "catch.hpp"

using namespace fake;

namespace {

Measured measured_on(FakeDevice& device, const PlanOptions& what) {
  const Machine machine = device.describe();
  MeasureOptions options;
  options.now = device.clock();
  return measure::measure(device, machine, plan(machine, device.processes(), what), options);
}

/// The third GPU is slower than the others, and limited by its temperature.
class OneIsSlower : public FakeDevice {
 public:
  using FakeDevice::FakeDevice;
  State state(int unit) override {
    State out;
    out.clock = unit == 2 ? 1.2e9 : 1.98e9;
    out.throttled = unit == 2 ? "thermal" : "power cap";
    return out;
  }
};

/// Another process goes away while this one waits for its word.
class LeftAlone : public FakeDevice {
 public:
  LeftAlone(const Traits& t, int words) : FakeDevice(t), words_(words) {}
  double agreed(double value) override {
    if (--words_ < 0) throw DeviceLost("another process is gone");
    return value;
  }

 private:
  int words_;
};

class NotCaptured : public FakeDevice {
 public:
  using FakeDevice::FakeDevice;
  std::unique_ptr<Job> prepare(const Case& what) override {
    class Launched : public FakeJob {
     public:
      using FakeJob::FakeJob;
      bool in_graphs() const override { return false; }
    };
    static_cast<void>(FakeDevice::prepare(what));
    return std::make_unique<Launched>(*this, what);
  }
};

}  // namespace

TEST_CASE("a row notes the lowest clock of the GPUs that take part, and all that slows one of them down") {
  OneIsSlower device({.gpus = 4});
  const Measured found = measured_on(device, {.quick = true, .only = {"all_reduce", "memory_copy"}});
  int together = 0;
  for (const Row& row : found.rows) {
    const bool third = row.note("gpu") == "2" || (row.note("gpu").empty() && row.note("gpus").find("0,1") == std::string_view::npos) ||
                       row.note("gpus") == "0,1,2";
    CHECK(row.note("clock_mhz") == (third ? "1200" : "1980"));
    CHECK(row.note("throttled") == (!third ? "power cap" : row.note("gpu") == "2" ? "thermal" : "power cap, thermal"));
    together += row.operation == "all_reduce" && third ? 1 : 0;
  }
  CHECK(together > 5);
}

TEST_CASE("a process that goes away between two cases ends the run with what was measured") {
  const Measured whole = [] {
    FakeDevice device({.gpus = 2});
    return measured_on(device, {.quick = true, .only = {"launch"}});
  }();
  std::size_t most = 0;
  for (int words = 0; words < 6000; words += 61) {
    LeftAlone device({.gpus = 2}, words);
    const Measured found = measured_on(device, {.quick = true, .only = {"launch"}});
    if (found.complete) continue;
    CHECK(found.ended == "another process is gone");
    CHECK(found.rows.size() <= whole.rows.size());
    most = std::max(most, found.rows.size());
  }
  CHECK(most > 0);
}

TEST_CASE("a row says when its repetitions could not be captured in a graph") {
  NotCaptured launched({.gpus = 1});
  for (const Row& row : measured_on(launched, {.quick = true, .only = {"memory_copy"}}).rows) CHECK(row.note("graph") == "no");
  FakeDevice captured({.gpus = 1});
  for (const Row& row : measured_on(captured, {.quick = true, .only = {"memory_copy"}}).rows) CHECK(row.note("graph").empty());
}
