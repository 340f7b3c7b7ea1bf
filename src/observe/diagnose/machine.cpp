/// Identifies the machine of a log from its contents: GPU names in nccl-tests' rank list, or "8x B200" in
/// free text. One node is the machine that data/systems calls usual for its GPU, and the one in which a bridge
/// joins its cards is the second choice. Several nodes need their adapters: Amazon's by the plugin's name,
/// others by count and rate in NCCL's own topology dump. What stays ambiguous is not guessed.

#include "diagnose/context.hpp"
#include "diagnose/diagnose.hpp"
#include "specs/parts/gpu_index.hpp"
#include "specs/read_once.hpp"
#include "text/line_reader.hpp"

#include <fabricost/specs/load.hpp>
#include <fabricost/validation/set_aside.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

namespace fabricost::observe::diagnosis {

namespace {

/// Machines that are usual for one GPU of data/gpus.
struct Board {
  std::string system;                 ///< of one node
  std::vector<std::string> clusters;  ///< on networks of their own
  std::string bridged;                ///< its cards on a bridge; empty: none
};

const MachineIdentities& usual_machines() {
  return read_once([](const std::filesystem::path& data) { return machine_identities(data); });
}

class Boards {
 public:
  std::optional<Board> of(std::string_view text) const {
    const std::string gpu = gpus_->gpu_named(text);
    const auto system = machines_.systems.find(gpu);
    auto [at, last] = machines_.clusters.equal_range(gpu);
    const bool alone = system != machines_.systems.end();  // sold as a node, or only as part of a cluster
    if (gpu.empty() || (!alone && at == last)) return std::nullopt;
    Board out{alone ? system->second : (at++)->second, {}, {}};
    for (; at != last; ++at) out.clusters.push_back(at->second);
    if (const auto bridge = machines_.bridges.find(gpu); bridge != machines_.bridges.end()) out.bridged = bridge->second;
    return out;
  }

