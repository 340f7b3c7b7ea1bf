// Several processes in step: every decision is one decision, and a fault of one is a fault of all.
#include "fake_device.hpp"
#include "measure/measure.hpp"

#include "catch.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

using namespace fake;

namespace {

struct Stated {
  char call = ' ';
  double value = 0;
};

/// A meeting of two threads, as in collectives of MPI: each call waits for the other's, which must be the same one.
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
      traits.runtime = "MPI";
      traits.library = "openmpi";
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
