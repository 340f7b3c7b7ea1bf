// A tuner plugin's choices: the borders that aws-ofi-nccl's source file states, and every polygon against another way to see whether a
// point lies inside.
#include <fabricost/choice/plugin.hpp>

#include "changes.hpp"

#include "catch.hpp"
#include "support/systems.hpp"

using namespace fabricost::core;
using namespace fabricost::test;

namespace {

System amazon(TunerPlugin plugin) {
  System s = systems::hopper_box();
  s.tiers[1].transport = {.name = "efa", .plugin = plugin};
  return s;
}
Candidate ran_at(const System& s, Collective op, int nodes, double bytes, int ranks = 0) {
  Operation one{.collective = op, .ranks = ranks, .nodes = nodes};
  one.bytes = Bytes::from_value(bytes);
  return predict(s, one).ran;
}
/// Checks the pairs on both sides of a border, which belongs to the first.
void changes_at(const System& s, Collective op, int nodes, double last, Candidate below, Candidate above, int ranks = 0) {
  CAPTURE(s.name, nodes, last);
  CHECK(ran_at(s, op, nodes, last, ranks) == below);
  CHECK(ran_at(s, op, nodes, std::ceil(last * (1 + 1e-6)), ranks) == above);
}

constexpr Candidate run_tree_ll{Algorithm::tree, Protocol::ll}, run_tree_ll128{Algorithm::tree, Protocol::ll128};
constexpr Candidate run_ring_ll{Algorithm::ring, Protocol::ll}, run_ring_ll128{Algorithm::ring, Protocol::ll128};
constexpr Candidate run_ring_simple{Algorithm::ring, Protocol::simple}, run_nvls_tree{Algorithm::nvls_tree, Protocol::simple};
constexpr Candidate run_pat{Algorithm::pat, Protocol::simple};

/// Whether a polygon winds around a point: the angles under which its sides are seen add up to an odd number of turns.
bool winds(const PluginRegion& region, double x, double y) {
  double turned = 0;
  for (std::size_t i = 0; i < region.corners; ++i) {
    const PluginCorner a = plugin_corners[region.first + i], b = plugin_corners[region.first + (i + 1) % region.corners];
    const double ax = std::log2(std::max(1.0, a.bytes)) - x, ay = std::log2(a.ranks) - y;
    const double bx = std::log2(std::max(1.0, b.bytes)) - x, by = std::log2(b.ranks) - y;
    turned += std::atan2(ax * by - ay * bx, ax * bx + ay * by);
  }
  return std::lround(std::fabs(turned) / (2 * 3.14159265358979323846)) % 2 == 1;
}
/// Distance to the nearest side.
double clear_of(const PluginRegion& region, double x, double y) {
  double out = 1e9;
  for (std::size_t i = 0; i < region.corners; ++i) {
    const PluginCorner a = plugin_corners[region.first + i], b = plugin_corners[region.first + (i + 1) % region.corners];
    const double ax = std::log2(std::max(1.0, a.bytes)), ay = std::log2(a.ranks);
    const double dx = std::log2(std::max(1.0, b.bytes)) - ax, dy = std::log2(b.ranks) - ay;
    const double length = dx * dx + dy * dy;
    const double along = length > 0 ? std::clamp(((x - ax) * dx + (y - ay) * dy) / length, 0.0, 1.0) : 0;
    out = std::min(out, std::hypot(ax + along * dx - x, ay + along * dy - y));
  }
  return out;
}

}  // namespace

TEST_CASE("the logarithms of corners, computed by the compiler, are those of the library", "[choice][plugin]") {
  for (const double x : {1.0, 1.5, 2.0, 3.0, 17.0, 64.0, 37748736.0, 1e12})
    CHECK(fabricost::core::detail::constant_log2(x) == Approx(std::log2(x)).epsilon(1e-14));
  for (int power = 0; power < 40; ++power) CHECK(fabricost::core::detail::constant_log2(std::exp2(power)) == power);
}

