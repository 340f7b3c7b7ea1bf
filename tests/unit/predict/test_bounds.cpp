// No answer beats the wires: the bus bandwidth an algorithm allows at a tier's one-way rate.
#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/price/lower_bound.hpp>
#include <fabricost/specs/load.hpp>

#include "support/random_cases.hpp"

#include "catch.hpp"
#include "support/slow_build.hpp"

using namespace fabricost::core;

namespace {

struct Wires {
  double gpu = 0;     ///< one way per GPU into the scale-up tier, of those links that lead to ranks taking part
  double domain = 0;  ///< one way out of a domain, all its NICs together
  double nics = 1;    ///< of them
  double g = 1, N = 1, n = 1;
};

Wires wires_of(const support::Case& c, const Fabric& f) {
  Wires w;
  w.g = f.local();
  w.N = f.domains();
  w.n = f.ranks();
  for (const Tier& t : c.system.tiers) {
    if (t.role == TierRole::scale_up) {
      w.gpu = t.bandwidth.value.value();
      if (t.kind == TierKind::full_mesh) w.gpu *= (w.g - 1) / (t.endpoints - 1);
    }
    if (t.role == TierRole::nic) {
      const double per_gpu = static_cast<double>(t.endpoints) / c.system.gpus_per_node;
      w.nics = std::max(1.0, std::floor(per_gpu * w.g + 1e-9));
      w.domain = w.nics * t.bandwidth.value.value();
    }
  }
  return w;
}

/// Highest bus bandwidth the algorithm allows.
double max_bus_bandwidth(Candidate pair, Collective op, const Wires& w) {
  if (w.N <= 1) return pair.algorithm == Algorithm::nvls && op == Collective::all_reduce ? 2 * (w.n - 1) / (w.n + 1) * w.gpu : w.gpu;
  switch (op) {
    case Collective::all_to_all: return w.domain / w.g * (w.n - 1) / (w.n - w.g);  // (n-g)/n S of every rank leave its domain
    case Collective::send_recv: return w.domain / std::min(w.nics, w.g);  // one GPU of a domain sends, over its own NICs alone
    case Collective::broadcast:
    case Collective::reduce: return w.domain;
    default: break;
  }
  switch (pair.algorithm) {
    case Algorithm::ring:  // g - 1 of g hops are inside; where the borders are differs from channel to channel
      return w.g > 1 ? std::min(w.gpu * w.g / (w.g - 1), w.domain) : w.domain;
    case Algorithm::tree:
    // halves go over two trees; a node has at most one neighbour among two nodes, two and one among three (3/2 S a way), three and one beyond
    case Algorithm::nvls_tree: return (w.N <= 2 ? 2 : w.N <= 3 ? 4.0 / 3 : 1) * w.domain;
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain: return 2 * w.domain;
    default: return w.domain * (w.n - 1) / (w.n - w.g);  // (N-1)/N S leave a domain in each half
  }
}

}  // namespace

TEST_CASE("no interval begins below what bytes and links allow, whatever the constants and however wide it is", "[predict][property]") {
  support::Report report{"begins too fast"};
  int held = 0;
  for (int i = 0; i < support::draws(500); ++i) {
    support::Case c = support::random_case(i);
    c.system.constants.interval.unfitted_algorithm = 3;  // wide ones, so that the links are what holds them
    const Fabric f = fabric_of(c.system, c.operation);
    const Wires w = wires_of(c, f);
    for (const Candidate pair : support::pairs_of(c)) {
      const double at_point = max_bus_bandwidth(pair, c.operation.collective, w);
      double max = at_point;
      const bool trees = pair.algorithm == Algorithm::tree || pair.algorithm == Algorithm::nvls_tree;
      // of two trees with half of the data each, up and down: 1, 1.5 or 2 S leave the fullest of 2, 3 or more domains
      if (w.N > 1 && trees && c.operation.collective == Collective::all_reduce)
        max = w.domain * 2 * (w.n - 1) / w.n / (w.N <= 2 ? 1 : w.N <= 3 ? 1.5 : 2);
      for (const double bytes : support::random_sizes(i)) {
        Operation op = c.operation;
        op.bytes = Bytes::from_value(bytes);
        const Prediction p = predict(c.system, op, support::forced(pair));
        const double moved = bytes * bus_factor(op.collective, static_cast<int>(w.n)), busbw = moved / p.low;
        const bool sound = busbw <= max * (1 + 1e-9) && moved / p.seconds <= at_point * (1 + 1e-12) && p.min <= p.low && p.low <= p.seconds;
        report.expect(sound, c, pair, bytes, [&] {
          return std::to_string(busbw / 1e9).append(" GB/s of at most ").append(std::to_string(max / 1e9)).append(",");
        });
        held += p.low == p.min && p.low < p.seconds ? 1 : 0;
      }
    }
  }
  INFO(report.text());
  CHECK(report.failed() == 0);
  CHECK(report.checked() > support::draws(80000));
  CHECK(held > support::draws(3000));
}

