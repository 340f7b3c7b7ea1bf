// A plan measured within its time: planted values come out, budgets are kept, and every way of failing keeps the points measured.
#include "fake_device.hpp"
#include "measure/measure.hpp"

#include <fabricost/predict/complete.hpp>

#include "catch.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

using namespace fake;

namespace {

struct Run {
  Plan plan;
  Measured measured;
  double virtual_seconds = 0;
};

Run run_on(FakeDevice& device, const PlanOptions& planned = {.quick = true}, double budget = 120) {
  Run out;
  const Machine machine = device.describe();
  out.plan = plan(machine, device.processes(), planned);
  MeasureOptions options;
  options.budget = budget;
  options.source = "measure-node17";
  options.system = "dgx-h200";
  options.now = device.clock();
  const double start = device.time;
  out.measured = measure::measure(device, machine, out.plan, options);
  out.virtual_seconds = device.time - start;
  return out;
}

bool says(const Measured& measured, const std::string& part) {
  return std::any_of(measured.not_measured.begin(), measured.not_measured.end(),
                     [&](const NotMeasured& n) { return (n.what + ": " + n.reason).find(part) != std::string::npos; });
}

/// Rows of a collective over all GPUs in their default choice.
std::vector<Row> rows_of(const Measured& measured, Collective operation, int ranks) {
  std::vector<Row> out;
  for (const Row& row : measured.rows)
    if (row.operation == name(operation) && !row.path && row.gpus_per_node == ranks && !row.algorithm) out.push_back(row);
  return out;
}

}  // namespace

TEST_CASE("every median is within the noise of what was put in, and every spread like it") {
  FakeDevice device({.gpus = 8, .noise = 0.004});
  const Run out = run_on(device);
  REQUIRE(out.measured.complete);
  REQUIRE(out.measured.rows.size() > 100);
  REQUIRE(out.measured.rows.size() == device.cases.size());
  for (std::size_t i = 0; i < out.measured.rows.size(); ++i) {
    const Row& row = out.measured.rows[i];
    INFO(title_with_size(device.cases[i]));
    CHECK(row.bytes == device.cases[i].bytes);
    // kernel_sync counts the host's wait, which is longer by its share of one wait for each batch
    const double wait = row.operation == "kernel_sync" ? 0.05 : 0;
    CHECK(row.seconds == Approx(device.truth(device.cases[i])).epsilon(0.012 + wait));
    CHECK(std::stod(std::string{row.note("spread")}) < 0.03);
  }
}

TEST_CASE("the budget is kept, on every machine and for every plan") {
  for (const bool quick : {true, false})
    for (const int gpus : {1, 2, 8})
      for (const double budget : {2.0, 20.0, 120.0, 900.0}) {
        FakeDevice device({.gpus = gpus, .prepare = 0.4});
        const Run out = run_on(device, {.quick = quick}, budget);
        INFO(gpus << " GPUs, " << (quick ? "quick, " : "full, ") << budget << " s: " << out.virtual_seconds << " s, "
                  << out.measured.rows.size() << " rows");
        CHECK(out.virtual_seconds <= budget + 1);
        CHECK(out.measured.complete);
        CHECK_FALSE(out.measured.rows.empty());
      }
}

TEST_CASE("what the time does not allow is listed, and what tells most is measured first") {
  FakeDevice device({.gpus = 8, .prepare = 0.4});
  const Run out = run_on(device, {.quick = true}, 15);
  CHECK(says(out.measured, "the time was spent"));
  std::set<std::pair<std::string, std::uint64_t>> planned, seen;
  for (const Step& step : out.plan.steps)
    for (const std::uint64_t size : step.sizes) planned.insert({title_of(step.what), size});
  for (const Case& one : device.cases) seen.insert({title_of(one), one.bytes});
  for (const NotMeasured& one : out.measured.not_measured)
    if (one.reason == "the time was spent") CHECK(seen.insert({one.what, one.bytes.value_or(0)}).second);
  for (const auto& one : planned) CHECK(seen.count(one) == 1);
  const auto early = [&](ProbeKind kind) {
    return std::any_of(device.cases.begin(), device.cases.end(), [&](const Case& c) { return c.kind == kind; });
  };
  CHECK(early(ProbeKind::memory_copy));
  CHECK(early(ProbeKind::collective));
}

