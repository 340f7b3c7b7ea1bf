#pragma once
/// The wires between ranks: directed links with a capacity (bytes per second), and for every pair of ranks
/// the routes of a message and its latency (seconds). Shares no code with the model.

#include "engine.hpp"

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

namespace flow {

struct Way {
  std::vector<int> links;
  double share = 1;  ///< share of the message on this route
};

struct Network {
  std::string name;
  int ranks = 0;
  std::vector<double> capacity;
  std::function<std::vector<Way>(int, int)> ways;
  std::function<double(int, int)> latency;

  int add(double rate) {
    capacity.push_back(rate);
    return static_cast<int>(capacity.size()) - 1;
  }
};

/// A non-blocking switch: each rank has one port out, one in. Rank `slow` has only `share` of the rate.
inline Network flat_switch(int n, double rate, double latency, int slow = -1, double share = 1) {
  Network net{"flat switch", n, {}, {}, {}};
  for (int r = 0; r < n; ++r)
    for (int way = 0; way < 2; ++way) net.add(r == slow ? share * rate : rate);  // 2 r out, 2 r + 1 in
  net.ways = [](int a, int b) { return std::vector<Way>{{{2 * a, 2 * b + 1}, 1}}; };
  net.latency = [latency](int, int) { return latency; };
  return net;
}

struct TwoLevels {
  int group = 8, groups = 2;
  double inner_rate = 1, inner_latency = 0;
  double outer_rate = 1, outer_latency = 0;  ///< of a whole group
  bool rails = false;                        ///< every rank has its own part of the group's outer rate, and messages leave
                                             ///< by the sender's
  bool through_ports = false;                ///< traffic leaving the group also passes the rank's inner port (PCIe); otherwise it has a
                                             ///< separate path to the NIC
  int leaf = 0;                              ///< groups below one leaf switch; 0: no leaves
  double taper = 1;                          ///< a leaf's uplink has 1/taper of what its groups can send
};
/// Ranks meet in a switch of their group, groups in one switch or in leaf switches with uplinks to a spine.
inline Network two_levels(const TwoLevels& t) {
  const int n = t.group * t.groups;
  Network net{"two levels", n, {}, {}, {}};
  for (int i = 0; i < 2 * n; ++i) net.add(t.inner_rate);
  const int nics = 2 * n;  // first of the NICs
  for (int i = 0; i < 2 * (t.rails ? n : t.groups); ++i) net.add(t.rails ? t.outer_rate / t.group : t.outer_rate);
  const int uplinks = static_cast<int>(net.capacity.size());
  if (t.leaf > 0)
    for (int i = 0; i < 2 * (t.groups / t.leaf); ++i) net.add(t.leaf * t.outer_rate / t.taper);
  net.ways = [t, nics, uplinks](int a, int b) {
    Way way;
    const int from = a / t.group, to = b / t.group;
    if (from == to) {
      way.links = {2 * a, 2 * b + 1};
    } else {
      if (t.through_ports) way.links = {2 * a, 2 * b + 1};
      way.links.push_back(nics + 2 * (t.rails ? a : from));
      way.links.push_back(nics + 2 * (t.rails ? b : to) + 1);
      if (t.leaf > 0 && from / t.leaf != to / t.leaf) {
        way.links.push_back(uplinks + 2 * (from / t.leaf));
        way.links.push_back(uplinks + 2 * (to / t.leaf) + 1);
      }
    }
    return std::vector<Way>{way};
  };
  net.latency = [t](int a, int b) { return a / t.group == b / t.group ? t.inner_latency : t.outer_latency; };
  return net;
}

/// Links between pairs of ranks; messages only between those. `edges` are (a, b, links), each link full duplex.
inline Network mesh(int n, const std::vector<std::array<int, 3>>& edges, double link_rate, double latency) {
  Network net{"mesh", n, {}, {}, {}};
  std::vector<int> link(static_cast<std::size_t>(n * n), -1);
  for (const auto& [a, b, links] : edges) {
    if (a >= n || b >= n) continue;
    link[static_cast<std::size_t>(a * n + b)] = net.add(links * link_rate);
    link[static_cast<std::size_t>(b * n + a)] = net.add(links * link_rate);
  }
  net.ways = [n, link](int a, int b) {
    const int l = link[static_cast<std::size_t>(a * n + b)];
    if (l < 0) throw std::logic_error("no link between these two");
    return std::vector<Way>{{{l}, 1}};
  };
  net.latency = [latency](int, int) { return latency; };
  return net;
}
inline std::vector<std::array<int, 3>> every_pair(int n) {
  std::vector<std::array<int, 3>> out;
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b) out.push_back({a, b, 1});
  return out;
}