 private:
  std::shared_ptr<const GpuIdentities> gpus_ = GpuIdentities::shipped();
  const MachineIdentities& machines_ = usual_machines();
};

/// "8x B200", "8xH100" in a line that is not NCCL's.
std::optional<Board> board_in_words(const std::filesystem::path& file) {
  LineReader lines(file);
  std::string line;
  while (lines.next(line) && lines.number() < 200) {
    if (line.starts_with("#source") || line.find("NCCL INFO") != std::string::npos) continue;
    const auto at = line.find("8x");
    if (at == std::string::npos || (at > 0 && line[at - 1] >= '0' && line[at - 1] <= '9')) continue;
    const std::string_view rest = std::string_view{line}.substr(at + 2, 12);
    if (auto board = Boards{}.of(rest.substr(0, rest.find_first_of(",;:", 1)))) return board;
  }
  return std::nullopt;
}

/// The cluster among those whose NICs are Amazon's.
std::optional<Machine> on_amazon(const Board& board) {
  for (const std::string& name : board.clusters) {
    const System system = load_system(name, {}, "none", KernelSets::none());
    const Tier* nic = system.tier(TierRole::nic);
    if (nic != nullptr && !nic->link.empty() && load_link(nic->link).family == "efa") return Machine{name, 0, 0, {}};
  }
  return std::nullopt;
}

}  // namespace

namespace {

/// The adapters of a node with the highest rate, by NCCL's own lines or its topology.
struct FastPorts {
  int count = 0;        ///< 0: not said
  double gigabits = 0;  ///< of one; 0: not said
  LogLine line;
};

FastPorts fastest_adapters(const NcclInfo& info) {
  std::map<double, std::set<std::string>> by_rate;
  FastPorts out;
  for (const auto& [name, rate] : info.port_rates) by_rate[rate].insert(name);
  if (by_rate.empty())
    for (const TopologyLink& link : info.topology)
      if (link.kind == "NET" && link.rate > 0) {
        by_rate[8 * link.rate].insert(link.to);
        if (out.line.number == 0) out.line = link.line;
      }
  if (by_rate.empty()) return {0, info.fastest_port, info.slowest_port_line};  // of ibstat
  if (out.line.number == 0) out.line = info.slowest_port_line;
  out.count = static_cast<int>(by_rate.rbegin()->second.size());
  out.gigabits = by_rate.rbegin()->first;
  return out;
}

/// Generations of networks differ by twos: half again is another one. Two ports of a card that share its rate are not.
bool another_rate(double a, double b) { return 2 * a >= 3 * b || 2 * b >= 3 * a; }

/// Gbit/s of one adapter as the machine is described.
double described_gigabits(const Tier& nic) {
  constexpr int bits = 8;
  return bits * nic.bandwidth.value.value() / 1e9;
}

std::string adapters_contradict(const NcclInfo& info, const System& system) {
  const Tier* nic = system.tier(TierRole::nic);
  const FastPorts there = fastest_adapters(info);
  if (nic == nullptr || there.count == 0 || there.gigabits <= 0 || info.node_count() <= 1) return {};
  const double described = described_gigabits(*nic);
  if (!another_rate(there.gigabits, described) || !another_rate(there.count * there.gigabits, nic->endpoints * described)) return {};
  return fmt::format("{} has {} adapters of {:.3g} Gbit/s a node, and the log lists {} of {:.3g} (line {})", system.name, nic->endpoints,
                     described, there.count, there.gigabits, there.line.number);
}

}  // namespace

std::optional<SlowPorts> slow_ports(const NcclInfo& info, const System& system) {
  const Tier* const nic = system.tier(TierRole::nic);
  const FastPorts there = fastest_adapters(info);
  if (nic == nullptr || there.gigabits <= 0 || (there.count > 0 && there.count != nic->endpoints)) return std::nullopt;
  const double described = described_gigabits(*nic);
  if (there.gigabits > described || !another_rate(there.gigabits, described)) return std::nullopt;
  return SlowPorts{fmt::format("{}adapters of {:.3g} Gbit/s", there.count > 0 ? fmt::format("{} ", there.count) : "", there.gigabits),
                   fmt::format("{} has {:.3g}", system.name, described), there.line};
}

std::string adapters_differ(const NcclInfo& info, const System& system) {
  const Tier* const nic = system.tier(TierRole::nic);
  if (nic == nullptr || info.node_count() <= 1) return {};
  if (all_adapters_are(info, "/RoCE") && is_infiniband(nic->transport))
    return fmt::format("the adapters of the log are RoCE, those of {} InfiniBand (line {})", system.name, info.adapters_line.number);
  if (all_adapters_are(info, "/IB") && nic->transport.roce)
    return fmt::format("the adapters of the log are InfiniBand, those of {} RoCE (line {})", system.name, info.adapters_line.number);
  const int count = adapters_listed(info);
  if (count == 0 || count >= nic->endpoints) return {};
  return fmt::format("the log lists {} adapter{} a node where {} has {} (line {})", count, count == 1 ? "" : "s", system.name, nic->endpoints,
                     info.adapters_line.number);
}

std::optional<bool> usually_multicasts(std::string_view gpu) {
  const std::string name = GpuIdentities::shipped()->gpu_named(gpu);
  if (name.empty()) return std::nullopt;
  const MachineIdentities& machines = usual_machines();
  for (const auto* usual : {&machines.systems, &machines.clusters})
    if (const auto at = usual->find(name); at != usual->end()) {
      const System system = load_system(at->second, {}, "none", KernelSets::none());
      const Tier* const tier = system.tier(TierRole::scale_up);
      return tier != nullptr && tier->multicasts;
    }
  return false;
}

std::string gpus_differ(const NcclInfo& info, const System& system) {
  const auto gpus = GpuIdentities::shipped();
  for (const RankLine& one : info.rank_lines)
    if (const std::string gpu = one.gpu.empty() ? std::string{} : gpus->gpu_named(one.gpu); !gpu.empty() && gpu != system.gpu.name)
      return fmt::format("rank {} of the log runs on {}, {} has {} (line {})", one.rank, one.gpu, system.name, system.gpu.name, one.line.number);
  return {};
}

std::string contradiction_of(const NcclInfo& info, const System& system, bool trained_down) {
  const auto gpus = GpuIdentities::shipped();
  std::map<std::string, std::set<int>> on_host;  // a second run lists the same ranks
  for (const RankLine& one : info.rank_lines) {
    const std::string gpu = one.gpu.empty() ? std::string{} : gpus->gpu_named(one.gpu);
    if (!gpu.empty() && gpu != system.gpu.name && load_gpu(gpu).generation != system.gpu.generation)
      return fmt::format("{} has {}, and rank {} of the log runs on {} (line {})", system.name, system.gpu.name, one.rank, one.gpu,
                         one.line.number);
    on_host[one.host].insert(one.rank);
    const int ranks = static_cast<int>(on_host[one.host].size());
    const bool another = !gpu.empty() && gpu != system.gpu.name;  // of the same generation
    if (ranks > system.gpus_per_node && system.gpus_per_node > 1 && (another || ranks > system.domain))
      return fmt::format("{} has {} GPUs a node, and the log lists more ranks on {}", system.name, system.gpus_per_node, one.host);
  }
  return trained_down && slow_ports(info, system) ? std::string{} : adapters_contradict(info, system);
}

std::string possible_machines(const NcclInfo& info) {
  std::set<std::string> gpus, hosts;
  for (const RankLine& one : info.rank_lines) {
    gpus.insert(one.gpu);
    hosts.insert(one.host);
  }
  const std::optional<Board> board = gpus.size() == 1 ? Boards{}.of(*gpus.begin()) : std::nullopt;
  if (!board) return {};
  std::vector<std::string> names{board->system};
  names.insert(names.end(), board->clusters.begin(), board->clusters.end());
  if (info.node_count() > 1)
    std::erase_if(names, [](const std::string& name) { return load_system(name, {}, "none", KernelSets::none()).tier(TierRole::nic) == nullptr; });
  if (names.empty()) return {};
  return fmt::format("{} {} on {} node{}: try --system {}", info.rank_lines.size(), *gpus.begin(), hosts.size(), hosts.size() == 1 ? "" : "s",
                     first_of(names, 4, " or "));
}

std::optional<Machine> guessed_machine(const NcclInfo& info, const std::filesystem::path& file) {
  std::set<std::string> names, hosts;
  for (const RankLine& one : info.rank_lines) {
    if (!one.gpu.empty()) names.insert(one.gpu);
    hosts.insert(one.host);
  }
  if (names.size() > 1) return std::nullopt;
  const std::optional<Board> board = names.empty() ? board_in_words(file) : Boards{}.of(*names.begin());
  if (!board) return std::nullopt;
  const int nodes = info.node_count();
  if (nodes <= 1) {
    if (!info.net.empty() && names.empty()) return std::nullopt;
    return Machine{board->system, 0, 0, board->bridged};
  }
  const bool amazon = info.network.find("Libfabric") != std::string::npos || info.net.contains("AWS Libfabric");
  if (amazon) return on_amazon(*board);
  std::set<std::string> adapters;
  double rate = 0;
  bool one_rate = true;
  for (const TopologyLink& link : info.topology)
    if (link.kind == "NET") {
      adapters.insert(link.to);
      one_rate = one_rate && (rate == 0 || rate == link.rate);
      rate = link.rate;
    }
  const bool equal_ports = info.fastest_port > 0 && info.fastest_port == info.slowest_port;
  if (adapters.empty() && equal_ports && info.adapters.size() >= 2)
    return Machine{board->system, static_cast<int>(info.adapters.size()), info.fastest_port * 1.25e8, {}};
  if (adapters.empty() || adapters.size() != info.adapters.size() || !one_rate || !(rate > 0)) return std::nullopt;
  return Machine{board->system, static_cast<int>(adapters.size()), rate * 1e9, {}};
}

std::string machine_that_allows(const Machine& machine, const std::vector<Point>& points) {
  if (machine.bridged.empty() || points.empty()) return machine.system;
  const System joined = load_system(machine.bridged, {}, "none", KernelSets::none());
  int ranks = 0;
  for (const Point& p : points) {
    if (p.nodes > 1 || p.ranks() > joined.domain) return machine.system;
    ranks = std::max(ranks, p.ranks());
  }
  if (sold_joined(joined, ranks)) return machine.bridged;
  const System plain = load_system(machine.system, {}, "none", KernelSets::none());
  const auto any_impossible = [&](const System& system) {
    return std::any_of(points.begin(), points.end(), [&](const Point& p) { return is_impossible(p, highest_bus_bandwidth(system, p)); });
  };
  return any_impossible(plain) && !any_impossible(joined) ? machine.bridged : machine.system;
}

}  // namespace fabricost::observe::diagnosis

namespace fabricost::observe {

std::string usual_system(const std::filesystem::path& log) {
  const auto guess = diagnosis::guessed_machine(read_nccl_info(log, {}), log);
  if (!guess || guess->nics > 0) return {};
  if (guess->bridged.empty()) return guess->system;
  try {
    return diagnosis::machine_that_allows(*guess, read_points(log, {.system = guess->system}).points);
  } catch (const Error&) {
    return guess->system;  // whoever reads the log says what is wrong with it
  }
}

}  // namespace fabricost::observe
