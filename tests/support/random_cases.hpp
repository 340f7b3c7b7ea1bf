#pragma once
/// Random machines, constants and operations for properties that must hold for all of them. The seed is
/// fixed; a failing case prints as one line that says how to reproduce it.

#include <fabricost/choice/candidates.hpp>
#include <fabricost/fabricost.hpp>
#include <fabricost/predict/fabric_of.hpp>

#include "systems.hpp"

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace support {

inline constexpr std::uint64_t seed = 20251120;

class Random {
 public:
  explicit Random(std::uint64_t start) : engine_(start) {}
  double uniform(double from, double to) { return from + (to - from) * static_cast<double>(engine_() >> 11) / 9007199254740992.0; }
  /// Between two numbers, with a log-uniform distribution.
  double scaled(double from, double to) { return from * std::exp(uniform(0, std::log(to / from))); }
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

inline void scale(fabricost::core::Bandwidth& b, double by) { b = by * b; }
/// Scales a tier's rate, its links and NCCL's planning rate alike.
inline void scale_bandwidth(fabricost::core::Tier& t, double by) {
  scale(t.bandwidth.value, by);
  scale(t.link_bandwidth, by);
  scale(t.planning_rate, by);
}

inline fabricost::core::Constants random_constants(Random& random) {
  fabricost::core::Constants c;
  const auto vary = [&](double& x) { x *= random.scaled(0.6, 1.7); };
  auto& up = c.scale_up;
  for (double* x : {&up.launch,
                    &up.ll.hop,
                    &up.ll.channels_cost,
                    &up.ll.full_threads,
                    &up.ll.forward,
                    &up.ll.reduce,
                    &up.ll.reduce_int8,
                    &up.ll128.floor,
                    &up.simple.floor,
                    &up.simple.hop,
                    &up.simple.drain,
                    &up.simple.cold_copy,
                    &up.nvls.floor,
                    &up.nvls.chunk,
                    &up.nvls.fill,
                    &up.all_to_all.base,
                    &up.all_to_all.hop,
                    &up.all_to_all.ll_ramp,
                    &up.all_to_all.channel,
                    &up.all_to_all.floor,
                    &up.all_to_all.ramp,
                    &up.all_to_all.self_copy,
                    &up.all_to_all.cold_copy,
                    &up.int8_volume,
                    &up.tree_hop})
    vary(*x);
  up.ll.channel_share = random.uniform(0.25, 0.6);
  up.ll.chunk_share = random.uniform(0, 1);
  up.simple.rate_share = random.uniform(0.6, 0.9);
  up.simple.overlap = random.uniform(1, 3);
  up.simple.reduce_scatter_rate = random.uniform(0.95, 1.07);
  up.simple.all_reduce_rate = random.uniform(0.95, 1.06);
  up.simple.reduce_latency = random.uniform(0.7, 1.1);
  up.nvls.rate_share = random.uniform(0.7, 1.2);
  up.all_to_all.rate_share = random.uniform(0.5, 0.95);
  up.all_to_all.overlap = random.uniform(1, 3);
  c.transport = fabricost::core::TransportConstants::from_tree_step(random.scaled(3e-6, 300e-6));
  auto& t = c.transport;
  t.efficiency = random.uniform(0.85, 1);
  t.host_bridge = random.uniform(0.5, 0.8);
  t.ll_share = random.scaled(0.04, 0.6);
  t.exchange_share = random.uniform(0.5, 0.95);
  t.no_gdr_rate = random.uniform(0.7, 1);
  c.basis = static_cast<fabricost::core::Basis>(random.below(3));
  c.transport_basis = static_cast<fabricost::core::Basis>(random.below(3));
  c.transport_known = random.one_in(2);
  c.most_nodes = random.one_in(2) ? 1 : 16;
  return c;
}

inline fabricost::core::System random_system(Random& random) {
  using namespace fabricost::plan;
  System s =
      random.of(std::vector<System>{systems::ampere_box(), systems::hopper_box(), systems::hopper_box(), systems::blackwell_box(),
                                    systems::rack(), systems::grace_hopper_quad(), systems::pcie_box(), systems::full_mesh_box(),
                                    systems::cube_mesh_box(), systems::torus_cube(), systems::lone_gpus(), systems::tapered_boxes()});
  s.constants = random_constants(random);
  s.cpu = static_cast<Cpu>(random.below(5));
  if (s.library != Library::other && random.one_in(4))
    s.library = random.of(std::vector<Library>{Library::rccl, Library::oneccl, Library::other});
  for (Tier& t : s.tiers) {
    if (t.role == TierRole::scale_up) scale_bandwidth(t, random.scaled(0.6, 1.8));
    if (t.role == TierRole::nic) {
      scale_bandwidth(t, random.scaled(0.25, 2));
      t.transport = {.name = "random", .ll128 = random.below(14) > 2};  // as often as among those of data/transports
      t.path = static_cast<NicPath>(random.below(static_cast<int>(nic_path_names.size())));
      t.gpu_direct = !random.one_in(4);
      t.sharp = random.one_in(3);
    }
    if (t.role == TierRole::network) {
      t.oversubscription = random.one_in(2) ? 1 : random.uniform(1, 8);
      t.endpoints = 1 << random.below(8);
    }
    t.latency.value = Time::from_value(t.latency.value.value() * random.uniform(0, 4));
  }
  return s;
}

/// An operation that fits the machine.
inline fabricost::core::Operation random_operation(Random& random, const fabricost::core::System& s) {
  using namespace fabricost::plan;
  Operation op;
  op.collective = static_cast<Collective>(random.below(static_cast<int>(collective_names.size())));
  op.dtype = static_cast<DataType>(random.below(static_cast<int>(data_type_names.size())));
  if (op.collective == Collective::send_recv) {
    op.path = s.domain > 1 && random.one_in(2) ? Path::gpu_gpu : Path::nic;
    op.nodes = op.path == Path::nic ? 2 + 2 * random.below(3) : 1;
    op.ranks = 2;
    return op;
  }
  const int nodes_of_domain = s.domain / s.gpus_per_node;
  if (s.domain > 1 && random.one_in(2)) {  // inside one domain
    op.ranks = random.one_in(2) ? s.domain : 2 + random.below(s.domain - 1);
  } else {
    const int domains = random.of(std::vector<int>{2, 2, 3, 4, 8, 16, 32, 100});
    op.nodes = domains * nodes_of_domain;
    const int per_node = random.one_in(2) ? s.gpus_per_node : 1 + random.below(s.gpus_per_node);
    op.ranks = op.nodes * per_node;
  }
  return op;
}

struct Case {
  int number = 0;
  fabricost::core::System system;
  fabricost::core::Operation operation;

  /// `case 17 of seed 1: hopper-box all_reduce half ranks 16 nodes 2 gpu-gpu`
  [[nodiscard]] std::string text() const {
    char out[200];
    std::snprintf(out, sizeof out, "case %d of seed %llu: %s %s %s ranks %d nodes %d %s", number, static_cast<unsigned long long>(seed),
                  system.name.c_str(), std::string{name(operation.collective)}.c_str(), std::string{name(operation.dtype)}.c_str(),
                  operation.ranks, operation.nodes, std::string{name(operation.path)}.c_str());
    return out;
  }
  [[nodiscard]] std::string text(fabricost::core::Candidate pair, double bytes) const {
    char out[100];
    std::snprintf(out, sizeof out, " %s %s %.17g B", std::string{name(pair.algorithm)}.c_str(), std::string{name(pair.protocol)}.c_str(),
                  bytes);
    return text() + out;
  }
};

/// Case i depends only on the seed and i.
inline Case random_case(int i) {
  Random random{seed * 1000003ULL + static_cast<std::uint64_t>(i)};
  Case c;
  c.number = i;
  c.system = random_system(random);
  c.operation = random_operation(random, c.system);
  return c;
}

/// Pairs that can run the case.
inline fabricost::core::Candidates pairs_of(const Case& c) {
  return possible_candidates(c.operation.collective, fabric_of(c.system, c.operation), is_byte_wide(c.operation.dtype));
}
inline fabricost::core::Choice forced(fabricost::core::Candidate pair) { return {.algorithm = pair.algorithm, .protocol = pair.protocol}; }

/// Prints the first failure of a property for each (collective, algorithm, protocol), a few in all, and counts the rest.
class Report {
 public:
  explicit Report(const char* property) : property_(property) {}
  /// \param line what to print; called only on failure
  template <class Line>
  void expect(bool holds, const Case& c, fabricost::core::Candidate pair, double bytes, Line&& line) {
    ++checked_;
    if (holds) return;
    ++failed_;
    const int key =
        (static_cast<int>(c.operation.collective) * 16 + static_cast<int>(pair.algorithm)) * 3 + static_cast<int>(pair.protocol);
    for (const int seen : seen_)
      if (seen == key) return;
    seen_.push_back(key);
    lines_.append("\n  ").append(property_).append(": ").append(line()).append(" ").append(c.text(pair, bytes));
  }
  void expect(bool holds, const Case& c, fabricost::core::Candidate pair, double bytes) {
    expect(holds, c, pair, bytes, [] { return std::string{}; });
  }
  [[nodiscard]] long checked() const { return checked_; }
  [[nodiscard]] long failed() const { return failed_; }
  /// A line for each kind of failure, and their number.
  [[nodiscard]] std::string text() const { return std::to_string(failed_) + " of " + std::to_string(checked_) + " fail:" + lines_; }

 private:
  const char* property_;
  long checked_ = 0, failed_ = 0;
  std::vector<int> seen_;
  std::string lines_;
};

/// 0, 1, and about two per octave up to 2^44, avoiding powers of two.
inline std::vector<double> random_sizes(int i) {
  Random random{seed ^ (static_cast<std::uint64_t>(i) * 7919)};
  std::vector<double> out{0, 1};
  for (double s = 2; s < 17592186044416.0; s *= random.uniform(1.1, 2)) out.push_back(std::floor(s));
  return out;
}

}  // namespace support
