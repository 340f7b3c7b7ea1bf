// Transports and their clusters: the constants that a fit of several shares, and those of transports without measurements.
#include "support/message_of.hpp"
#include "synthetic.hpp"

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

using namespace fabricost::observe;
using namespace synthetic;

namespace {

/// A machine that was never measured, its network of that transport.
System machine_with(const char* transport) {
  return load_system("dgx-h100", std::vector<std::string>{std::string{"tiers.nic.transport="} + transport});
}

}  // namespace

TEST_CASE("constants held between nodes follow the step's latency once, alone or fitted together", "[calibrate]") {
  Random random{support::seed + 6};
  System truth = load_system("aws-p5");
  Constants& c = truth.constants;
  const double step = 14e-6;
  c.transport = TransportConstants::from_tree_step(step);
  const Points measured = points_of(truth, "aws-p5", {.nodes = {2, 4, 8}, .bytes = sizes(1024, 4e9)}, random, 0.01);
  for (const char* system : {"aws-p5", ""}) {
    INFO("alone: " << system);
    const Calibration fit = calibrate(measured, {.system = system});
    const CalibratedSet& set = set_named(fit, "transport-efa-v2");
    CHECK(set.constants.transport.tree_step == Approx(step).epsilon(0.1));  // sweeps count as ten points each, so the prior still weighs
    const TransportConstants wanted = TransportConstants::from_tree_step(set.constants.transport.tree_step);
    CHECK(set.constants.transport.tree_growth == Approx(wanted.tree_growth).epsilon(0.1));  // fitted, and held to follow
    CHECK(set.constants.transport.exchange_peer == Approx(wanted.exchange_peer).epsilon(1e-5));
    CHECK(set.constants.transport.tree_simple_step == Approx(wanted.tree_simple_step).epsilon(1e-5));
  }
}

TEST_CASE("a transport is held to its relative's constants, and one nobody fitted to the mean of its kind of network", "[calibrate]") {
  Random random{support::seed + 8};
  const double step = 40e-6;
  System truth = load_system("aws-p5");
  truth.constants.transport = TransportConstants::from_tree_step(step);
  Points both = points_of(truth, "aws-p5", {.nodes = {2, 4, 8}, .bytes = sizes(1024, 4e9)}, random, 0.01);
  const Points alone = both;
  System newer = load_system("aws-p6-b200");
  newer.constants.transport = TransportConstants::from_tree_step(step);
  const Points few = points_of(newer, "aws-p6-b200", {.nodes = {2}, .bytes = sizes(1 << 28, 1 << 30)}, random, 0.01);
  both.points.insert(both.points.end(), few.points.begin(), few.points.end());
  const auto step_of = [](const Calibration& fit) { return set_named(fit, "transport-efa-v4").constants.transport.tree_step; };
  const double related = std::fabs(std::log(step_of(calibrate(both)) / step));
  const double unrelated = std::fabs(std::log(step_of(calibrate(few)) / step));
  INFO("off by " << related << " beside its relative, by " << unrelated << " without");
  CHECK(related < 0.5 * unrelated);  // large messages say little of a latency, a relative's do

  const Calibration p5 = calibrate(alone);
  const auto knows = [&](const char* called, auto apply) {
    System system = load_system(called, {}, "none");
    apply(system, p5);
    return system.constants;
  };
  const double fitted = set_named(p5, "transport-efa-v2").constants.transport.tree_step;
  const Constants relative = knows("aws-p6-b200", apply_calibration);
  CHECK((relative.transport_known && relative.transport_basis == Basis::sibling && relative.transport.tree_step == fitted));
  const Constants cloud = knows("gcp-a3-mega", apply_transport_mean);
  CHECK((!cloud.transport_known && cloud.transport_basis == Basis::datasheet));
  CHECK(cloud.transport.tree_step == Approx(fitted));  // the only one of its kind
  CHECK(!knows("gcp-a3-mega", apply_calibration).transport_known);
}

TEST_CASE("a set says how its runs were launched, at which sizes and on how many ranks, and where nothing said it", "[calibrate]") {
  Random random{support::seed + 10};
  Points runs = points_of(load_system("nebius-h100"), "nebius-h100", {.nodes = {2, 4}, .bytes = sizes(1024, 1048576)}, random);
  const auto written = [&] {
    const Calibration fit = calibrate(runs, {.only = ConstantSet::transport});
    return calibration_yaml(fit, "mine", "2026-11-24", "a test");
  };
  CHECK(support::contains(written(), "smallest: 1 KiB, largest: 1 MiB, fewest_ranks: 8, most_ranks: 8, most_nodes: 4"));
  CHECK(support::contains(written(), "launches: [unstated]"));
  for (std::size_t i = 0; i < runs.points.size(); i += 2) runs.points[i].launched = 1U << static_cast<unsigned>(LaunchMode::process);
  CHECK(support::contains(written(), "launches: [process, unstated]"));
}

