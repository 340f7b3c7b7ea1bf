// The command of CONTRIBUTING.md writes the transports in data/calibrations, without the sweeps of data/measurements/left-out.csv.
#include "support/measurements.hpp"
#include "support/message_of.hpp"

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/validation/set_aside.hpp>
#include <fabricost/validation/validate.hpp>

#include "catch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

using namespace fabricost::core;
using support::contains;

namespace {

std::vector<std::string> terms_left_out() {
  std::ifstream in(std::filesystem::path(FABRICOST_SOURCE_DIR) / "data" / "measurements" / "left-out.csv");
  std::vector<std::string> out;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) out.push_back(line.substr(0, line.find(',')));
  return out;
}

/// The healthy runs of all rounds.
Points healthy_runs(const std::filesystem::path& folder) {
  Points out = read_points(folder / "multinode" / "points_healthy.csv");
  for (const char* round : {"multinode", "newer"}) out.append(read_points(folder / "second" / round / "points_healthy.csv"));
  for (const char* round : {"multinode", "newer"}) out.append(read_points(folder / "third" / "released" / round / "points_healthy.csv"));
  out.append(read_points(folder / "third" / "points_collectives.csv"));
  out.append(read_points(std::filesystem::path(FABRICOST_SOURCE_DIR) / "data" / "measurements" / "dgx-spark.csv"));
  return out;
}

/// A file of data/calibrations.
std::string text_of(const std::string& name) {
  std::ifstream in(std::filesystem::path(FABRICOST_SOURCE_DIR) / "data" / "calibrations" / (name + ".yaml"));
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("shipped transports are what a fit of the public clusters says", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  const std::vector<std::string> left = terms_left_out();
  REQUIRE(left.size() == 11);
  const Calibration fit = calibrate(healthy_runs(folder), {.only = ConstantSet::transport, .leave_out = left});
  CHECK(fit.points == 3379);
  std::set<std::string> named, transports, clusters;
  for (const CalibratedSet& set : fit.sets) {
    named.insert(set.systems.begin(), set.systems.end());
    (set.cluster.empty() ? transports : clusters).insert(set.name);
    const std::vector<std::string> network{"tiers.nic.transport=" + std::string{set.transport.family().view()}};
    const System machine = set.cluster.empty() ? load_system("dgx-h100", network) : load_system(set.cluster);
    CHECK(machine.constants.transport_name == set.name);
    CHECK(machine.constants.transport_basis == (set.cluster.empty() ? Basis::sibling : Basis::calibrated));
    const std::string shipped = text_of(set.name);
    INFO(set.name);
    CHECK(contains(shipped, fmt::format("launches: [{}]", fmt::join(set.launches, ", "))));
    CHECK(contains(shipped, fmt::format("libraries: [{}]", fmt::join(set.libraries, ", "))));
    CHECK(contains(shipped,
                   fmt::format("fewest_ranks: {}, most_ranks: {}, most_nodes: {}", set.fewest_ranks, set.most_ranks, set.most_nodes)));
    CHECK(contains(shipped, "measured: {smallest: "));
    for (const Parameter& p : parameters_of(ConstantSet::transport)) {
      const double fresh = p.value(set.constants), there = p.value(machine.constants);
      if (!(fresh > 0) && !(there > 0)) continue;
      INFO(set.name << ", " << p.key << ": shipped " << there << ", fitted " << fresh);
      CHECK(std::fabs(std::log(fresh / there)) < 0.01);
    }
  }
  CHECK(named.size() == 38);
  CHECK(transports.size() == 13);
  CHECK(clusters.size() == 32);
}

TEST_CASE("intervals of clusters that a transport's fit has not seen hold nine in ten of their points, and are no wider than that",
          "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  const std::set<std::string> clusters{"alps-gh200",     "polaris-a100",      "kestrel-h100",  "sirius-a100", "gcp-a3-ultra",
                                       "gcp-a4",         "gcp-a3-ultra-1gpu", "gcp-a4-1gpu",   "oci-a100",    "oci-gb200-nvl72",
                                       "rtx6000d-8-cx8", "oci-gb200v3-nvl72", "dgx-spark-pair"};
  Points all;
  std::vector<LeaveOut> left;
  for (const std::string& term : terms_left_out()) left.emplace_back(term);
  for (const Point& p : healthy_runs(folder).points)
    if (p.nodes > 1 && clusters.contains(p.system.str()) &&
        std::none_of(left.begin(), left.end(), [&](const LeaveOut& l) { return l.holds(p); }))
      all.points.push_back(p);
  all.points = merge_repeats(all.points);
  double inside = 0, counted = 0;
  for (const std::string& cluster : clusters) {
    Points its, others;
    for (const Point& p : all.points) (p.system == cluster ? its : others).points.push_back(p);
    const Calibration fit = calibrate(others, {.only = ConstantSet::transport, .starts = 1});
    const auto unseen = [&](System& system) {
      apply_transport_mean(system, fit);
      apply_calibration(system, fit);
    };
    const ErrorSummary errors = validate(its, {.adjust = unseen}).total;
    inside += errors.interval_coverage * errors.points;
    counted += errors.points;
  }
  CHECK(inside / counted > 0.87);
  CHECK(inside / counted < 0.93);
}

TEST_CASE("a cluster's own constants are for its own network, and of its transport's for all others", "[calibrate]") {
  const Constants own = load_system("gcp-a4-1gpu").constants, like = load_system("gcp-a4x").constants;
  CHECK((own.transport_name == "cluster-gcp-a4-1gpu" && own.transport_basis == Basis::calibrated));
  CHECK((like.transport_name == "transport-gib" && like.transport_basis == Basis::sibling));
  CHECK(own.transport.ring_ll_step != like.transport.ring_ll_step);
  const Constants elsewhere = load_system("gcp-a4-1gpu", std::vector<std::string>{"tiers.nic.transport=infiniband"}).constants;
  CHECK((elsewhere.transport_name == "transport-infiniband" && elsewhere.transport_basis == Basis::sibling));
}

TEST_CASE("what is left out of the fit is little and said to be faulty, and Alps at 64 nodes is fitted", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  const std::vector<LeaveOut> left = leave_outs(terms_left_out());
  int all = 0, out = 0, kept_at_64 = 0;
  for (const Point& p : healthy_runs(folder).points) {
    if (p.nodes < 2) continue;
    ++all;
    out += left_out(left, p) ? 1 : 0;
    kept_at_64 += p.system == "alps-gh200" && p.nodes == 64 && !left_out(left, p) && p.bytes > 1e6 ? 1 : 0;
  }
  CHECK(all == 10813);
  CHECK(out == 1066);
  CHECK(kept_at_64 >= 6);  // the sweep 017 from 1 GiB on
}
