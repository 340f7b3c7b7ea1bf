/// \file rules_quoted.cpp
/// Figures that differ in one thing only are an experiment: the version, a variable, the algorithm, the pair of nodes, their number, the
/// wire without NCCL. What the experiment changed is the cause.

#include "diagnose/context.hpp"

#include "text/csv.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

namespace fabricost::diagnosis {

namespace {

std::string shown(const Quoted& q) { return fmt::format("{} (line {})", gigabytes(q.rate), q.line.number); }

/// Measured with the same algorithm and protocol, at the same size, on as many nodes: only what is looked at may differ.
bool alike(const Quoted& a, const Quoted& b) {
  const bool one_line = a.line.number == b.line.number;  // what was said once holds for the whole line
  const bool nodes = a.nodes == b.nodes || (one_line && (a.nodes == 0 || b.nodes == 0));
  return nodes && a.perftest == b.perftest && a.pair == b.pair && a.gpus == b.gpus && (a.bytes == b.bytes || a.bytes == 0 || b.bytes == 0);
}

/// Calls per second or bytes per second: larger is better; 0 where neither was quoted.
double speed(const Quoted& q) { return q.rate > 0 ? q.rate : q.seconds > 0 ? 1 / q.seconds : 0; }
std::string shown_speed(const Quoted& q) {
  return q.rate > 0 ? shown(q) : fmt::format("{} (line {})", time_text(Time::from_value(q.seconds)), q.line.number);
}

std::array<int, 3> numbers_of(const std::string& version) {
  std::array<int, 3> out{};
  const char* at = version.data();
  const char* const last = at + version.size();
  for (int& part : out) {
    const auto [end, error] = std::from_chars(at, last, part);
    if (error != std::errc{}) break;
    at = end < last ? end + 1 : last;
  }
  return out;
}

std::optional<Clue> slower_version(const Context& c) {
  const Quoted *fast = nullptr, *slow = nullptr;
  double most = 1.25;
  for (const Quoted& a : c.quoted)
    for (const Quoted& b : c.quoted) {
      if (a.version.empty() || b.version.empty() || !alike(a, b) || a.rate <= 0 || b.rate <= 0) continue;
      if (!a.settings.empty() || !b.settings.empty() || a.algorithm != b.algorithm) continue;
      if (numbers_of(a.version) < numbers_of(b.version) && a.rate > most * b.rate) {
        most = a.rate / b.rate;
        fast = &a;
        slow = &b;
      }
    }
  if (fast == nullptr) {
    // "2.19.3" against "2.19.3 patched"
    for (const Quoted& a : c.quoted)
      for (const Quoted& b : c.quoted)
        if (!a.version.empty() && a.version == b.version && a.label != b.label && alike(a, b) && a.settings.empty() && b.settings.empty() &&
            a.algorithm == b.algorithm && b.rate > 0 && a.rate > most * b.rate) {
          most = a.rate / b.rate;
          fast = &a;
          slow = &b;
        }
  }
  if (fast == nullptr) return std::nullopt;
  return Clue{{Cause::bug_in_version, 0.65,
               fmt::format("{} {} gives {}, {} {}: a factor of {:.3g} by the library alone", fast->label == slow->label ? "version" : "",
                           fast->version, shown(*fast), slow->version == fast->version ? "unchanged" : slow->version, shown(*slow), most),
               fmt::format("use {} or the newest release; look for the change in NCCL's release notes", fast->version)},
              Weight::proof};
}
/// A factor of several between versions is rarely code: the newer one lost a way it had.
std::optional<Clue> version_lost_a_path(const Context& c) {
  for (const Quoted& a : c.quoted)
    for (const Quoted& b : c.quoted)
      if (!a.version.empty() && !b.version.empty() && alike(a, b) && a.settings.empty() && b.settings.empty() && b.rate > 0 &&
          numbers_of(a.version) < numbers_of(b.version) && a.rate > 4 * b.rate)
        return Clue{{Cause::gdr_off, 0.45,
                     fmt::format("{} gives {}, {} {}: a factor of {:.3g} looks like a path lost, GPUDirect RDMA first", a.version, shown(a),
                                 b.version, shown(b), a.rate / b.rate),
                     "compare the \"via NET/...\" lines of both versions for GDRDMA, and \"Using network\""},
                    Weight::proof};
  return std::nullopt;
}

/// What is wrong when setting a variable helps.
struct Mended {
  std::string_view name;
  Cause cause;
};
constexpr std::array mended{Mended{"NCCL_NET_GDR_READ", Cause::gdr_off},
                            Mended{"NCCL_NET_GDR_LEVEL", Cause::gdr_off},
                            Mended{"NCCL_IB_GDR_LEVEL", Cause::gdr_off},
                            Mended{"NCCL_DMABUF_ENABLE", Cause::gdr_off},
                            Mended{"NCCL_NCHANNELS_PER_NET_PEER", Cause::few_channels},
                            Mended{"NCCL_MIN_NCHANNELS", Cause::few_channels},
                            Mended{"NCCL_MAX_NCHANNELS", Cause::few_channels},
                            Mended{"NCCL_MIN_CTAS", Cause::few_channels},
                            Mended{"NCCL_MIN_NRINGS", Cause::few_channels},
                            Mended{"NCCL_ALGO", Cause::algorithm_choice},
                            Mended{"NCCL_PROTO", Cause::algorithm_choice},
                            Mended{"NCCL_TREE_THRESHOLD", Cause::algorithm_choice},
                            Mended{"NCCL_TUNER_PLUGIN", Cause::algorithm_choice},
                            Mended{"NCCL_NVLS_ENABLE", Cause::algorithm_choice},
                            Mended{"NCCL_NVLSTREE_MAX_CHUNKSIZE", Cause::bug_in_version},
                            Mended{"NCCL_IB_QPS_PER_CONNECTION", Cause::half_rate_link},
                            Mended{"NCCL_IB_SPLIT_DATA_ON_QPS", Cause::half_rate_link},
                            Mended{"NCCL_IB_HCA", Cause::rail_missing},
                            Mended{"NCCL_CROSS_NIC", Cause::rail_missing},
                            Mended{"NCCL_TOPO_FILE", Cause::container_vm_topology},
                            Mended{"NCCL_P2P_DISABLE", Cause::iommu},
                            Mended{"NCCL_P2P_LEVEL", Cause::no_p2p_shm},
                            Mended{"NCCL_IB_TC", Cause::roce_untuned},
                            Mended{"NCCL_IB_TIMEOUT", Cause::roce_untuned},
                            Mended{"NCCL_IB_GID_INDEX", Cause::roce_untuned},
                            Mended{"NCCL_SOCKET_IFNAME", Cause::tcp_fallback},
                            Mended{"NCCL_NSOCKS_PERTHREAD", Cause::tcp_fallback},
                            Mended{"NCCL_SOCKET_NTHREADS", Cause::tcp_fallback},
                            Mended{"NCCL_CUMEM_ENABLE", Cause::nvlink_not_used},
                            Mended{"NCCL_MNNVL_ENABLE", Cause::nvlink_not_used},
                            Mended{"NCCL_IB_PCI_RELAXED_ORDERING", Cause::other},
                            Mended{"UCX_IB_PCI_RELAXED_ORDERING", Cause::other}};

/// The value that helps decides for two variables: NVLS that helps when on was off, LL128 that helps when forced did not run.
Cause cause_behind(const Mended& one, const std::string& value) {
  if (one.name == "NCCL_NVLS_ENABLE" && value != "0") return Cause::nvls_off;
  if (one.name == "NCCL_PROTO" && value.find("128") != std::string::npos && value.front() != '^') return Cause::ll128_off;
  return one.cause;
}

std::optional<Clue> setting_that_helps(const Context& c) {
  for (const Quoted& with : c.quoted) {
    if (with.settings.empty() || speed(with) <= 0 || with.perftest) continue;
    for (const auto& [name, value] : with.settings) {
      const auto known = std::find_if(mended.begin(), mended.end(), [&, &name = name](const Mended& one) { return one.name == name; });
      if (known == mended.end()) continue;
      const Quoted* worst = nullptr;
      for (const Quoted& without : c.quoted) {
        const bool other_value =
            without.settings.size() == 1 && without.settings.front().first == name && without.settings.front().second != value;
        if ((!without.settings.empty() && !other_value) || without.perftest || speed(without) <= 0 || !alike(with, without)) continue;
        if ((with.rate > 0) != (without.rate > 0)) continue;
        if (!with.version.empty() && !without.version.empty() && with.version != without.version) continue;
        if (speed(with) > 1.12 * speed(without) && (worst == nullptr || speed(without) < speed(*worst))) worst = &without;
      }
      if (worst == nullptr) continue;
      return Clue{{cause_behind(*known, value), 0.8,
                   fmt::format("{}={} gives {}, without it {}", name, value, shown_speed(with), shown_speed(*worst)),
                   fmt::format("keep {}={} while looking for why the default does not do it", name, value)},
                  Weight::proof};
    }
  }
  return std::nullopt;
}

/// Below one leaf against across leaves: what differs is the network's upper part.
std::optional<Clue> slower_across_leaves(const Context& c) {
  for (const Quoted& a : c.quoted)
    for (const Quoted& b : c.quoted)
      if (a.near && b.far && alike(a, b) && b.rate > 0 && a.rate > 1.2 * b.rate)
        return Clue{{Cause::oversubscription, 0.75, fmt::format("{}: {}; {}: {}", a.label, shown(a), b.label, shown(b)),
                     "count up-links against ports of a leaf; adaptive routing; rails that stay below one leaf"},
                    Weight::proof};
  return std::nullopt;
}

/// Better without one node.
std::optional<Clue> better_without(const Context& c) {
  for (const Quoted& a : c.quoted)
    for (const Quoted& b : c.quoted)
      if (!a.left_out.empty() && b.left_out.empty() && b.rate > 0 && a.rate > 1.15 * b.rate && a.settings == b.settings)
        return Clue{{Cause::stragglers, 0.75, fmt::format("without {} {}, with it {}", a.left_out, shown(a), shown(b)),
                     "take that node out; compare its clocks, links and adapters with the others'"},
                    Weight::proof};
  return std::nullopt;
}

/// Same question, two algorithms: the default is the slower one, or the faster one beyond what the wires carry.
std::optional<Clue> algorithms(const Context& c) {
  for (const Quoted& a : c.quoted)
    for (const Quoted& b : c.quoted) {
      if (a.algorithm.empty() || b.algorithm.empty() || a.algorithm == b.algorithm || a.rate <= 0 || b.rate <= 0) continue;
      if (!(a.by_default && !b.by_default) || !alike(a, b)) continue;
      if (b.rate > 1.1 * a.rate)
        return Clue{{Cause::algorithm_choice, 0.85,
                     fmt::format("{} is the default and gives {}, {} {}: a factor of {:.3g}", a.algorithm, shown(a), b.algorithm, shown(b),
                                 b.rate / a.rate),
                     fmt::format("NCCL_ALGO={} for these sizes, or a tuner plugin (`fabricost tune`)", b.algorithm)},
                    Weight::proof};
    }
  // 33554432: TREE LL128 127, RING LL128 156
  std::map<double, std::pair<const Quoted*, const Quoted*>> extremes;
  for (const Quoted& q : c.quoted) {
    if (q.bytes <= 0 || q.rate <= 0 || q.algorithm.empty()) continue;
    auto& [least, most] = extremes[q.bytes];
    if (least == nullptr || q.rate < least->rate) least = &q;
    if (most == nullptr || q.rate > most->rate) most = &q;
  }
  for (const auto& [bytes, pair] : extremes) {
    const auto& [least, most] = pair;
    if (least->label != most->label || most->rate < 1.1 * least->rate) continue;
    if (least->algorithm == most->algorithm && least->protocol == most->protocol) continue;
    return Clue{{Cause::algorithm_choice, 0.7,
                 fmt::format("at {}: {} {} gives {}, {} {} {}", size_text(Bytes::from_value(bytes)), least->algorithm, least->protocol,
                             shown(*least), most->algorithm, most->protocol, shown(*most)),
                 "force the faster pair for these sizes, or a tuner plugin (`fabricost tune`)"},
                Weight::proof};
  }
  return std::nullopt;
}

/// Tree or in-switch reduction above what a ring gives: their bus bandwidth is not a wire's rate.
std::optional<Clue> beyond_the_ring(const Context& c) {
  const Quoted *ring = nullptr, *other = nullptr;
  for (const Quoted& q : c.quoted) {
    if (q.rate <= 0) continue;
    if (q.algorithm == "ring" && (ring == nullptr || q.rate > ring->rate) && !q.by_default) ring = &q;
    const bool better =
        q.algorithm == "tree" || q.algorithm == "nvls" || q.algorithm == "nvlstree" || (q.algorithm.empty() && q.by_default);
    if (better && (other == nullptr || q.rate > other->rate)) other = &q;
  }
  if (ring == nullptr || other == nullptr || other->rate < 1.15 * ring->rate || other->rate > 2.3 * ring->rate) return std::nullopt;
  const bool in_switch = other->algorithm.starts_with("nvls");
  return Clue{
      {Cause::expected_value_wrong, 0.75,
       fmt::format(
           "healthy: a ring gives {}, {} {}. {}", shown(*ring), other->algorithm.empty() ? "the default" : other->algorithm, shown(*other),
           in_switch ? "The switch reduces, so each GPU sends (n+1)/n parts where the formula counts 2(n-1)/n: bus bandwidth may reach "
                       "2(n-1)/(n+1) of a link's rate"
                     : "A tree between two nodes sends every byte once where the formula counts 2(n-1)/n: up to twice the network's rate"),
       "none needed: force NCCL_ALGO=RING for a figure to compare with the links"},
      Weight::defence};
}

std::optional<Clue> pairs_of_nodes(const Context& c) {
  std::vector<const Quoted*> pairs;
  for (const Quoted& q : c.quoted)
    if (!q.pair.first.empty() && q.rate > 0 && !q.perftest) pairs.push_back(&q);
  if (pairs.size() < 2) return std::nullopt;
  const auto [least, most] =
      std::minmax_element(pairs.begin(), pairs.end(), [](const Quoted* a, const Quoted* b) { return a->rate < b->rate; });
  if ((*most)->rate < 1.25 * (*least)->rate) return std::nullopt;
  const double middle = std::sqrt((*most)->rate * (*least)->rate);
  std::map<std::string, int> in_slow, in_fast;
  int slow = 0;
  for (const Quoted* q : pairs) {
    auto& where = q->rate < middle ? in_slow : in_fast;
    slow += q->rate < middle ? 1 : 0;
    ++where[q->pair.first];
    ++where[q->pair.second];
  }
  const auto suspect = std::max_element(in_slow.begin(), in_slow.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::string figures = fmt::format("{},{} {}, {},{} {}", (*least)->pair.first, (*least)->pair.second, shown(**least),
                                          (*most)->pair.first, (*most)->pair.second, shown(**most));
  if (slow >= 2 && suspect->second >= 2 && !in_fast.contains(suspect->first))
    return Clue{{Cause::stragglers, 0.75,
                 fmt::format("{} is in {} of {} slow pairs and in no fast one; {}", suspect->first, suspect->second, slow, figures),
                 "take that node out, compare its topology dump, clocks and adapters with a fast node's"},
                Weight::proof};
  return Clue{{Cause::oversubscription, 0.65, figures + ": the same nodes are fast with other partners, so the way between differs",
               "look for flows that share a link: routing, adaptive routing, leaf and spine of each node"},
              Weight::proof};
}
std::optional<Clue> pairs_of_nodes_otherwise(const Context& c) {
  const auto first = pairs_of_nodes(c);
  if (!first) return std::nullopt;
  Finding f = first->finding;
  f.cause = f.cause == Cause::stragglers ? Cause::oversubscription : Cause::stragglers;
  f.confidence -= 0.25;
  f.remedy = f.cause == Cause::stragglers ? "try each node with further partners: one that is slow with all of them is the fault"
                                          : "check routing between the slow pairs";
  return Clue{f, Weight::proof};
}

std::optional<Clue> falls_with_nodes(const Context& c) {
  std::map<int, const Quoted*> by_nodes;
  for (const Quoted& q : c.quoted)
    if (q.nodes > 1 && q.rate > 0 && !q.perftest && q.settings.empty()) by_nodes[q.nodes] = &q;
  if (by_nodes.size() < 2) return std::nullopt;
  const Quoted *two = by_nodes.begin()->second, *last = by_nodes.rbegin()->second;
  if (last->rate > 0.8 * two->rate) return std::nullopt;
  if (by_nodes.size() >= 3) {
    const Quoted* third = std::next(by_nodes.begin())->second;
    if (last->rate < 0.85 * third->rate)
      return Clue{
          {Cause::oversubscription, 0.75,
           fmt::format("{} nodes {}, {} nodes {}, {} nodes {}: a step after two nodes is the tree's, the fall after it the network's",
                       two->nodes, shown(*two), third->nodes, shown(*third), last->nodes, shown(*last)),
           "one pair after another with NCCL_ALGO=RING; PFC and ECN on RoCE; taper and routing"},
          Weight::proof};
  }
  if (two->nodes != 2 || last->rate < 0.45 * two->rate) return std::nullopt;
  return Clue{{Cause::expected_value_wrong, 0.6,
               fmt::format("2 nodes {}, {} nodes {}: a tree between two nodes shows up to twice the network's rate, more nodes cannot",
                           shown(*two), last->nodes, shown(*last)),
               "compare both with NCCL_ALGO=RING"},
              Weight::defence};
}

/// The wire carries what it should, NCCL does not.
std::optional<Clue> wire_faster_than_library(const Context& c) {
  double one = 0, all = 0, library = 0;
  int nodes = 0;
  std::string where;
  for (const Quoted& q : c.quoted) {
    if (q.rate <= 0) continue;
    if (q.perftest && !q.whole) one = std::max(one, q.rate);
    if (q.whole) all = std::max(all, q.rate);
    if (!q.perftest && !q.whole && q.nodes != 1 && q.rate > 0 && (library == 0 || q.nodes > 1)) {
      library = q.rate;
      nodes = q.nodes;
      where = shown(q);
    }
  }
  const double wire = std::max(all, one);
  if (wire <= 0 || library <= 0 || library > 0.75 * wire) return std::nullopt;
  const std::string evidence = fmt::format("the adapters alone carry {}, NCCL moves {} of it, {:.0f} %{}", gigabytes(wire), where,
                                           100 * library / wire, nodes > 0 ? fmt::format(" on {} nodes", nodes) : std::string{});
  if (c.info.has(io::Sign::bond))
    return Clue{{Cause::half_rate_link, 0.75,
                 evidence + "; " + cited(c.info.seen(io::Sign::bond)) + ": few queue pairs load one member of the bond",
                 "NCCL_IB_QPS_PER_CONNECTION=4 with NCCL_IB_SPLIT_DATA_ON_QPS=0, or unbond the ports"},
                Weight::proof};
  return Clue{{Cause::gdr_off, 0.55,
               evidence + ": the way between GPU and adapter is the slow part (ib_write_bw without --use_cuda does not use it)",
               "ib_write_bw --use_cuda; GDRDMA in NCCL's lines; nvidia-peermem; ACS and ATS"},
              Weight::proof};
}
std::optional<Clue> wire_faster_in_a_guest(const Context& c) {
  const auto base = wire_faster_than_library(c);
  if (!base || base->finding.cause != Cause::gdr_off) return std::nullopt;
  const bool guest = c.info.has(io::Sign::virtual_machine);
  return Clue{{Cause::container_vm_topology, guest ? 0.65 : 0.5, base->finding.evidence,
               "in guests and containers: show PCIe switches and NUMA nodes, or NCCL_TOPO_FILE; ATS on the adapters, ACS direct translated "
               "on the bridges"},
              Weight::proof};
}

std::optional<Clue> one_gpu_slower(const Context& c) {
  const Quoted *least = nullptr, *most = nullptr;
  for (const Quoted& q : c.quoted) {
    if (q.gpus.empty() || q.rate <= 0) continue;
    if (least == nullptr || q.rate < least->rate) least = &q;
    if (most == nullptr || q.rate > most->rate) most = &q;
  }
  if (least == nullptr || most->rate < 1.4 * least->rate) return std::nullopt;
  return Clue{{Cause::pcie_downgraded, 0.65,
               fmt::format("{}-{} {}, {}-{} {}: one GPU's way is narrower", least->gpus[0], least->gpus[1], shown(*least), most->gpus[0],
                           most->gpus[1], shown(*most)),
               "lspci -vv: LnkSta against LnkCap up to the root, under load; a slot of the CPU rather than the chipset"},
              Weight::proof};
}

/// One adapter by itself, and all of them: their ratio should be a whole number.
std::optional<Clue> adapters_lose_together(const Context& c) {
  const Quoted *one = nullptr, *all = nullptr;
  for (const Quoted& q : c.quoted) {
    if (q.rate <= 0 || q.nodes < 2) continue;
    const bool alone = std::any_of(q.settings.begin(), q.settings.end(),
                                   [](const auto& s) { return s.first == "NCCL_IB_HCA" && s.second.find(',') == std::string::npos; });
    if (alone) one = &q;
    if (q.settings.empty()) all = &q;
  }
  if (one == nullptr || all == nullptr || all->rate < 1.5 * one->rate) return std::nullopt;
  const double times = all->rate / one->rate, whole = std::ceil(times - 0.03);
  if (times > 0.95 * whole) return std::nullopt;
  return Clue{{Cause::other, 0.4,
               fmt::format("one adapter {}, all {}: {:.3g} times as much, where {:.0f} adapters would give {}", shown(*one), shown(*all),
                           times, whole, gigabytes(whole * one->rate)),
               "two by two: which adapters lose when they run together? PCIe switches they share, NUMA nodes, leaf switches"},
              Weight::proof};
}

std::optional<Clue> another_driver(const Context& c) {
  for (const Quoted& a : c.quoted)
    for (const Quoted& b : c.quoted)
      if (!a.driver.empty() && !b.driver.empty() && a.driver != b.driver && alike(a, b) && b.rate > 0 && a.rate > 1.05 * b.rate)
        return Clue{{Cause::other, 0.6, fmt::format("driver {} gives {}, driver {} {}", a.driver, shown(a), b.driver, shown(b)),
                     "a new driver means a reboot: clocks and persistence mode, ACS and NUMA balancing may be back; mpirun --bind-to numa"},
                    Weight::proof};
  return std::nullopt;
}

/// Equal calls, most of them alike, a few a hundred times longer: a timeout somewhere.
std::optional<Clue> rare_stalls(const Context& c) {
  std::vector<const Quoted*> times;
  for (const Quoted& q : c.quoted)
    if (q.seconds > 0) times.push_back(&q);
  if (times.size() < 4) return std::nullopt;
  std::vector<const Quoted*> sorted = times;
  std::sort(sorted.begin(), sorted.end(), [](const Quoted* a, const Quoted* b) { return a->seconds < b->seconds; });
  const double usual = sorted[(sorted.size() - 1) / 2]->seconds, longest = sorted.back()->seconds;
  if (longest < 10 * usual || longest < 4e-3) return std::nullopt;
  return Clue{{Cause::roce_untuned, 0.6,
               fmt::format("line {}: {} where {} is usual: stalls of milliseconds are retransmission timeouts", sorted.back()->line.number,
                           time_text(Time::from_value(longest)), time_text(Time::from_value(usual))),
               "drop and retransmission counters of adapters and switches; PFC and ECN"},
              Weight::proof};
}
std::optional<Clue> rare_stalls_otherwise(const Context& c) {
  auto clue = rare_stalls(c);
  if (!clue) return std::nullopt;
  clue->finding.cause = Cause::stragglers;
  clue->finding.confidence = 0.45;
  clue->finding.remedy = "is it always the same rank or node that is late?";
  return clue;
}

/// A figure quoted without a table equals what the machine gives.
std::optional<Clue> as_predicted(const Context& c) {
  if (!c.system || !c.curve.empty() || c.nodes() > 1) return std::nullopt;
  const Quoted* best = nullptr;
  for (const Quoted& q : c.quoted)
    if (q.rate > 0 && !q.perftest && q.nodes <= 1 && q.settings.empty() && q.pair.first.empty() && (best == nullptr || q.rate > best->rate))
      best = &q;
  if (best == nullptr) return std::nullopt;
  const Operation op =
      AllReduce{.bytes = Bytes::from_value(4.0 * 1024 * mebibyte), .ranks = c.system->gpus_per_node, .dtype = DataType::single};
  Prediction p;
  try {
    p = predict(*c.system, op);
  } catch (const RequestError&) {
    return std::nullopt;
  }
  const double factor = p.high / p.seconds, given = p.bus_bandwidth().value();
  if (best->rate < given / factor / 1.05 || best->rate > given * factor * 1.05) return std::nullopt;
  return Clue{{Cause::expected_value_wrong, 0.6,
               fmt::format("healthy: {} is what {} gives (all-reduce of 4 GiB: {}, {} {})", shown(*best), c.system->name, gigabytes(given),
                           p.algorithm.view(), p.protocol.view()),
               "none needed: line rates count headers and flags, and both directions where they are headlines"},
              Weight::defence};
}

constexpr std::array all_quoted_rules{Rule{slower_version},       Rule{version_lost_a_path},      Rule{setting_that_helps},
                                      Rule{slower_across_leaves}, Rule{better_without},           Rule{algorithms},
                                      Rule{beyond_the_ring},      Rule{pairs_of_nodes},           Rule{pairs_of_nodes_otherwise},
                                      Rule{falls_with_nodes},     Rule{wire_faster_than_library}, Rule{wire_faster_in_a_guest},
                                      Rule{one_gpu_slower},       Rule{adapters_lose_together},   Rule{another_driver},
                                      Rule{rare_stalls},          Rule{rare_stalls_otherwise},    Rule{as_predicted}};

}  // namespace

std::span<const Rule> quoted_rules() { return all_quoted_rules; }

}  // namespace fabricost::diagnosis