/// Chips in 1 to 3 dimensions, two links to the neighbours along each axis.
struct Grid {
  std::vector<int> dims;
  bool wrap = true;

  [[nodiscard]] int axes() const { return static_cast<int>(dims.size()); }
  [[nodiscard]] int length(int axis) const { return dims[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] int chips() const {
    int n = 1;
    for (const int d : dims) n *= d;
    return n;
  }
  [[nodiscard]] int stride(int axis) const {
    int s = 1;
    for (int i = 0; i < axis; ++i) s *= length(i);
    return s;
  }
  [[nodiscard]] int at(int chip, int axis) const { return chip / stride(axis) % length(axis); }
  [[nodiscard]] int placed(int chip, int axis, int position) const { return chip + (position - at(chip, axis)) * stride(axis); }
  [[nodiscard]] int next(int chip, int axis, int sign) const {
    return placed(chip, axis, (at(chip, axis) + sign + length(axis)) % length(axis));
  }
  /// The link that leaves a chip along an axis, forwards (+1) or backwards (-1).
  [[nodiscard]] int link(int chip, int axis, int sign) const { return (chip * axes() + axis) * 2 + (sign > 0 ? 0 : 1); }
};

/// Messages go one axis after the other, the shorter way around; at equal distance half of the message takes
/// each way.
inline Network grid_network(const Grid& g, double link_rate, double hop) {
  Network net{"torus", g.chips(), {}, {}, {}};
  net.capacity.assign(static_cast<std::size_t>(g.chips() * g.axes() * 2), link_rate);
  const auto hops = [g](int a, int b, int axis) {
    const int d = std::abs(g.at(a, axis) - g.at(b, axis));
    return g.wrap ? std::min(d, g.length(axis) - d) : d;
  };
  net.ways = [g, hops](int a, int b) {
    std::vector<Way> ways{{{}, 1}};
    int chip = a;
    for (int axis = 0; axis < g.axes(); ++axis) {
      const int h = hops(a, b, axis), m = g.length(axis), ahead = g.at(b, axis) - g.at(a, axis);
      if (h == 0) continue;
      const bool tie = g.wrap && 2 * h == m;
      const int shorter = g.wrap ? ((ahead + m) % m == h ? 1 : -1) : (ahead > 0 ? 1 : -1);
      std::vector<Way> longer;
      for (const int sign : tie ? std::vector<int>{shorter, -shorter} : std::vector<int>{shorter}) {
        std::vector<int> links;
        for (int i = 0, c = chip; i < h; ++i, c = g.next(c, axis, sign)) links.push_back(g.link(c, axis, sign));
        for (Way way : ways) {
          way.links.insert(way.links.end(), links.begin(), links.end());
          way.share *= tie ? 0.5 : 1;
          longer.push_back(way);
        }
      }
      ways.swap(longer);
      chip = g.placed(chip, axis, g.at(b, axis));
    }
    return ways;
  };
  net.latency = [g, hops, hop](int a, int b) {
    int total = 0;
    for (int axis = 0; axis < g.axes(); ++axis) total += hops(a, b, axis);
    return hop * total;
  };
  return net;
}

}  // namespace flow