TEST_CASE("p5: all_reduce of 4 to 32 nodes changes where Amazon's file has its corners", "[choice][plugin]") {
  const System s = amazon(TunerPlugin::aws_p5);
  const Collective op = Collective::all_reduce;
  changes_at(s, op, 4, 37748736, run_tree_ll128, run_ring_ll128);
  // between the corners of 17 and 64 ranks, 1 and 2 GiB: straight in both logarithms
  const double right = std::exp2(30 + (5 - std::log2(17)) / (6 - std::log2(17)));
  CHECK(ran_at(s, op, 4, right * 0.999999) == run_ring_ll128);
  CHECK(ran_at(s, op, 4, 1610612736) == run_ring_simple);
  changes_at(s, op, 8, 117440512, run_tree_ll128, run_ring_ll128);
  CHECK(ran_at(s, op, 8, 2147483648) == run_ring_ll128);
  CHECK(ran_at(s, op, 8, 2684354560) == run_ring_simple);
  changes_at(s, op, 16, 301989888, run_tree_ll128, run_ring_ll128);
  changes_at(s, op, 16, 2147483648, run_ring_ll128, run_nvls_tree);
  changes_at(s, op, 16, 6442450944, run_nvls_tree, run_ring_simple);
  changes_at(s, op, 32, 301989888, run_tree_ll128, run_nvls_tree);
  CHECK(ran_at(s, op, 32, 1074790399) == run_nvls_tree);
  changes_at(s, op, 32, 2147483648, run_ring_ll128, run_nvls_tree);
  changes_at(s, op, 32, 12884901888, run_nvls_tree, run_ring_simple);  // 192 ranks end at 9 GiB, and that border is as steep as the ranks
}

TEST_CASE("p5en and p6-b200: gathering and scattering by the ranks of a node", "[choice][plugin]") {
  const System p5en = amazon(TunerPlugin::aws_p5en), p6 = amazon(TunerPlugin::aws_p6_b200);
  changes_at(p6, Collective::all_gather, 8, 2621440, run_ring_ll, run_ring_ll128);
  changes_at(p6, Collective::all_gather, 8, 871366656, run_ring_ll128, run_ring_simple);
  changes_at(p5en, Collective::reduce_scatter, 16, 4718592, run_ring_ll, run_ring_ll128);
  changes_at(p5en, Collective::reduce_scatter, 16, 2415919104, run_ring_ll128, run_ring_simple);
  changes_at(p5en, Collective::all_reduce, 16, 196608, run_tree_ll, run_tree_ll128);
  // one rank of each node, as the groups of data parallelism that pass over tensor parallelism
  changes_at(p5en, Collective::all_gather, 16, 16777216, run_pat, run_ring_ll128, 16);
  changes_at(p5en, Collective::all_gather, 16, 50331648, run_ring_ll128, run_ring_simple, 16);
  changes_at(p6, Collective::all_reduce, 128, 32768, run_tree_ll, run_tree_ll128, 128);
}

TEST_CASE("NCCL chooses on two nodes, without the plugin, before 2.19, and between the regions", "[choice][plugin]") {
  const System with = amazon(TunerPlugin::aws_p5), without = amazon(TunerPlugin::none);
  for (double bytes = 8; bytes < 2e10; bytes *= 3) {
    CHECK(ran_at(with, Collective::all_reduce, 2, bytes) == ran_at(without, Collective::all_reduce, 2, bytes));
    CHECK(ran_at(with, Collective::all_gather, 4, bytes) == ran_at(without, Collective::all_gather, 4, bytes));  // no region on p5
    System older = with, old = without;
    older.tuner = old.tuner = tuner_of_version(2, 18);
    CHECK(ran_at(older, Collective::all_reduce, 8, bytes) == ran_at(old, Collective::all_reduce, 8, bytes));
  }
  CHECK(ran_at(with, Collective::all_reduce, 8, 2.3e9) == ran_at(without, Collective::all_reduce, 8, 2.3e9));  // 2 to 2.5 GiB: no region
  CHECK(ran_at(with, Collective::all_reduce, 8, 2e11) == ran_at(without, Collective::all_reduce, 8, 2e11));    // beyond its largest size
  CHECK_FALSE(ran_at(with, Collective::all_reduce, 8, 1e6) == ran_at(without, Collective::all_reduce, 8, 5e8));
}

