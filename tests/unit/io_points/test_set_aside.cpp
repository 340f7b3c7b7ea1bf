// Points that should not be fitted: each kind with constructed numbers, and real ones that must pass.
#include "files.hpp"
#include "support/measurements.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/validation/set_aside.hpp>
#include <fabricost/validation/validate.hpp>

#include <catch.hpp>

#include <fmt/format.h>

#include <cmath>

using namespace fabricost::core;
using namespace fabricost::test;

namespace {

Point point(const std::string& system, double bytes, double seconds, int nodes = 1) {
  Point p;
  p.source = system;
  p.system = system;
  p.nodes = nodes;
  p.gpus_per_node = 8;
  p.bytes = bytes;
  p.seconds = seconds;
  return p;
}

/// The time at which eight ranks show that bus bandwidth.
Point at_busbw(const std::string& system, double GBps, int nodes = 1, Collective c = Collective::all_reduce) {
  Point p = point(system, 1 << 30, 0, nodes);
  p.collective = c;
  p.seconds = p.bytes * bus_factor(c, 8 * nodes) / (GBps * 1e9);
  return p;
}

int doubts(const Screened& s, Doubt d) {
  return static_cast<int>(std::count_if(s.set_aside.begin(), s.set_aside.end(), [&](const SetAside& a) { return a.doubt == d; }));
}

}  // namespace

TEST_CASE("a row whose bandwidth is not bytes over time is kept by the reader and set aside") {
  const std::string log =
      "# Collective test starting: all_reduce_perf\n#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       \n"
      "     1048576        262144     float     sum      -1    27.37   38.31   67.04      0\n"
      "     2097152        524288     float     sum      -1    37.37   38.31   67.04      0\n";
  Points read = points_in(log, {.system = "dgx-h100"});
  REQUIRE(read.points.size() == 2);
  const Screened screened = screen(read.points);
  REQUIRE(screened.set_aside.size() == 1);
  CHECK(screened.set_aside[0].doubt == Doubt::contradicts_itself);
  CHECK(screened.set_aside[0].point.bytes == 2097152);
  CHECK(contains(screened.set_aside[0].reason, "2097152 B / 37.37 us"));
  CHECK(screened.kept.size() == 1);
}

TEST_CASE("the bound is the wires': ring at the link, in-switch reduction above it, trees of two nodes at twice the NICs") {
  // 8 H100: 450 GB/s one way each; 8 NICs of 50 GB/s
  const System h100 = load_system("dgx-h100");
  const double B = h100.tier(TierRole::scale_up)->bandwidth.value.value(), D = h100.tier(TierRole::nic)->aggregate().value();
  Point p = at_busbw("dgx-h100", 1);
  CHECK(highest_bus_bandwidth(h100, p) == Approx(2.0 * 7 / 9 * B));
  p.algorithm = Algorithm::ring;
  CHECK(highest_bus_bandwidth(h100, p) == Approx(B));
  p.algorithm.reset();
  p.collective = Collective::all_gather;
  CHECK(highest_bus_bandwidth(h100, p) == Approx(B));
  p = at_busbw("dgx-h100", 1, 2);
  CHECK(highest_bus_bandwidth(h100, p) == Approx(2 * D));
  p.algorithm = Algorithm::ring;
  CHECK(highest_bus_bandwidth(h100, p) == Approx(D));
  p = at_busbw("dgx-h100", 1, 4);
  CHECK(highest_bus_bandwidth(h100, p) == Approx(D));
  p.collective = Collective::all_to_all;  // of 31/32 S per rank and each direction 24/32 leave the node
  CHECK(highest_bus_bandwidth(h100, p) == Approx(D / 8 * 31 / 24));
  p.nics_per_node = 4;
  CHECK(highest_bus_bandwidth(h100, p) == Approx(D / 16 * 31 / 24));
  p.gpus_per_node = 9;  // not this machine
  CHECK(highest_bus_bandwidth(h100, p) == 0);
}