TEST_CASE("the least time knows no fitted constant and is the same in a curve", "[predict][property]") {
  for (int i = 0; i < 300; ++i) {
    const support::Case c = support::random_case(i);
    System other = c.system;
    other.constants = support::random_case(i + 1000).system.constants;
    const Fabric f = fabric_of(c.system, c.operation);
    for (const Candidate pair : support::pairs_of(c)) {
      const Curve here = compile(c.system, c.operation, support::forced(pair)), there = compile(other, c.operation, support::forced(pair));
      CHECK(here.min_seconds(1e9) == there.min_seconds(1e9));
      CHECK(here.min_seconds(1e9) == 1e9 * min_per_byte(schedule_of(pair.algorithm, c.operation.collective, f), f));
    }
  }
}

TEST_CASE("no time is shorter than the schedule's bytes over the wires it uses", "[predict][property]") {
  support::Report report{"too fast"};
  for (int i = 0; i < support::draws(500); ++i) {
    const support::Case c = support::random_case(i);
    const Fabric f = fabric_of(c.system, c.operation);
    const Wires w = wires_of(c, f);
    for (const Candidate pair : support::pairs_of(c)) {
      const Schedule s = schedule_of(pair.algorithm, c.operation.collective, f);
      const Curve curve = compile(c.system, c.operation, support::forced(pair));
      for (const double bytes : support::random_sizes(i)) {
        const bool rings = pair.algorithm == Algorithm::ring && w.N > 1;  // g - 1 of g hops are inside
        const double inside = w.g > 1 ? s.bytes(0) * bytes / w.gpu * (rings ? (w.g - 1) / w.g : 1) : 0;
        const double across = w.N > 1 ? s.bytes(1) * bytes / w.domain : 0;
        report.expect(curve.seconds(bytes) >= std::max(inside, across) * (1 - 1e-12), c, pair, bytes, [&] {
          return std::to_string(std::max(inside, across) / curve.seconds(bytes))
              .append(inside > across ? " of the time are needed inside," : " of the time are needed across,");
        });
      }
    }
  }
  INFO(report.text());
  CHECK(report.failed() == 0);
}

/// Bytes of a GPU's memory that are read or written at least, over S.
double memory_traffic(Collective op, double n) {
  switch (op) {
    case Collective::all_reduce:
    case Collective::send_recv: return 2;  // all that a rank has, and all that it gets
    case Collective::all_to_all: return 2 * (n - 1) / n;
    default: return 1;
  }
}

