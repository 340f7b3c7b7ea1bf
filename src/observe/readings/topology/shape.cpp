/// Consistency and shape of a topology table: meeting points of paths form a tree, GPUs have a valid number of NVLinks, and shapes and
/// processors are derived from counts.

#include "readings/topology/topology_text.hpp"
#include "specs/parts/gpu_index.hpp"
#include "text/ascii.hpp"

#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

namespace fabricost::observe {

namespace {

/// Whether the table states the path between two devices; rows may be missing at its end.
[[nodiscard]] bool known(const DescribedTopology& t, std::size_t i, std::size_t j) {
  return t.links[i][j] > 0 || t.paths[i][j].has_value();
}

/// A pair whose count is not the smaller of its GPUs' largest counts; empty if there is none, in which case a
/// switch is possible.
[[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> against_switch(const DescribedTopology& t,
                                                                                const std::vector<std::size_t>& island) {
  const auto largest = [&](std::size_t i) { return *std::max_element(t.links[i].begin(), t.links[i].end()); };
  for (const std::size_t i : island)
    for (const std::size_t j : island)
      if (i < j && known(t, i, j) && t.links[i][j] != std::min(largest(i), largest(j))) return std::pair{i, j};
  return std::nullopt;
}

}  // namespace

void check_paths(DescribedTopology& t, const TopologyFile& file, const CellColumns& columns) {
  const std::size_t gpus = t.gpus.size();
  const auto device = [&](std::size_t i) -> const TopologyDevice& { return i < gpus ? t.gpus[i] : t.nics[i - gpus]; };
  bool warned = false;
  for (std::size_t a = 0; a < t.paths.size(); ++a)
    for (std::size_t b = a + 1; b < t.paths.size(); ++b)
      for (std::size_t c = b + 1; c < t.paths.size(); ++c) {
        if (!t.paths[a][b] || !t.paths[a][c] || !t.paths[b][c]) continue;
        std::array<NicPath, 3> sorted{*t.paths[a][b], *t.paths[a][c], *t.paths[b][c]};
        std::sort(sorted.begin(), sorted.end());
        if (sorted[1] == sorted[2]) continue;
        const std::string found =
            fmt::format("{0}, {1} and {2} cannot be: {0}-{1} is {3}, {0}-{2} is {4}, yet {1}-{2} is {5}", device(a).name, device(b).name,
                        device(c).name, path_word(*t.paths[a][b]), path_word(*t.paths[a][c]), path_word(*t.paths[b][c]));
        // one switch or several in between: depends on counted bridges, not only on where two paths meet
        const bool slight = sorted[2] == NicPath::pxb;
        const std::size_t row = device(b).line > 0 ? b : a;  // rows may be missing at the end
        const auto line = static_cast<std::size_t>(std::max(1, device(row).line) - 1);
        if (c < gpus && !slight)
          file.fault(line, columns.empty() ? 0 : columns[row][c], found,
                     "of the three meeting points among three GPUs the two farthest are the same; the table was edited or damaged");
        if (!warned) t.warnings.push_back(file.warning(line, found + "; read as it stands"));
        warned = true;
      }
}

void count_nvlinks(DescribedTopology& t, const TopologyFile& file) {
  const int max_links = GpuIdentities::shipped()->max_nvlinks();
  const auto line_of = [&](std::size_t i) { return static_cast<std::size_t>(std::max(0, t.gpus[i].line - 1)); };
  for (const std::vector<std::size_t>& island : islands_of(t)) {
    if (island.size() < 2) continue;
    const auto against = against_switch(t, island);
    int max = 0, largest_sum = 0;
    std::size_t at_sum = island.front();
    for (const std::size_t i : island) {
      int sum = 0;
      for (const std::size_t j : island) {
        sum += t.links[i][j];
        max = std::max(max, t.links[i][j]);
      }
      if (sum > largest_sum) {
        largest_sum = sum;
        at_sum = i;
      }
    }
    // two GPUs joined by more links than a bridge has (12), or too many links for one GPU: switches
    const bool too_many = largest_sum > max_links;
    if (too_many && against) {
      const auto [i, j] = *against;
      file.fault(line_of(at_sum), 0,
                 fmt::format("{} would have {} NVLinks to its peers, and no GPU has more than {}; behind switches {}-{} could not be NV{}",
                             t.gpus[at_sum].name, largest_sum, max_links, t.gpus[i].name, t.gpus[j].name, t.links[i][j]),
                 "behind switches a pair has the smaller count of its two GPUs; the table was edited or damaged");
    }
    const bool whole_board = island.size() == 2 && max == max_links;
    t.switched = t.switched || too_many || whole_board;
    for (const std::size_t i : island) {
      int sum = 0;
      for (const std::size_t j : island) sum += t.links[i][j];
      t.links_of[i] = too_many || whole_board ? *std::max_element(t.links[i].begin(), t.links[i].end()) : sum;
    }
    if (too_many || whole_board)
      for (const std::size_t i : island)
        for (const std::size_t j : island)
          if (i != j && !known(t, i, j)) t.links[i][j] = t.links[j][i] = std::min(t.links_of[i], t.links_of[j]);
  }
  const int usual = t.links_per_gpu();
  for (std::size_t i = 0; i < t.gpus.size(); ++i)
    if (t.links_of[i] != usual)
      t.warnings.push_back(
          file.warning(line_of(i), fmt::format("{} has {} NVLinks where most have {}: a link is down, a bridge missing, or these "
                                               "are not all GPUs of the board",
                                               t.gpus[i].name, t.links_of[i], usual)));
}

std::vector<std::vector<std::size_t>> islands_of(const DescribedTopology& t) {
  std::vector<std::vector<std::size_t>> out;
  std::vector<bool> seen(t.gpus.size(), false);
  for (std::size_t start = 0; start < t.gpus.size(); ++start) {
    if (seen[start]) continue;
    std::vector<std::size_t> island{start};
    seen[start] = true;
    for (std::size_t k = 0; k < island.size(); ++k)
      for (std::size_t j = 0; j < t.gpus.size(); ++j)
        if (!seen[j] && t.links[island[k]][j] > 0) {
          seen[j] = true;
          island.push_back(j);
        }
    std::sort(island.begin(), island.end());
    out.push_back(std::move(island));
  }
  return out;
}

LinkShape link_shape(const DescribedTopology& t) {
  LinkShape out;
  const std::size_t n = t.gpus.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      if (t.links[i][j] > 0) out.edges.push_back({static_cast<int>(i), static_cast<int>(j), t.links[i][j]});
  if (n < 2 || (out.edges.empty() && !t.switched)) return out;
  if (islands_of(t).size() > 1) {
    std::string joined;
    for (const Edge& e : out.edges)
      if (out.edges.size() <= 8) joined += fmt::format("{}GPU{}-GPU{} by {}", joined.empty() ? "" : ", ", e.from, e.to, e.links);
    out.remark = fmt::format("direct links join only some GPUs ({}); whatever takes all goes over PCIe",
                             joined.empty() ? fmt::format("{} pairs", out.edges.size()) : joined);
    return out;
  }
  std::vector<int> sums(n, 0);
  for (const Edge& e : out.edges) {
    sums[static_cast<std::size_t>(e.from)] += e.links;
    sums[static_cast<std::size_t>(e.to)] += e.links;
  }
  if (t.switched) {
    out.kind = TierKind::switched;
    out.links = *std::min_element(t.links_of.begin(), t.links_of.end());
    out.edges.clear();
    return out;
  }
  const bool uniform = out.edges.size() == n * (n - 1) / 2 &&
                       std::all_of(out.edges.begin(), out.edges.end(), [&](const Edge& e) { return e.links == out.edges.front().links; });
  out.kind = uniform ? TierKind::full_mesh : TierKind::mesh_graph;
  out.links = *std::min_element(sums.begin(), sums.end());
  return out;
}

std::vector<std::optional<NicPath>> nearest_nics(const DescribedTopology& t) {
  std::vector<std::optional<NicPath>> out(t.gpus.size());
  for (std::size_t g = 0; g < t.gpus.size(); ++g)
    for (std::size_t n = 0; n < t.nics.size(); ++n)
      if (const auto path = t.nic_path(g, n); path && (!out[g] || *path < *out[g])) out[g] = path;
  return out;
}

std::optional<NicPath> usual_nearest(const DescribedTopology& t) {
  std::vector<NicPath> known;
  for (const auto& path : nearest_nics(t))
    if (path) known.push_back(*path);
  return commonest(known);
}

std::vector<std::size_t> fabric_nics(const DescribedTopology& t) {
  std::vector<std::size_t> beside, all;
  const bool none_up = std::all_of(t.nics.begin(), t.nics.end(), [](const TopologyDevice& d) { return d.down; });
  for (std::size_t n = 0; n < t.nics.size(); ++n) {
    if (t.nics[n].down && !none_up) continue;
    all.push_back(n);
    for (std::size_t g = 0; g < t.gpus.size(); ++g)
      if (const auto path = t.nic_path(g, n); !path || *path <= NicPath::pxb) {  // may be near a GPU whose row is missing
        beside.push_back(n);
        break;
      }
  }
  return nics_beside_gpus(t) && !beside.empty() ? beside : all;
}

bool nics_beside_gpus(const DescribedTopology& t) {
  const auto usual = usual_nearest(t);
  return usual && *usual <= NicPath::pxb;
}

PcieLink slowest_slot(const std::vector<TopologyDevice>& devices) {
  PcieLink out;
  for (const TopologyDevice& d : devices)
    if (d.slot.lane_rate > 0 && (out.lane_rate <= 0 || d.slot.rate() < out.rate())) out = d.slot;
  return out;
}

std::string slot_name(const PcieLink& slot) {
  if (GpuIdentities::shipped()->slot_generation(slot.lane_rate) == 0) return {};
  std::string out;
  double nearest = 0;
  for (const std::string& name : names_in("links")) {
    if (!name.starts_with("pcie-")) continue;
    const Link link = load_link(name);
    const double off = std::fabs(std::log(link.lane_rate.value.value() * link.lanes / slot.rate()));
    if (out.empty() || off < nearest) out = name, nearest = off;
  }
  return out;
}

std::string slot_text(const PcieLink& slot) {
  return fmt::format("{:g} GT/s{}", slot.lane_rate * 1e-9, slot.lanes > 0 ? fmt::format(" x{}", slot.lanes) : "");
}

const std::string& device_name(const TopologyDevice& device, bool nic) {
  return nic && !device.device.empty() ? device.device : device.name;
}

int gpus_per_switch(const DescribedTopology& t) {
  const std::size_t n = t.gpus.size();
  const auto near = [&](std::size_t a, std::size_t b) { return t.paths[a][b] && *t.paths[a][b] <= NicPath::pxb; };
  int max = 1;
  for (std::size_t a = 0; a < t.paths.size(); ++a) {
    int together = a < n ? 1 : 0;
    for (std::size_t b = 0; b < n; ++b) together += a != b && near(a, b) ? 1 : 0;
    max = std::max(max, together);
  }
  return max;
}

std::string path_word(NicPath path) {
  std::string out{name(path)};
  for (char& c : out) c = upper(c);
  return out;
}

// Number of processors of a table. Devices whose paths meet below the link between processors share one;
// devices whose paths cross it, or that belong to other NUMA nodes or CPU lists, do not. A processor may
// have several NUMA nodes, however (AMD NPS2 and NPS4, Intel SNC):
//
//   nodes = highest NUMA number + 1,  cores = nodes x cores of one node
//   8 nodes and more                 2 sockets (4 nodes each)
//   4 nodes, at most 64 cores        1 socket: one EPYC of 32 or 64 cores as 4 nodes (Polaris, Perlmutter)
//   4 nodes, more cores or unknown   2 sockets
//
// except where the GPUs' own memories are NUMA nodes (Grace): there each processor is one node.

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