TEST_CASE("one case that takes forever does not take the time of the others") {
  FakeDevice device({.gpus = 2, .pcie = 1e8});  // a host link 500 times too slow: seconds for each copy
  const Run out = run_on(device);
  CHECK(out.virtual_seconds <= 135);
  CHECK(rows_of(out.measured, Collective::all_reduce, 2).size() >= 6);
  CHECK(rows_of(out.measured, Collective::all_to_all, 2).size() >= 6);
}

TEST_CASE("sizes gather at the cliff of a collective") {
  const std::uint64_t cliff = 3 * MiB;
  FakeDevice device({.gpus = 8, .noise = 0.001, .cliff = cliff});
  const Run out = run_on(device, {.only = {"all_reduce"}});
  std::uint64_t below = 0, above = ~std::uint64_t{0};
  for (const Row& row : rows_of(out.measured, Collective::all_reduce, 8))
    (row.bytes < cliff ? below = std::max(below, row.bytes) : above = std::min(above, row.bytes));
  CHECK(static_cast<double>(above) / static_cast<double>(below) < 2.1);
}

TEST_CASE("what does not fit memory is tried smaller, then noted") {
  FakeDevice device({.gpus = 1, .allocatable = 100 * MiB});
  const Run out = run_on(device);
  CHECK(out.measured.complete);
  CHECK(says(out.measured, "out of memory"));
  std::uint64_t largest = 0;
  for (const Row& row : out.measured.rows)
    if (row.operation == "memory_copy") largest = std::max(largest, row.bytes);
  CHECK(largest > 50 * MiB);
  CHECK(largest <= 100 * MiB);
}

TEST_CASE("a machine lost midway keeps what it measured and says why the rest is missing") {
  FakeDevice device({.gpus = 8, .lost_after = 30});
  const Run out = run_on(device);
  CHECK_FALSE(out.measured.complete);
  CHECK(out.measured.ended.find("fallen off the bus") != std::string::npos);
  CHECK(out.measured.rows.size() == 30);
  CHECK(device.prepared == 31);
  CHECK(says(out.measured, "fallen off the bus"));
  CHECK_FALSE(says(out.measured, "the time was spent"));
}

TEST_CASE("an interrupt keeps what was measured") {
  FakeDevice device({.gpus = 2});
  const Machine machine = device.describe();
  const Plan planned = plan(machine, 1, {.quick = true});
  MeasureOptions options;
  options.now = device.clock();
  options.interrupted = [&] { return device.prepared >= 12; };
  const Measured out = measure::measure(device, machine, planned, options);
  CHECK_FALSE(out.complete);
  CHECK(out.ended == "interrupted");
  CHECK(out.rows.size() == 12);
}

TEST_CASE("a wrong result is never a point, and ends its case after the second") {
  FakeDevice device({.gpus = 1, .wrong = ProbeKind::memory_read});
  const Run out = run_on(device);
  CHECK(out.measured.complete);
  CHECK(says(out.measured, "memory_read, GPU 0: the result was wrong: element 7 is 3, not 5"));
  int named = 0;
  for (const NotMeasured& n : out.measured.not_measured) named += n.what == "memory_read, GPU 0" ? 1 : 0;
  CHECK(named == 2);
  for (const Row& row : out.measured.rows) CHECK(row.operation != "memory_read");
}

TEST_CASE("a single fault is noted and the next size is measured all the same") {
  FakeDevice device({.gpus = 1, .faults = 1});
  const Run out = run_on(device);
  CHECK(out.measured.complete);
  CHECK(says(out.measured, "unspecified launch failure"));
  CHECK(out.measured.rows.size() > 30);
}

TEST_CASE("clocks that disagree make no points") {
  FakeDevice device({.gpus = 1, .device_clock = 1.3});
  const Run out = run_on(device, {.quick = true, .only = {"memory_copy"}});
  CHECK(out.measured.rows.empty());
  CHECK(says(out.measured, "one clock is wrong"));
}

TEST_CASE("throttling and clocks are noted at the points they may explain, and only there") {
  FakeDevice device({.gpus = 1, .throttled_after = 10});
  const Run out = run_on(device);
  for (std::size_t i = 0; i < out.measured.rows.size(); ++i) {
    const Row& row = out.measured.rows[i];
    CHECK(row.note("throttled") == (i < 10 ? "" : "power cap"));
    CHECK(row.note("clock_mhz") == (i < 10 ? "1980" : "1400"));
  }
}