TEST_CASE("no collective moves more than the GPUs' memory does, whatever the machine's rates are set to", "[predict][property]") {
  support::Report report{"faster than memory"};
  for (int i = 0; i < support::draws(500); ++i) {
    support::Case c = support::random_case(i);
    support::Random random{support::seed + static_cast<std::uint64_t>(i)};
    const double memory = random.scaled(1e11, 2e13);
    c.system.gpu.hbm_bandwidth.value = Bandwidth::from_value(memory);
    for (Tier& t : c.system.tiers)
      if (t.role == TierRole::scale_up || t.role == TierRole::nic || t.role == TierRole::host) support::scale_bandwidth(t, random.scaled(0.5, 100));
    const double n = fabric_of(c.system, c.operation).ranks();
    for (const Candidate pair : support::pairs_of(c)) {
      const Curve curve = compile(c.system, c.operation, support::forced(pair));
      for (const double bytes : support::random_sizes(i)) {
        const double moved = bytes * memory_traffic(c.operation.collective, n);
        report.expect(moved <= memory * curve.seconds(bytes) * (1 + 1e-12) && moved <= memory * curve.min_seconds(bytes) * (1 + 1e-12), c, pair,
                      bytes, [&] { return std::to_string(moved / curve.seconds(bytes) / memory).append(" of what memory moves,"); });
      }
    }
  }
  INFO(report.text());
  CHECK(report.failed() == 0);
  CHECK(report.checked() > support::draws(80000));
}

TEST_CASE("a link set faster than memory says that memory is what limits", "[predict]") {
  System s = systems::hopper_box();
  s.gpu.hbm_bandwidth.value = units::GB_per_s(3350);
  const AllReduce operation{.bytes = units::GiB(8), .ranks = 8};
  CHECK(predict(s, operation).bottleneck().tier == "nvlink");
  for (Tier& t : s.tiers)
    if (t.role == TierRole::scale_up) support::scale_bandwidth(t, 20);
  const Prediction p = predict(s, operation);
  CHECK(p.bottleneck().tier == "hbm");
  CHECK(p.bus_bandwidth() < units::GB_per_s(3350));
  CHECK(predict(s, SendRecv{.bytes = units::GiB(8)}).bus_bandwidth() < units::GB_per_s(3350 / 2));
  const System slow = load_system("dgx-h100", std::vector<std::string>{"hbm.bandwidth=40 GB/s"});
  CHECK(predict(slow, SendRecv{.bytes = units::GiB(8), .path = Path::gpu_host}).bus_bandwidth() <= 1.000001 * units::GB_per_s(40));
}

TEST_CASE("in-switch all_reduce may pass the link's rate, as measured", "[predict]") {
  // eight H100 reach 466 GB/s of bus bandwidth over 450 GB/s links; the bound is 700
  System s = systems::hopper_box();
  s.constants.scale_up.nvls.rate_share = 473.0 / 450;
  const Prediction p = predict(s, AllReduce{.bytes = units::GiB(8), .ranks = 8});
  CHECK(p.ran.algorithm == Algorithm::nvls);
  CHECK(p.bus_bandwidth() > units::GB_per_s(450));
  CHECK(p.bus_bandwidth() < units::GB_per_s(700));
}

TEST_CASE("what takes no time has no rate and no bottleneck, rather than an infinite one", "[predict]") {
  Prediction p;
  p.operation.bytes = units::MiB(1);
  p.ranks = 8;
  CHECK(p.algorithm_bandwidth().value() == 0);
  CHECK(p.bus_bandwidth().value() == 0);
  CHECK(p.bottleneck().name.empty());
  p.terms.add({.name = "idle", .tier = "gpu", .time = Time::from_value(0)});
  CHECK(p.bottleneck().name.empty());
  p.terms.add({.name = "wire", .tier = "nvlink", .time = Time::from_value(2)});
  p.terms.add({.name = "launch", .tier = "gpu", .time = Time::from_value(1)});
  CHECK(p.bottleneck().name == "wire");
}

TEST_CASE("the bus factor of no ranks is that of one", "[predict]") {
  for (std::size_t i = 0; i < collective_names.size(); ++i)
    for (const int ranks : {0, -1, -2147483647}) {
      INFO(collective_names[i] << " " << ranks);
      CHECK(bus_factor(static_cast<Collective>(i), ranks) == bus_factor(static_cast<Collective>(i), 1));
      CHECK(std::isfinite(bus_factor(static_cast<Collective>(i), ranks)));
    }
}
