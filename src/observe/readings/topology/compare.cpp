/// Differences between a machine and a stock system, in order of importance: GPUs, direct links, NICs and
/// their places, sockets, PCIe.
///
/// Direct links are compared up to the numbering of the GPUs (`nvidia-smi` numbers by PCI address). For up to
/// 8 GPUs all numberings are tried and the one with the most common links is used; above that the numbering
/// of the stock system.

#include "readings/topology/topology_text.hpp"
#include "text/joined.hpp"

#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace fabricost::observe {

namespace {

using Matrix = std::vector<std::vector<int>>;

/// Links of each pair of a stock system with direct links; empty for others.
[[nodiscard]] Matrix stock_links(const Tier& tier) {
  const auto n = static_cast<std::size_t>(tier.endpoints);
  Matrix out(n, std::vector<int>(n, 0));
  if (tier.kind == TierKind::full_mesh) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) out[i][j] = i == j ? 0 : tier.links / (tier.endpoints - 1);
  } else if (tier.kind == TierKind::mesh_graph) {
    for (const Edge& e : tier.edges) {
      out[static_cast<std::size_t>(e.from)][static_cast<std::size_t>(e.to)] += e.links;
      out[static_cast<std::size_t>(e.to)][static_cast<std::size_t>(e.from)] += e.links;
    }
  } else {
    return {};
  }
  return out;
}

/// Links that two matrices have in common when GPU i of the first is GPU order[i] of the stock system.
[[nodiscard]] int common(const Matrix& mine, const Matrix& stock, const std::vector<std::size_t>& order) {
  int out = 0;
  for (std::size_t i = 0; i < mine.size(); ++i)
    for (std::size_t j = i + 1; j < mine.size(); ++j) out += std::min(mine[i][j], stock[order[i]][order[j]]);
  return out;
}

