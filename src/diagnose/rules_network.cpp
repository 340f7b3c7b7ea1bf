/// \file rules_network.cpp
/// The network between nodes: sockets instead of a fabric, adapters without work, loss, ports below their rate. Each rule says on which
/// line it rests.

#include "diagnose/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace fabricost::diagnosis {

namespace {

using io::LogLine;
using io::Seen;
using io::Sign;

/// Line rate of one adapter: of NCCL's dump or its ports; hfi1 is Omni-Path, 100 Gbit/s; 0: not said.
double adapter_rate(const Context& c) {
  for (const io::TopologyLink& link : c.info.topology)
    if (link.kind == "NET" && link.rate > 0) return link.rate * 1e9;
  if (c.info.fastest_port > 0) return c.info.fastest_port * 1.25e8;
  const bool omnipath = !c.info.adapters.empty() && c.info.adapters.front().starts_with("hfi1");
  return omnipath ? 12.5e9 : 0;
}
/// The best rate the log shows, in its table or in words.
double any_rate(const Context& c) {
  double best = c.best_bus();
  for (const Quoted& q : c.quoted)
    if (c.curve.empty() && !q.perftest) best = std::max(best, q.rate);
  return best;
}

std::optional<Clue> tcp(const Context& c) {
  if (c.wants_tcp()) return std::nullopt;
  const auto& info = c.info;
  const bool uses = over_sockets(info);
  const bool named = info.network.starts_with("Socket") || (!info.interfaces.empty() && info.adapters.empty() && info.network.empty());
  const bool broken = info.has(Sign::verbs_missing);
  const Fabric fabric = fabric_of(info);
  if (fabric.times > 0) return std::nullopt;
  // one node needs no network: NCCL says Socket there and moves nothing over it
  const int nodes = c.nodes();
  const bool inside = nodes == 1 || (nodes == 0 && !uses && (info.peer > 0 || info.shared_memory > 0));
  if (nodes <= 1 && info.setting("NCCL_P2P_DISABLE") != nullptr) return std::nullopt;  // sockets as a substitute for P2P
  if (const Seen& provider = info.seen(Sign::tcp_provider); provider.times > 0 && !inside)
    return Clue{{Cause::tcp_fallback, 0.85, cited(provider),
                 "choose the fabric's own provider (FI_PROVIDER=efa, cxi, verbs) and install it in the image"},
                Weight::proof};
  if (!uses && !named && !broken) return std::nullopt;
  if (inside) return std::nullopt;
  LogLine line = uses ? info.net.at("Socket").first : info.network_line.number > 0 ? info.network_line : info.interfaces_line;
  if (broken && (!uses || info.seen(Sign::verbs_missing).first.number < line.number)) line = info.seen(Sign::verbs_missing).first;
  return Clue{
      {Cause::tcp_fallback,
       uses     ? 0.85
       : broken ? 0.85
                : 0.7,
       cited(line) + ": traffic between nodes goes over TCP sockets" +
           (broken && uses ? "; " + cited(info.seen(Sign::verbs_missing)) : std::string{}),
       "make the RDMA devices visible (in containers /dev/infiniband and CAP_IPC_LOCK), install libibverbs or the fabric's network plugin "
       "(aws-ofi-nccl, cxi, FasTrak), unset NCCL_IB_DISABLE and NCCL_NET"},
      Weight::proof};
}

/// Fewer adapters at work than there are.
std::optional<Clue> idle_rails(const Context& c) {
  const auto& info = c.info;
  const int local = c.ranks_per_node();
  if (c.nodes() == 1 || local == 1 || c.ranks() == 2) return std::nullopt;  // one rank a node loads one adapter
  for (const auto& [transport, use] : info.net) {
    const bool sockets = transport == "Socket";
    const std::size_t there = sockets ? info.interfaces.size() : info.adapters.size();
    std::set<int> used = use.devices;
    const std::string names = fmt::format("{}", fmt::join(used, ", "));
    const bool few = info.channels > 0 && info.channels < static_cast<int>(there);
    if (there >= 2 && used.size() < there && few)
      return Clue{
          {Cause::rail_missing, 0.75,
           fmt::format("{}; {}: {} channels over adapters {} of {}, so the others carry nothing", cited(info.channels_line),
                       cited(use.first), info.channels, names, there),
           "check that the topology NCCL sees has all adapters (NCCL_TOPO_DUMP_FILE), load the platform's plugin and topology file"},
          Weight::proof};
    // most logs are cut: connections prove something only where all channels are among them
    const bool all = use.channels.size() >= there || (info.channels > 0 && static_cast<int>(use.channels.size()) >= info.channels);
    if (there >= 2 && used.size() * 2 <= there && use.times >= 3 && all)
      return Clue{{Cause::rail_missing, sockets ? 0.9 : 0.7,
                   fmt::format("{}; {}: {} are listed, {} connections use only {}",
                               cited(sockets ? info.interfaces_line : info.adapters_line), cited(use.first), there, use.times, names),
                   sockets ? "NCCL counts ports of one card as one adapter: name both in NCCL_SOCKET_IFNAME, or raise NCCL_NSOCKS_PERTHREAD"
                           : "check routing and the adapters NCCL leaves out (NCCL_IB_HCA, NCCL_CROSS_NIC), and the fabric's own plugin"},
                  Weight::proof};
    // or where the rate is no more than one adapter's
    const double one = adapter_rate(c), shown = any_rate(c);
    if (!sockets && there >= 4 && used.size() * 2 <= there && use.times >= 3 && one > 0 && shown > 0 && shown < 1.1 * one)
      return Clue{{Cause::rail_missing, 0.7,
                   fmt::format("{}; {}: {} are listed, the connections shown use {}, and {} is no more than one carries ({})",
                               cited(info.adapters_line), cited(use.first), there, names, gigabytes(shown), gigabytes(one)),
                   "check routing and the adapters NCCL leaves out (NCCL_IB_HCA, NCCL_CROSS_NIC), and the fabric's own plugin"},
                  Weight::proof};
    // eight GPUs, two channels, one adapter: the plugin showed NCCL no topology
    if (!sockets && used.size() == 1 && info.channels > 0 && info.channels <= 2 && (local > 2 || info.ranks > 8))
      return Clue{
          {Cause::rail_missing, 0.8,
           fmt::format("{}; {}: {} channels, all over adapter {}, for {} ranks", cited(info.channels_line), cited(use.first), info.channels,
                       names, info.ranks),
           "machines with several adapters need the platform's topology: update the network plugin (it sets NCCL_TOPO_FILE), or set it"},
          Weight::proof};
  }
  const io::Setting* chosen = info.setting("NCCL_IB_HCA");
  const bool alone = info.adapters.size() == 1;
  const Tier* nic = c.system ? c.system->tier(TierRole::nic) : nullptr;
  const bool several = nic != nullptr ? nic->endpoints > 1 : true;
  const bool crosses = c.nodes() != 1;
  if (alone && several && crosses && info.adapters.front().find("bond") == std::string::npos && (local > 1 || local == 0) &&
      c.ranks() != 2 && !over_sockets(info))
    return Clue{{Cause::rail_missing,
                 nic != nullptr      ? 0.8
                 : chosen != nullptr ? 0.6
                                     : 0.55,
                 cited(info.adapters_line) + (nic != nullptr ? fmt::format(": one adapter where {} has {}", c.system->name, nic->endpoints)
                                                             : std::string{": one adapter for all GPUs of the node"}),
                 "see ibstat for ports that are down, and NCCL_IB_HCA; GPUs far from the one adapter have no GPUDirect path"},
                Weight::hint};
  if (nic != nullptr && info.adapters.size() > 1 && static_cast<int>(info.adapters.size()) < nic->endpoints && crosses)
    return Clue{
        {Cause::rail_missing, 0.75,
         fmt::format("{}: {} adapters where {} has {}", cited(info.adapters_line), info.adapters.size(), c.system->name, nic->endpoints),
         "see ibstat for ports that are down, and NCCL_IB_HCA"},
        Weight::hint};
  return std::nullopt;
}

std::optional<Clue> port_down(const Context& c) {
  const Seen& seen = c.info.seen(Sign::port_down);
  if (seen.times == 0) return std::nullopt;
  return Clue{{Cause::rail_missing, 0.55, cited(seen) + ": a port that is down takes its rail with it",
               "ibstat on every node; cable, switch port, driver"},
              Weight::hint};
}

/// Adapters of the topology dump and the line of the first.
std::pair<std::set<std::string>, LogLine> topology_adapters(const Context& c) {
  std::set<std::string> nets;
  LogLine first;
  for (const io::TopologyLink& link : c.info.topology)
    if (link.kind == "NET") {
      nets.insert(link.to);
      if (first.number == 0) first = link.line;
    }
  return {nets, first};
}

/// The topology dump: adapters present in one part, none of them in the graph NCCL made.
std::optional<Clue> unused_adapters_in_topology(const Context& c) {
  const auto [nets, first] = topology_adapters(c);
  const Fabric fabric = fabric_of(c.info);
  if (nets.size() < 2 || fabric.times < 2 || fabric.devices.size() != 1) return std::nullopt;
  return Clue{{Cause::rail_missing, 0.65,
               fmt::format("{}: the topology has at least {} adapters, {} connections use one ({})", cited(first), nets.size(),
                           fabric.times, cited(fabric.first)),
               "load the platform's network plugin and topology file"},
              Weight::proof};
}

std::optional<Clue> topology_without_connections(const Context& c) {
  const auto [nets, first] = topology_adapters(c);
  if (nets.size() < 2 || !c.info.net.empty() || !c.curve.empty()) return std::nullopt;
  return Clue{
      {Cause::rail_missing, 0.3,
       fmt::format("{}: adapters below the same PCIe switches as the GPUs; the log does not show whether the channels use all of them",
                   cited(first)),
       "compare \"via NET/...\" lines with the adapters of the dump: every one should appear"},
      Weight::hint};
}

std::optional<Clue> fabric_trouble(const Context& c) {
  if (const Seen& retries = c.info.seen(Sign::retries_exceeded); retries.times > 0)
    return Clue{
        {Cause::roce_untuned, 0.8,
         cited(retries) + ": the other side did not acknowledge in time: packets are dropped, or a route or MTU does not fit",
         "same MTU on every port and switch, PFC and ECN on RoCE, NCCL_IB_GID_INDEX of the right network, NCCL_IB_TIMEOUT=22 as a test"},
        Weight::proof};
  if (const Seen& mtu = c.info.seen(Sign::mtu_word); mtu.times > 0)
    return Clue{{Cause::roce_untuned, 0.65, cited(mtu), "same MTU (4096 in verbs, 9000 in Ethernet) on every port and switch"},
                Weight::proof};
  if (const Seen& drops = c.info.seen(Sign::drops); drops.times > 0)
    return Clue{{Cause::roce_untuned, 0.55, cited(drops), "PFC or global pause and ECN on every hop; look at the switches' drop counters"},
                Weight::proof};
  return std::nullopt;
}
std::optional<Clue> queue_pairs(const Context& c) {
  if (const Seen& failed = c.info.seen(Sign::queue_pair_failed); failed.times > 0)
    return Clue{{Cause::other, 0.6, cited(failed) + ": the two ports do not reach each other",
                 "check which ports are joined, NCCL_IB_GID_INDEX, NCCL_IB_HCA, and NCCL_IB_SUBNET_AWARE_ROUTING where networks are "
                 "separate; a stale "
                 "/etc/nccl.conf has this effect, too"},
                Weight::proof};
  if (const Seen& failed = c.info.seen(Sign::memory_lock_failed); failed.times > 0)
    return Clue{{Cause::other, 0.55, cited(failed) + ": memory could not be locked or registered",
                 "ulimit -l unlimited; in containers CAP_IPC_LOCK"},
                Weight::proof};
  if (const Seen& event = c.info.seen(Sign::port_event); event.times > 0)
    return Clue{
        {Cause::half_rate_link, 0.5, cited(event) + ": a port changed its state during the run", "look for flapping links and bad cables"},
        Weight::proof};
  return std::nullopt;
}
std::optional<Clue> fabric_words(const Context& c) {
  const Seen& seen = c.info.seen(Sign::fabric_words);
  if (seen.times == 0) return std::nullopt;
  return Clue{
      {Cause::oversubscription, 0.45, cited(seen), "compare pairs of nodes below one leaf with pairs across; adaptive routing, rail order"},
      Weight::hint};
}

std::optional<Clue> half_rate(const Context& c) {
  if (const Seen& half = c.info.seen(Sign::half_width); half.times > 0)
    return Clue{{Cause::half_rate_link, 0.8, cited(half) + ": the port runs with fewer lanes than it has",
                 "reseat or change the cable; see mlxlink"},
                Weight::proof};
  const bool bonded =
      std::any_of(c.info.adapters.begin(), c.info.adapters.end(), [](const std::string& a) { return a.find("bond") != std::string::npos; });
  if (const Seen& bond = c.info.seen(Sign::bond);
      (bond.times > 0 || bonded) && !c.info.network.starts_with("Socket") && !over_sockets(c.info))
    return Clue{{Cause::half_rate_link, c.info.interfaces.empty() ? 0.65 : 0.4,
                 (bond.times > 0 ? cited(bond) : cited(c.info.adapters_line)) +
                     ": a bonded port; one queue pair is pinned to one of its members, half of the rate",
                 "NCCL_IB_QPS_PER_CONNECTION=2 or 4 with NCCL_IB_SPLIT_DATA_ON_QPS=0, or unbond and show both ports to NCCL"},
                Weight::hint};
  if (c.info.fastest_port > 1.5 * c.info.slowest_port && c.info.slowest_port >= 25)
    return Clue{{Cause::half_rate_link, 0.7,
                 fmt::format("{}: {:.4g} Gbit/s where another port has {:.4g}", cited(c.info.slowest_port_line), c.info.slowest_port,
                             c.info.fastest_port),
                 "ibstat on every node: all ports at the same rate and width; leave the slower ones out (NCCL_IB_HCA)"},
                Weight::hint};
  LogLine slower;
  double most = 0, least = 1e300;
  for (const io::TopologyLink& link : c.info.topology)
    if (link.kind == "NET" && link.rate > 0) {
      most = std::max(most, link.rate);
      if (link.rate < least) {
        least = link.rate;
        slower = link.line;
      }
    }
  if (most > 1.5 * least && least < 1e300)
    return Clue{{Cause::half_rate_link, 0.7, fmt::format("{}: {:.3g} GB/s where another adapter has {:.3g}", cited(slower), least, most),
                 "ibstat on every node: all ports at the same rate and width"},
                Weight::proof};
  return std::nullopt;
}

constexpr std::array all_network_rules{Rule{tcp},
                                       Rule{idle_rails},
                                       Rule{port_down},
                                       Rule{unused_adapters_in_topology},
                                       Rule{topology_without_connections},
                                       Rule{fabric_trouble},
                                       Rule{queue_pairs},
                                       Rule{fabric_words},
                                       Rule{half_rate}};

}  // namespace

std::span<const Rule> network_rules() { return all_network_rules; }

}  // namespace fabricost::diagnosis
