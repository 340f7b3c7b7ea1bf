// Merging repeats without keeping them, and the texts that points share.
#include "files.hpp"

#include <catch.hpp>

#include <algorithm>
#include <random>
#include <sstream>

using namespace fabricost::core;
using namespace fabricost::test;

namespace {

Point timed(double seconds) {
  Point p;
  p.system = "dgx-h100";
  p.gpus_per_node = 8;
  p.bytes = 1024;
  p.seconds = seconds;
  return p;
}

double by_sorting(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

}  // namespace

TEST_CASE("the merged median is that of all repeats, however many and however often the same", "[property]") {
  std::mt19937 random(5);
  for (const int count : {1, 2, 3, 1023, 1024, 1025, 5000, 20001})
    for (const unsigned different : {3U, 100U, 1000000U}) {
      RepeatMerger merger;
      std::vector<double> values;
      for (int i = 0; i < count; ++i) {
        values.push_back(1e-6 * static_cast<double>(1 + random() % different));
        merger.add(timed(values.back()));
      }
      INFO(count << " repeats, at most " << different << " different");
      const std::vector<Point> merged = merger.merged();
      REQUIRE(merged.size() == 1);
      CHECK(merged[0].seconds == by_sorting(values));
      CHECK(merged[0].repeats == count);
    }
}

TEST_CASE("paths, loads and streams are no repeats of each other") {
  std::vector<Point> points(5, timed(1e-5));
  points[1].path = Path::gpu_gpu;
  points[2].path = Path::nic;
  points[3].path = Path::nic;
  points[3].both_ways = true;
  points[4].path = Path::nic;
  points[4].streamed = true;
  CHECK(merge_repeats(points).size() == 5);
}

TEST_CASE("files read together are merged as if they were one, GPUs of a node filled in") {
  const Folder folder;
  const std::string header =
      "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes\n";
  const auto a =
      folder.write("a.csv", header + "a,dgx-h100,1,8,all_reduce,half,8,10,0,nccl,,,,\na,dgx-h100,1,8,all_reduce,half,8,0,,,,,,\n");
  const auto b =
      folder.write("b.csv", header + "b,dgx-h100,1,,all_reduce,half,8,30,0,nccl,,,,\nb,nowhere,1,,all_reduce,half,8,30,0,nccl,,,,\n");
  const Points read = read_merged({a, b});
  REQUIRE(read.points.size() == 2);
  CHECK(read.points[0].seconds == Approx(20e-6));
  CHECK(read.points[0].repeats == 2);
  CHECK(read.points[1].gpus_per_node == 0);
  CHECK(skipped_rows(read, "time_us is 0") == 1);
}

TEST_CASE("shared text reads like a string and is compared by what it says") {
  const SharedText a = "dgx-h100", b = std::string("dgx-h100"), none;
  CHECK(a == b);
  CHECK(a == "dgx-h100");
  CHECK_FALSE(a == none);
  CHECK(none.empty());
  CHECK(none.str().empty());
  CHECK(SharedText("").empty());
  CHECK(a + ", 8 ranks" == "dgx-h100, 8 ranks");
  CHECK(std::string("on ") + a == "on dgx-h100");
  CHECK(SharedText("a") < SharedText("b"));
  CHECK_FALSE(a < b);
  const std::string& text = a;
  CHECK(text.size() == a.size());
  std::ostringstream out;
  out << a;
  CHECK(out.str() == "dgx-h100");
  SharedText copy = a;
  copy.clear();
  CHECK(a == "dgx-h100");
}

TEST_CASE("repeats of one release merge, those of another or launched otherwise do not") {
  Point p;
  p.system = "dgx-h100";
  p.gpus_per_node = 8;
  p.bytes = 1e6;
  p.seconds = 30e-6;
  p.library = "nccl";
  p.library_version = "2.27.3";
  Point same = p, older = p, launched = p;
  same.library_version = "2.28.9";
  older.library_version = "2.12.7";
  launched.launch = {LaunchMode::one_process, 8};
  const std::vector<Point> merged = merge_repeats({p, same, older, launched});
  REQUIRE(merged.size() == 3);
  CHECK(merged[0].repeats == 2);
  CHECK(era_of(merged[0]) == LibraryEra{tuner_of_version(2, 27), false, 27});  // the older of two with the same tables
  Point unsaid = p;
  unsaid.library_version.clear();
  CHECK(era_of(merge_repeats({older, unsaid}).at(1)).assumed);
  unsaid.early_tests = true;  // which no later release ran, so that they have the tables of the older
  for (const std::vector<Point>& both : {std::vector{older, unsaid}, std::vector{unsaid, older}}) {
    REQUIRE(merge_repeats(both).size() == 1);
    CHECK(era_of(merge_repeats(both)[0]) == LibraryEra{tuner_of_version(2, 12), false, 12});
  }
  for (Point* each : {&p, &same, &older, &launched}) each->nodes = 2;
  const std::vector<Point> between = merge_repeats({p, same, older, launched});
  REQUIRE(between.size() == 1);  // between nodes transports hold launches, and releases differ by less than repeats do
  CHECK(era_of(between[0]) == LibraryEra{tuner_of_version(2, 12), false, 12});
}