TEST_CASE("clusters of one transport have constants of their own, and the transport's are their middle, whoever measured more",
          "[calibrate]") {
  Random random{support::seed + 9};
  const std::pair<const char*, double> clusters[] = {{"nebius-h100", 3e-6}, {"lambda-b200", 6e-6}, {"azure-nd-a100-v4", 12e-6}};
  Points all;
  for (const auto& [name, step] : clusters) {
    System truth = load_system(name);
    truth.constants.transport = TransportConstants::from_tree_step(step);
    const bool most = step == clusters[0].second;
    const std::vector<int> nodes = most ? std::vector<int>{2, 4, 8, 16} : std::vector<int>{2};
    const Points its = points_of(truth, name, {.nodes = nodes, .bytes = sizes(1024, 4e9)}, random, 0.01);
    all.points.insert(all.points.end(), its.points.begin(), its.points.end());
  }
  const Calibration fit = calibrate(all, {.only = ConstantSet::transport});
  REQUIRE(fit.sets.size() == 4);
  const CalibratedSet& shared = set_named(fit, "transport-infiniband");
  CHECK((shared.cluster.empty() && shared.systems.size() == 3 && shared.most_nodes == 16));
  CHECK(shared.constants.transport.tree_step == Approx(6e-6).epsilon(0.2));
  int points = 0;
  for (const auto& [name, step] : clusters) {
    const CalibratedSet& own = set_named(fit, std::string{"cluster-"} + name);
    CHECK((own.cluster == name && own.systems == std::vector<std::string>{name}));
    CHECK(own.constants.transport.tree_step == Approx(step).epsilon(0.1));
    CHECK(own.mape < 0.5 * shared.mape);
    points += own.points;
    System machine = load_system(name, {}, "none");
    apply_calibration(machine, fit);
    CHECK(machine.constants.transport.tree_step == own.constants.transport.tree_step);
    CHECK((machine.constants.transport_basis == Basis::calibrated && machine.constants.most_nodes == own.most_nodes));
  }
  CHECK(points == shared.points);
  System unseen = load_system("snellius-h100", {}, "none");
  apply_calibration(unseen, fit);
  CHECK(unseen.constants.transport.tree_step == shared.constants.transport.tree_step);
  CHECK(unseen.constants.transport_basis == Basis::sibling);
  System mean = load_system("alps-gh200", {}, "none");
  apply_transport_mean(mean, fit);
  CHECK(mean.constants.transport.tree_step == Approx(shared.constants.transport.tree_step));  // a cluster is no transport
}

TEST_CASE("a transport is fitted with what the board carries inside the nodes where the machine says so", "[calibrate]") {
  Random random{support::seed + 10};
  System truth = load_system("rtx6000d-8-cx8");
  truth.constants.transport = TransportConstants::from_tree_step(9e-6);
  const Points measured = points_of(truth, "rtx6000d-8-cx8", {.nodes = {2}, .bytes = sizes(1024, 8e9)}, random, 0.01);
  const Calibration fit = calibrate(measured, {.system = "rtx6000d-8-cx8"});
  CHECK(fit.mean_after < 3);  // a sweep counts as ten points, so the prior still weighs
}

TEST_CASE("transports without measurements ship the geometric mean of their kind of network, without Slingshot's own factors, and say so", "[calibrate]") {
  const std::pair<const char*, std::vector<const char*>> kinds[] = {
      {"gcp-v100-tcp", {"efa-host", "efa-v1", "efa-v2", "efa-v4", "tcpx", "tcpxo"}},
      {"jean-zay-a100", {"infiniband", "slingshot"}},
  };
  for (const auto& [unseen, like] : kinds) {
    INFO(unseen);
    const Constants c = load_system(unseen).constants;
    CHECK((!c.transport_known && c.transport_basis == Basis::datasheet));
    std::vector<Constants> relatives;
    for (const char* transport : like) relatives.push_back(machine_with(transport).constants);
    for (const Parameter& p : parameters_of(ConstantSet::transport)) {
      INFO(p.key);
      double sum = 0;
      for (const Constants& one : relatives) sum += std::log(p.value(one));
      if (like.back() == std::string_view{"slingshot"} && (std::string_view{p.key} == "ll_rendezvous" || std::string_view{p.key} == "exchange_tiny"))
        sum = static_cast<double>(like.size()) * std::log(p.value(relatives.front()));
      CHECK(p.value(c) == Approx(std::exp(sum / static_cast<double>(like.size()))).epsilon(1e-3));
    }
  }
}
