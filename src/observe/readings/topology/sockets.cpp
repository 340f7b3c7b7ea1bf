/// \file sockets.cpp
/// Number of processors of a table. Devices whose paths meet below the link between processors share one;
/// devices whose paths cross it, or that belong to other NUMA nodes or CPU lists, do not. A processor may
/// have several NUMA nodes, however (AMD NPS2 and NPS4, Intel SNC):
///
///   nodes = highest NUMA number + 1,  cores = nodes x cores of one node
///   8 nodes and more                 2 sockets (4 nodes each)
///   4 nodes, at most 64 cores        1 socket: one EPYC of 32 or 64 cores as 4 nodes (Polaris, Perlmutter)
///   4 nodes, more cores or unknown   2 sockets
///
/// except where the GPUs' own memories are NUMA nodes (Grace): there each processor is one node.

#include "readings/topology/nvidia_words.hpp"
#include "readings/topology/topology_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace fabricost::observe {

namespace {

/// Physical cores in a list such as 48-63,176-191: of two ranges of equal length the second contains the
/// hyperthreads of the first.
[[nodiscard]] int cores_in(const std::string& cpus) {
  std::vector<int> all, first;
  if (!read_numbers(cpus, all)) return 0;
  const auto comma = cpus.find(',');
  const bool two = comma != std::string::npos && cpus.find(',', comma + 1) == std::string::npos;
  const bool twice = two && read_numbers(cpus.substr(0, comma), first) && 2 * first.size() == all.size();
  return static_cast<int>(twice ? first.size() : all.size());
}

/// Groups of devices that no link between processors separates.
class Groups {
 public:
  explicit Groups(const DescribedTopology& t) : t_(t), group_(t.paths.size()) { std::iota(group_.begin(), group_.end(), std::size_t{0}); }

  void join(std::size_t a, std::size_t b) {
    const std::size_t from = group_[a], to = group_[b];
    if (from != to) std::replace(group_.begin(), group_.end(), from, to);
  }
  /// The number of groups that are known to differ; an undetermined device is counted with the first group
  /// that it may belong to.
  [[nodiscard]] int apart() const {
    std::vector<std::vector<std::size_t>> found;
    const std::set<std::size_t> ids(group_.begin(), group_.end());
    for (const std::size_t id : ids) {
      std::vector<std::size_t> members;
      for (std::size_t i = 0; i < group_.size(); ++i)
        if (group_[i] == id) members.push_back(i);
      const auto home = std::find_if(found.begin(), found.end(), [&](const auto& other) { return !parted(members, other); });
      if (home == found.end())
        found.push_back(std::move(members));
      else
        home->insert(home->end(), members.begin(), members.end());
    }
    return std::max(1, static_cast<int>(found.size()));
  }

 private:
  [[nodiscard]] const TopologyDevice& device(std::size_t i) const { return i < t_.gpus.size() ? t_.gpus[i] : t_.nics[i - t_.gpus.size()]; }
  [[nodiscard]] bool parted(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) const {
    for (const std::size_t i : a)
      for (const std::size_t j : b) {
        if (t_.paths[i][j] == NicPath::sys) return true;
        if (!device(i).numa.empty() && !device(j).numa.empty() && device(i).numa != device(j).numa) return true;
        if (!device(i).cpus.empty() && !device(j).cpus.empty() && device(i).cpus != device(j).cpus) return true;
      }
    return false;
  }
  const DescribedTopology& t_;
  std::vector<std::size_t> group_;
};

}  // namespace

void count_sockets(DescribedTopology& t) {
  Groups groups(t);
  int highest = -1;
  for (std::size_t i = 0; i < t.paths.size(); ++i)
    for (std::size_t j = i + 1; j < t.paths.size(); ++j)
      if (t.paths[i][j] && *t.paths[i][j] != NicPath::sys) groups.join(i, j);
  const std::size_t gpus = t.gpus.size();
  for (std::size_t i = 0; i < gpus; ++i) {
    for (const int node : t.gpus[i].numa) highest = std::max(highest, node);
    for (std::size_t j = i + 1; j < gpus; ++j) {
      const bool same_node = !t.gpus[i].numa.empty() && t.gpus[i].numa == t.gpus[j].numa;
      const bool same_cpus =
          t.gpus[i].numa.empty() && t.gpus[j].numa.empty() && !t.gpus[i].cpus.empty() && t.gpus[i].cpus == t.gpus[j].cpus;
      if (same_node || same_cpus) groups.join(i, j);
    }
  }
  t.sockets = groups.apart();
  t.numa_nodes = highest + 1;
  // a virtual machine may assign all nodes to every GPU: 0-1
  const bool everywhere = !t.gpus.empty() && t.gpus.front().numa.size() > 1 && t.sockets == 1;
  if (everywhere) t.sockets = static_cast<int>(t.gpus.front().numa.size());
  if (everywhere) t.doubts.push_back(fmt::format("{} sockets: every GPU is said to be near all of as many NUMA nodes", t.sockets));
  const bool own_memory = std::any_of(t.gpus.begin(), t.gpus.end(), [](const TopologyDevice& g) { return g.own_memory_node; });
  if (t.vendor == "amd" && t.sockets > 2)
    t.doubts.push_back(fmt::format("{} sockets: NUMA nodes are counted, which on one EPYC may be parts of it (NPS4)", t.sockets));
  if (own_memory || t.vendor == "amd") return;
  const int nodes = std::max(t.numa_nodes, t.sockets);
  if (nodes < 3) return;
  const int cores = t.gpus.empty() ? 0 : nodes * cores_in(t.gpus.front().cpus);
  const int sockets = nodes == 4 && cores > 0 && cores <= 64 ? 1 : 2;
  t.doubts.push_back(fmt::format("{} socket{}: {} NUMA nodes{}, taken for parts of a processor (NPS, SNC)", sockets,
                                 sockets == 1 ? "" : "s", nodes, cores > 0 ? fmt::format(" of {} cores together", cores) : ""));
  t.sockets = sockets;
}

}  // namespace fabricost::observe