TEST_CASE("bus bandwidth just below the bound is kept, above it set aside with both figures") {
  CHECK(screen({at_busbw("dgx-h100", 466)}).set_aside.empty());  // measured, above the link's 450
  CHECK(screen({at_busbw("dgx-h100", 695)}).set_aside.empty());
  const Screened above = screen({at_busbw("dgx-h100", 730)});
  REQUIRE(above.set_aside.size() == 1);
  CHECK(above.set_aside[0].doubt == Doubt::above_the_wires);
  CHECK(contains(above.set_aside[0].reason, "730 GB/s"));
  CHECK(contains(above.set_aside[0].reason, "allow 700"));
  CHECK(screen({at_busbw("dgx-a100", 295)}).set_aside.empty());
  CHECK(screen({at_busbw("dgx-a100", 320)}).set_aside.size() == 1);     // no reduction in its switches: 300
  CHECK(screen({at_busbw("no-such-machine", 1e6)}).set_aside.empty());  // nothing to hold it to
}

TEST_CASE("no answer of the model itself is above the wires") {
  Points points;
  for (const char* system : {"dgx-a100", "dgx-h100", "dgx-b200", "aws-p5"})
    for (const int nodes : {1, 2, 4})
      for (const Collective c : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                                 Collective::reduce, Collective::all_to_all})
        for (double bytes = 1 << 10; bytes < 2e10; bytes *= 8) {
          Point p = point(system, bytes, 1, nodes);
          p.collective = c;
          points.points.push_back(p);
        }
  std::vector<Point> answers;
  for (const ComparedPoint& c : validate(points, {.raw = true}).points) {
    answers.push_back(c.point);
    answers.back().seconds = c.prediction.seconds;
  }
  REQUIRE(answers.size() > 400);
  CHECK(doubts(screen(answers), Doubt::above_the_wires) == 0);
}

TEST_CASE("ten times in a row under two machines' names are doubted under both, nine are not") {
  const auto series = [](const std::string& system, int count) {
    std::vector<Point> out;
    for (int i = 0; i < count; ++i) out.push_back(point(system, 1024.0 * std::pow(2, i), 1e-5 * (1 + 0.37 * i * i)));
    return out;
  };
  const auto both = [&](const std::string& a, const std::string& b, int count) {
    std::vector<Point> out = series(a, count);
    for (const Point& p : series(b, count)) out.push_back(p);
    return screen(out);
  };
  const Screened twelve = both("dgx-h100", "dgx-a100", 12);
  CHECK(doubts(twelve, Doubt::two_names) == 24);
  CHECK(contains(twelve.set_aside.front().reason, "dgx-a100"));
  CHECK(contains(twelve.set_aside.back().reason, "dgx-h100"));
  CHECK(both("dgx-h100", "dgx-a100", 9).set_aside.empty());
  CHECK(both("dgx-h100", "dgx-h100", 12).set_aside.empty());
  // few digits: a flat stretch is no fingerprint
  std::vector<Point> flat;
  for (const char* system : {"dgx-h100", "dgx-a100"})
    for (int i = 0; i < 12; ++i) flat.push_back(point(system, 8.0 * std::pow(2, i), 1e-5));
  CHECK(screen(flat).set_aside.empty());
}

