// Would following tune have helped? Tested on runs that were not tuned.
#include "tuned.hpp"

#include "support/measurements.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/readings/points.hpp>
#include <fabricost/specs/load.hpp>

#include <catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

using namespace fabricost::plan;

namespace {

using fabricost::test::measurements;

/// Median times by (operation, type, ranks, bytes) of the points that `wanted` lets through.
using Key = std::tuple<Collective, DataType, int, double>;
template <class Wanted>
std::map<Key, double> medians(const std::vector<Point>& points, Wanted&& wanted) {
  std::map<Key, std::vector<double>> all;
  for (const Point& p : points)
    if (wanted(p)) all[{p.collective, p.dtype, p.ranks(), p.bytes}].push_back(p.seconds);
  std::map<Key, double> out;
  for (auto& [key, times] : all) {
    std::sort(times.begin(), times.end());
    out[key] = times[times.size() / 2];
  }
  return out;
}

class Tuned {
 public:
  explicit Tuned(const std::string& name) : system_(load_system(name)) {}
  const SlowChoice* at(Collective c, DataType dtype, int ranks, double bytes) {
    const auto [found, fresh] = reports_.try_emplace({dtype, ranks});
    if (fresh) {
      TuneRequest options;
      options.ranks = ranks;
      options.dtype = dtype;
      found->second = tuned::tune(system_, options);
    }
    return tuned::range_at(found->second, c, bytes);
  }

 private:
  System system_;
  std::map<std::pair<DataType, int>, TuneAnswer> reports_;
};

}  // namespace

// Two messages one after the other take twice the time of one: a pair that needs t for S needs at most 2 t for 2 S. Where NCCL needs more
// than twice, whatever it ran at S would have been faster, model or no model.
TEST_CASE("wherever a message of twice the size takes more than twice the time, tune says NCCL chose badly", "[tune][measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  int cliffs = 0, found = 0, recommended = 0;
  for (const char* system : {"dgx-a100", "dgx-h100", "dgx-b200"}) {
    const auto times = medians(read_points(folder / (std::string(system) + ".nccl.csv")).points,
                               [](const Point& p) { return p.library_version != "2.27.5" && p.library_version != "2.28.9"; });
    Tuned advised{system};
    for (const auto& [key, time] : times) {
      const auto& [collective, dtype, ranks, bytes] = key;
      if (is_exchange(collective)) continue;
      const auto half = times.find({collective, dtype, ranks, bytes / 2});
      if (half == times.end() || time < 2.04 * half->second) continue;  // repeats differ by 2 % on average
      ++cliffs;
      const SlowChoice* range = advised.at(collective, dtype, ranks, bytes);
      INFO(system << " " << name(collective) << " " << name(dtype) << " " << ranks << " ranks, " << bytes / 1048576
                  << " MiB: " << half->second * 1e6 << " to " << time * 1e6 << " us");
      CHECK(range != nullptr);
      if (range == nullptr) continue;
      ++found;
      recommended += range->sure ? 1 : 0;
      // its promise is at least the rate that the doubled message proves, within the noise
      CHECK(range->better_time.value() * bytes / range->bytes.value() < 1.1 * 2 * half->second);
    }
  }
  CHECK(cliffs >= 8);
  CHECK(found == cliffs);
  CHECK(recommended == cliffs);
}

// The B200 runs of 2.27.5 and 2.28.9 kept LL128 one octave longer than those of 2.29.2. Where the two differ by more than 15 % they ran
// different pairs: the slower one is NCCL 2.29's choice, the faster one is what tune should have named.
TEST_CASE("where an older NCCL's choice was faster on B200, tune names it and its time", "[tune][measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  const std::vector<Point> points = read_points(folder / "dgx-b200.nccl.csv").points;
  const auto kept = [](const Point& p) { return p.library_version == "2.27.5" || p.library_version == "2.28.9"; };
  const auto older = medians(points, kept), newer = medians(points, [&](const Point&p) { return !kept(p); });
  const System system = load_system("dgx-b200");
  Tuned advised{"dgx-b200"};
  int differ = 0, otherwise = 0;
  for (const auto& [key, time] : newer) {
    const auto& [collective, dtype, ranks, bytes] = key;
    if (is_exchange(collective) || older.find(key) == older.end() || std::log(time / older.at(key)) < 0.15) continue;
    const Operation op{.collective = collective, .bytes = Bytes::from_value(bytes), .ranks = ranks, .dtype = dtype};
    if (std::fabs(std::log(predict(system, op).seconds / time)) > 0.1) {
      ++otherwise;  // 2.29.2 ran something else than the model of its choice says
      continue;
    }
    ++differ;
    const SlowChoice* range = advised.at(collective, dtype, ranks, bytes);
    INFO(name(collective) << " " << name(dtype) << " " << ranks << " ranks " << bytes / 1048576 << " MiB: " << time * 1e6 << " us, older "
                          << older.at(key) * 1e6);
    REQUIRE(range != nullptr);
    CHECK(range->sure);
    CHECK(tuned::better(*range) == Candidate{Algorithm::ring, Protocol::ll128});
    const Choice advice{.algorithm = tuned::better(*range).algorithm, .protocol = tuned::better(*range).protocol};
    CHECK(predict(system, op, advice).seconds == Approx(older.at(key)).epsilon(0.15));
  }
  CHECK(differ >= 12);
  CHECK(otherwise <= 1);  // all_reduce of 8 MiB in int8 on 8, at the very edge of LL
}