TEST_CASE("points are handed on as they are measured, and progress never runs backwards") {
  FakeDevice device({.gpus = 2});
  const Machine machine = device.describe();
  const Plan planned = plan(machine, 1, {.quick = true});
  MeasureOptions options;
  options.now = device.clock();
  std::vector<std::string> lines;
  double last = 0;
  bool forward = true;
  options.point = [&](const Row& row) { lines.push_back(csv_line(row)); };
  options.progress = [&](const Progress& p) {
    forward = forward && p.elapsed >= last && p.done >= 0 && p.done <= 1 && p.left <= options.budget;
    last = p.elapsed;
  };
  const Measured out = measure::measure(device, machine, planned, options);
  CHECK(forward);
  REQUIRE(lines.size() == out.rows.size());
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(lines[i] == csv_line(out.rows[i]));
}

// The rows' account of the GPUs that took part and of how they were timed, and a process that goes away.

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

// Several processes in step: every decision is one decision, and a fault of one is a fault of all.

namespace {

struct Stated {
  char call = ' ';
  double value = 0;
};

/// A meeting of two threads, as in the rendezvous: each call waits for the other's, which must be the same one.
class Meeting {
 public:
  /// Both sides' words. \throws std::logic_error when they are not at the same call, or one stays away
  std::pair<Stated, Stated> meet(int side, Stated mine) {
    std::unique_lock lock{mutex_};
    const long round = round_;
    stated_[side] = mine;
    if (++here_ == 2) {
      here_ = 0;
      ++round_;
      last_ = {stated_[0], stated_[1]};
      changed_.notify_all();
    } else if (!changed_.wait_for(lock, std::chrono::seconds{20}, [&] { return round_ != round; })) {
      throw std::logic_error("the other process is not here");
    }
    if (last_.first.call != last_.second.call) throw std::logic_error("the processes are at different calls");
    return last_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Stated stated_[2];
  std::pair<Stated, Stated> last_;
  int here_ = 0;
  long round_ = 0;
};

class Together : public FakeDevice {
 public:
  Together(Traits t, Meeting& meeting, int side) : FakeDevice(t), meeting_(meeting), side_(side) {
    random.seed(static_cast<unsigned>(side) + 5);
  }
  int process() const override { return side_; }
  int processes() const override { return 2; }
  double agreed(double value) override { return meeting_.meet(side_, {'a', value}).first.value; }
  bool any(bool value) override {
    const auto both = meeting_.meet(side_, {'y', value ? 1.0 : 0.0});
    return both.first.value > 0 || both.second.value > 0;
  }

 private:
  Meeting& meeting_;
  int side_;
};

std::pair<Measured, Measured> both(const Traits& first, const Traits& second) {
  Meeting meeting;
  Measured out[2];
  std::string failure[2];
  const auto run = [&](int side, Traits traits) {
    try {
      traits.gpus = 2;
      Together device(traits, meeting, side);
      const Machine machine = device.describe();
      const Plan planned = plan(machine, 2, {.quick = true});
      MeasureOptions options;
      options.budget = 60;
      options.now = device.clock();
      out[side] = measure::measure(device, machine, planned, options);
    } catch (const std::exception& error) {
      failure[side] = error.what();
    }
  };
  std::thread other(run, 1, second);
  run(0, first);
  other.join();
  CHECK(failure[0].empty());
  CHECK(failure[1].empty());
  return {std::move(out[0]), std::move(out[1])};
}

}  // namespace

TEST_CASE("processes whose clocks and times differ take the same decisions and write the same points") {
  const auto [a, b] = both({.noise = 0.02, .prepare = 0.01}, {.noise = 0.05, .prepare = 0.03});
  REQUIRE(a.rows.size() == b.rows.size());
  CHECK(a.rows.size() > 40);
  for (std::size_t i = 0; i < a.rows.size(); ++i) CHECK(csv_line(a.rows[i]) == csv_line(b.rows[i]));
}

TEST_CASE("a process that fails alone fails all of them, and none waits for ever") {
  const auto [a, b] = both({}, {.faults = 1});
  CHECK(a.complete);
  CHECK(a.rows.size() == b.rows.size());
  REQUIRE_FALSE(a.not_measured.empty());
  CHECK(a.not_measured.front().reason == "another process reported it");
  CHECK(b.not_measured.front().reason == "unspecified launch failure");
}

TEST_CASE("a process that is lost ends the run of all") {
  const auto [a, b] = both({}, {.lost_after = 9});
  CHECK_FALSE(a.complete);
  CHECK_FALSE(b.complete);
  CHECK(a.rows.size() == 9);
  CHECK(b.rows.size() == 9);
}