TEST_CASE("rows before the flat start of a sweep that are slower than it are warm-up") {
  const auto sweep = [](std::vector<double> us) {
    std::vector<Point> out;
    double bytes = 8;
    for (const double t : us) {
      out.push_back(point("dgx-h100", bytes, t * 1e-6));
      bytes *= 2;
    }
    return screen(out);
  };
  CHECK(doubts(sweep({40, 20, 20.5, 21, 22}), Doubt::warm_up) == 1);
  CHECK(doubts(sweep({90, 40, 20, 20.5, 21, 22}), Doubt::warm_up) == 2);
  CHECK(sweep({25, 20, 20.5, 21, 22}).set_aside.empty());    // 1.25: noise
  CHECK(sweep({40, 30, 20, 25, 35, 50}).set_aside.empty());  // nowhere flat
  CHECK(sweep({20, 20.5, 40, 20.8, 21}).set_aside.empty());  // not at the start
  std::vector<Point> two;                                    // each sweep has its own start
  for (int run = 0; run < 2; ++run)
    for (const double t : {40.0, 20.0, 20.5}) two.push_back(point("dgx-h100", t == 40 ? 8 : t == 20 ? 16 : 32, t * 1e-6));
  CHECK(doubts(screen(two), Doubt::warm_up) == 2);
}

TEST_CASE("a rate of small messages in flight is no time, of large ones it is") {
  Point small = point("dgx-h100", 2, 1e-7, 2), large = point("dgx-h100", 8 << 20, 1.8e-4, 2);
  for (Point* p : {&small, &large}) {
    p->collective = Collective::send_recv;
    p->path = Path::nic;
    p->streamed = true;
  }
  const Screened s = screen({small, large});
  REQUIRE(s.set_aside.size() == 1);
  CHECK(s.set_aside[0].doubt == Doubt::stream);
  CHECK(s.kept.size() == 1);
}

TEST_CASE("of the measurements that fits rest on at most one in a hundred is set aside", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  for (const char* file :
       {"dgx-a100.nccl.csv", "dgx-h100.nccl.csv", "dgx-b200.nccl.csv", "l40s-pcie.nccl.csv", "multinode/points_healthy.csv"}) {
    const std::vector<Point> points = read_points(folder / file).points;
    const Screened s = screen(points);
    INFO(file);
    CHECK(s.set_aside.size() * 100 <= points.size());
    CHECK(doubts(s, Doubt::above_the_wires) == 0);
    CHECK(doubts(s, Doubt::contradicts_itself) == 0);
  }
}

TEST_CASE("a run of which many times are impossible is not fitted at all, one slip costs its row alone") {
  // a hundredth of what NCCL takes: small messages end before a kernel could have started, large ones are above the wires; a tenth: small
  // ones look possible and are of the same clock
  const System h100 = load_system("dgx-h100");
  std::vector<Point> hundredth, tenth, slip;
  for (double bytes = 8; bytes < 2e10; bytes *= 2) {
    const double seconds = predict(h100, AllReduce{.bytes = Bytes::from_value(bytes), .ranks = 8, .nodes = 1}).seconds;
    hundredth.push_back(point("dgx-h100", bytes, seconds / 100));
    tenth.push_back(point("dgx-h100", bytes, seconds / 10));
    slip.push_back(point("dgx-h100", bytes, bytes == 1048576 ? 1e-7 : seconds));
  }
  const Screened all = screen(hundredth), less = screen(tenth);
  CHECK(all.kept.empty());
  CHECK(doubts(all, Doubt::below_a_launch) > 10);
  CHECK(doubts(all, Doubt::above_the_wires) > 5);
  CHECK(less.kept.empty());
  CHECK(doubts(less, Doubt::above_the_wires) > 5);
  REQUIRE(doubts(less, Doubt::impossible_run) > 10);
  CHECK(contains(less.set_aside.front().reason, "its times or sizes are not what they say"));
  const Screened one = screen(slip);
  CHECK(one.set_aside.size() == 1);
  CHECK(one.kept.size() == slip.size() - 1);
}

TEST_CASE("a time below a kernel's start is doubted of kernels' libraries, not of transfers or processes' memory") {
  Point p = point("dgx-h100", 8, 0.4e-6);
  p.library = "nccl";
  CHECK(doubts(screen({p}), Doubt::below_a_launch) == 1);
  p.seconds = 1.1e-6;
  CHECK(screen({p}).set_aside.empty());
  p.seconds = 0.4e-6;
  p.library = "openmpi";
  CHECK(screen({p}).set_aside.empty());
}