TEST_CASE("the plugin passes over what cannot run or is not allowed", "[choice][plugin]") {
  const System s = amazon(TunerPlugin::aws_p5);
  Operation large{.collective = Collective::all_reduce, .nodes = 32};
  large.bytes = units::GiB(4);
  CHECK(predict(s, large).ran == run_nvls_tree);
  Operation bytes = large;
  bytes.dtype = DataType::int8;
  CHECK_FALSE(predict(s, bytes).ran.algorithm == Algorithm::nvls_tree);
  System plain = s;
  plain.tiers[0].reduces_in_network = false;
  CHECK_FALSE(predict(plain, large).ran.algorithm == Algorithm::nvls_tree);
  CHECK(predict(s, large, {.algorithm = Algorithm::tree}).ran.algorithm == Algorithm::tree);
  const Choice ring{.algorithm = Algorithm::ring};
  CHECK(predict(s, large, ring).ran == predict(amazon(TunerPlugin::none), large, ring).ran);
}

TEST_CASE("inside a region is what its border winds around", "[choice][plugin][property]") {
  std::mt19937_64 engine{7};
  std::uniform_real_distribution<double> size(0, 38), ranks(1, 20);
  int inside = 0, differ = 0;
  for (const PluginRegion& region : plugin_regions)
    for (int i = 0; i < 3000; ++i) {
      const double x = size(engine), y = ranks(engine);
      if (clear_of(region, x, y) < 1e-6) continue;
      const bool held = fabricost::core::detail::holds(region, x, y);
      inside += held ? 1 : 0;
      differ += held != winds(region, x, y) ? 1 : 0;
    }
  CHECK(differ == 0);
  CHECK(inside > 10000);
}

TEST_CASE("corners belong to their region", "[choice][plugin]") {
  int outside = 0;
  for (const PluginRegion& region : plugin_regions)
    for (std::size_t i = 0; i < region.corners; ++i) {
      const PluginCorner& c = fabricost::core::detail::plugin_logs[region.first + i];
      const PluginCorner& before = fabricost::core::detail::plugin_logs[region.first + (i + region.corners - 1) % region.corners];
      const PluginCorner& after = fabricost::core::detail::plugin_logs[region.first + (i + 1) % region.corners];
      const bool flat = before.ranks == c.ranks && after.ranks == c.ranks;  // a side along which no line beside it runs
      outside += !flat && !fabricost::core::detail::holds(region, c.bytes, c.ranks) ? 1 : 0;
    }
  CHECK(outside == 0);
}

TEST_CASE("a curve with a plugin gives the prediction's pick on both sides of every threshold", "[choice][plugin][property]") {
  for (const TunerPlugin plugin : {TunerPlugin::aws_p5, TunerPlugin::aws_p5en, TunerPlugin::aws_p6_b200, TunerPlugin::aws_p6_b300}) {
    const System s = amazon(plugin);
    for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter})
      for (const int nodes : {3, 4, 5, 8, 16, 20, 32, 64, 100, 128, 1000})
        for (const int ranks : {0, nodes, 2 * nodes}) {
          const Curve curve = compile(s, {.collective = op, .ranks = ranks, .nodes = nodes});
          CAPTURE(name(plugin), name(op), nodes, ranks);
          for (int i = 1; i < curve.pieces(); ++i)
            for (const double bytes : {curve.threshold_bytes(i) - 1, curve.threshold_bytes(i), curve.threshold_bytes(i) + 1})
              CHECK(curve.ran_at(bytes) == ran_at(s, op, nodes, bytes, ranks));
          for (double bytes = 8; bytes < 2e11; bytes *= 1.37) {
            CAPTURE(bytes);
            CHECK(curve.ran_at(bytes) == ran_at(s, op, nodes, bytes, ranks));
          }
        }
  }
}