[[nodiscard]] std::vector<std::size_t> best_order(const Matrix& mine, const Matrix& stock) {
  std::vector<std::size_t> order(mine.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (mine.size() > 8) return order;
  std::vector<std::size_t> best = order;
  int max = common(mine, stock, order);
  while (std::next_permutation(order.begin(), order.end()))
    if (const int now = common(mine, stock, order); now > max) {
      max = now;
      best = order;
    }
  return best;
}

class Comparison {
 public:
  Comparison(const DescribedTopology& t, const GuessedSystem& guessed, const System& stock) : t_(t), guessed_(guessed), stock_(stock) {}

  std::vector<std::string> run() {
    gpus();
    direct_links();
    nics();
    sockets();
    pcie();
    return std::move(out_);
  }

 private:
  void say(std::string text) { out_.push_back(std::move(text)); }

  void gpus() {
    const auto mine = static_cast<int>(t_.gpus.size());
    if (mine != stock_.gpus_per_node)
      say(fmt::format("{} GPU{}; {} has {} in a node", mine, mine == 1 ? "" : "s", stock_.name, stock_.gpus_per_node));
    const bool firm = !guessed_.guesses.empty() && (guessed_.guesses.front().reason.starts_with("PCI id") ||
                                                    guessed_.guesses.front().reason.find("is named") != std::string::npos);
    if (firm && guessed_.gpu != stock_.gpu.name)
      say(fmt::format("GPUs: {} here ({}), {} there", guessed_.gpu, guessed_.guesses.front().reason, stock_.gpu.name));
    if (!t_.vendor.empty() && !stock_.gpu.vendor.empty() && t_.vendor != stock_.gpu.vendor)
      say(fmt::format("GPUs of {}; {} has those of {}", t_.vendor, stock_.name, stock_.gpu.vendor));
  }

  void direct_links() {
    if (!t_.links_stated) return;
    const Tier* tier = stock_.tier(TierRole::scale_up);
    const bool has = tier != nullptr && tier->kind != TierKind::host;
    const int mine = t_.links_per_gpu();
    const int theirs = has ? tier->links : 0;
    if (mine == 0 && theirs > 0) {
      say(fmt::format("no direct links between GPUs; {} has {} per GPU ({})", stock_.name, theirs, tier->name.view()));
      return;
    }
    if (mine > 0 && theirs == 0) {
      say(fmt::format("{} direct links per GPU; {} has none, its GPUs meet over PCIe", mine, stock_.name));
      return;
    }
    if (mine == 0) return;
    for (std::size_t i = 0; i < t_.gpus.size(); ++i)
      if (t_.links_of[i] != theirs && t_.links_of[i] != mine)
        say(fmt::format("{} has {} NVLinks; {} has {} per GPU: a link is down or a bridge missing", t_.gpus[i].name, t_.links_of[i],
                        stock_.name, theirs));
    if (mine != theirs) say(fmt::format("{} direct links per GPU; {} has {}", mine, stock_.name, theirs));
    const LinkShape shape = link_shape(t_);
    const Matrix stock = stock_links(*tier);
    if (shape.kind == TierKind::switched || stock.empty()) {
      if (shape.kind != tier->kind && static_cast<int>(t_.gpus.size()) > 2)
        say(fmt::format("GPUs are joined by {}; in {} by {}", shape_word(shape.kind), stock_.name, shape_word(tier->kind)));
      return;
    }
    if (stock.size() != t_.links.size()) return;
    const std::vector<std::size_t> order = best_order(t_.links, stock);
    for (std::size_t i = 0; i < t_.links.size(); ++i)
      for (std::size_t j = i + 1; j < t_.links.size(); ++j) {
        const int here = t_.links[i][j], there = stock[order[i]][order[j]];
        if (here == there) continue;
        const std::string pair = fmt::format("{}-{}", t_.gpus[i].name, t_.gpus[j].name);
        if (here == 0)
          say(fmt::format("{}: no direct link where {} has {}: a bridge is missing or a link down", pair, stock_.name, there));
        else
          say(fmt::format("{}: {} direct link{} where {} has {}", pair, here, here == 1 ? "" : "s", stock_.name, there));
      }
  }
  [[nodiscard]] static std::string shape_word(TierKind kind) {
    switch (kind) {
      case TierKind::switched: return "switches";
      case TierKind::full_mesh: return "a full mesh";
      case TierKind::mesh_graph: return "a mesh of some pairs";
      case TierKind::host: return "PCIe, all of them, and some by direct links";
      default: return std::string{name(kind)};
    }
  }

  void nics() {
    const Tier* nic = stock_.tier(TierRole::nic);
    if (nic == nullptr) {
      if (!t_.nics.empty())
        say(fmt::format("{} NIC port{}; {} is described without", t_.nics.size(), t_.nics.size() == 1 ? "" : "s", stock_.name));
      return;
    }
    if (t_.nics.empty()) {
      say(fmt::format("no NICs in the file; {} has {}", stock_.name, nic->endpoints));
      return;
    }
    const auto used = static_cast<int>(fabric_nics(t_).size());
    if (used < nic->endpoints)
      say(fmt::format("{} NIC port{} for the GPUs; {} has {}: {}", used, used == 1 ? "" : "s", stock_.name, nic->endpoints,
                      nic->kind == TierKind::rails
                          ? fmt::format("{} rail{} short", nic->endpoints - used, nic->endpoints - used == 1 ? "" : "s")
                          : fmt::format("{} short", nic->endpoints - used)));
    if (used > nic->endpoints) say(fmt::format("{} NIC ports for the GPUs; {} has {}", used, stock_.name, nic->endpoints));
    ports(*nic);
    const auto nearest = nearest_nics(t_);
    std::map<NicPath, std::vector<std::string>> farther;
    for (std::size_t g = 0; g < nearest.size(); ++g) {
      const NicPath wanted = nic->path == NicPath::pix ? NicPath::pxb : nic->path;  // pix or pxb: both are below switches
      if (nearest[g] && *nearest[g] > wanted) farther[*nearest[g]].push_back(t_.gpus[g].name);
    }
    for (const auto& [path, names] : farther)
      say(fmt::format("{}: the nearest NIC is {} away, in {} {}", joined_with_and(names), path_word(path), stock_.name, path_word(nic->path)));
    if (nic->kind == TierKind::rails && nic->endpoints == stock_.gpus_per_node) shared_nics(*nic);
  }
  /// Rates, slots and GPUDirect of the NICs that the GPUs use.
  void ports(const Tier& nic) {
    const std::vector<std::size_t> used = fabric_nics(t_);
    const double theirs = 8 * nic.bandwidth.value.value();
    // ports of one card share it
    const double together = std::max(1.0, static_cast<double>(used.size()) / nic.endpoints);
    const Tier* host = host_tier(stock_);
    const std::string slot = !nic.slot.empty() ? nic.slot : host != nullptr ? host->link : "";
    const std::optional<Link> there = slot.starts_with("pcie-") ? std::optional{load_link(slot)} : std::nullopt;
    Odd rates, slots, direct;
    for (const std::size_t n : used) {
      const TopologyDevice& port = t_.nics[n];
      const std::string& who = device_name(port, true);
      const double rate = port.line_rate * together;
      if (port.line_rate > 0 && std::fabs(rate / theirs - 1) > 0.15)  // NCCL writes 180 for two ports that share 400, minus overhead
        rates[fmt::format("{:g} Gbit/s; {} has {:g}", port.line_rate * 1e-9, stock_.name, theirs / together * 1e-9)].push_back(who);
      const double carries = there ? there->lane_rate.value.value() * there->lanes : 0;
      if (port.slot.lane_rate > 0 && port.slot.rate() < 0.9 * std::min(carries, theirs))
        slots[fmt::format("a slot of {}; {} has {:g} GT/s x{}", slot_text(port.slot), stock_.name, there->lane_rate.value.value() * 1e-9,
                          there->lanes)].push_back(who);
    }
    say_odd(rates, "NICs", used.size());
    say_odd(slots, "NICs", used.size());
    for (const bool nics : {true, false}) {
      direct.clear();
      const std::size_t all = nics ? used.size() : t_.gpus.size();
      for (std::size_t i = 0; i < all; ++i) {
        const TopologyDevice& d = nics ? t_.nics[used[i]] : t_.gpus[i];
        if (d.gpu_direct && *d.gpu_direct != nic.gpu_direct)
          direct[fmt::format("GPUDirect RDMA {}; {} has it {}", *d.gpu_direct ? "on" : "off", stock_.name, nic.gpu_direct ? "on" : "off")]
              .push_back(device_name(d, nics));
      }
      say_odd(direct, nics ? "NICs" : "GPUs", all);
    }
  }
  /// Devices by how they differ.
  using Odd = std::map<std::string, std::vector<std::string>>;
  void say_odd(const Odd& odd, const char* kind, std::size_t all) {
    for (const auto& [what, names] : odd)
      say(fmt::format("{}: {}", names.size() == all && all > 1 ? fmt::format("all {} {}", all, kind) : joined_with_and(names), what));
  }
  /// For machines with a NIC per GPU: GPUs whose nearest NICs are also the nearest of others.
  void shared_nics(const Tier& nic) {
    if (nic.path > NicPath::pxb) return;
    for (std::size_t n = 0; n < t_.nics.size(); ++n) {
      std::vector<std::string> users;
      for (std::size_t g = 0; g < t_.gpus.size(); ++g) {
        int near = 0;
        bool this_one = false;
        for (std::size_t k = 0; k < t_.nics.size(); ++k)
          if (const auto path = t_.nic_path(g, k); path && *path <= NicPath::pxb) {
            ++near;
            this_one = this_one || k == n;
          }
        if (near == 1 && this_one) users.push_back(t_.gpus[g].name);
      }
      if (users.size() > 1)
        say(fmt::format("{} share {}; in {} each GPU has a NIC of its own", joined_with_and(users), t_.nics[n].name, stock_.name));
    }
  }

  void sockets() {
    // specs do not state sockets; servers of 8 and more GPUs have at least two
    if (stock_.gpus_per_node >= 8 && t_.sockets < 2 && (stock_.gpu.vendor == "nvidia" || stock_.gpu.vendor == "amd"))
      say(fmt::format("1 socket; {} is a server of {} GPUs, which have 2 (its spec does not say)", stock_.name, stock_.gpus_per_node));
  }

  void pcie() {
    const Tier* host = host_tier(stock_);
    if (host == nullptr || !host->link.starts_with("pcie-")) return;
    const Link link = load_link(host->link);
    const double theirs = link.lane_rate.value.value();
    Odd slots;
    for (const TopologyDevice& gpu : t_.gpus)
      if (gpu.slot.lane_rate > 0 && (gpu.slot.lane_rate < 0.9 * theirs || (gpu.slot.lanes > 0 && gpu.slot.lanes < link.lanes)))
        slots[fmt::format("PCIe of {}; {} has {:g} GT/s x{}", slot_text(gpu.slot), stock_.name, theirs * 1e-9, link.lanes)].push_back(gpu.name);
    say_odd(slots, "GPUs", t_.gpus.size());
  }

  const DescribedTopology& t_;
  const GuessedSystem& guessed_;
  const System& stock_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> differences(const DescribedTopology& topology, const GuessedSystem& guessed, const System& stock) {
  return Comparison(topology, guessed, stock).run();
}

}  // namespace fabricost::observe
