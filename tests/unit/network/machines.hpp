#pragma once
/// Shipped machines laid out link by link, with helpers for tests.

#include <fabricost/plan/network/topology_of.hpp>
#include <fabricost/plan/network/link_names.hpp>
#include <fabricost/plan/network/traffic.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace machines {

using namespace fabricost::plan;

inline Topology laid_out(const std::string& name, int nodes = 0, std::vector<std::string> set = {}) {
  return topology_of(load_system(name, set), nodes);
}
inline std::vector<int> first(int n) {
  std::vector<int> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}
/// Names of the links of a route, in order.
inline std::vector<std::string> way(const Topology& t, int from, int to, const RouteOptions& options = {}) {
  std::vector<std::string> out;
  for (const LinkUse& use : route(t, from, to, options)) out.push_back(name_of(t, use.link));
  return out;
}
/// Bytes per byte of size carried by all links of one kind; if `places` is given, only by those of GPUs or
/// nodes [0, places).
inline double carried(const Topology& t, const Traffic& traffic, LinkKind kind, int places = 0) {
  double out = 0;
  for (const LinkLoad& l : traffic.loads) {
    const LinkBlock& b = t.block_of(l.link);
    if (b.kind == kind && (places == 0 || l.link - b.first < places)) out += l.bytes;
  }
  return out;
}
/// Bytes of size per second with nothing else running, and the limiting link.
struct Alone {
  double rate = 0;
  int link = -1;
};
inline Alone alone(const Topology& t, const Traffic& traffic) {
  Alone out;
  for (const LinkLoad& l : traffic.loads)
    if (const double rate = t.capacity(l.link) / l.bytes; out.link < 0 || rate < out.rate) out = {rate, l.link};
  return out;
}
/// An exchange counted by groups loads every link as its messages sent one by one do.
inline void check_exchange_one_by_one(const Topology& t, const std::vector<int>& ranks, const RouteOptions& options = {}) {
  std::map<int, double> wanted;
  for (const int a : ranks)
    for (const int b : ranks)
      if (a != b)
        for (const LinkUse& use : route(t, a, b, options)) wanted[use.link] += use.share / static_cast<double>(ranks.size());
  const Traffic traffic = TrafficCounter{t, options}.count(Collective::all_to_all, Algorithm::direct, ranks);
  CHECK(traffic.loads.size() == wanted.size());
  for (const LinkLoad& l : traffic.loads) {
    INFO(name_of(t, l.link));
    REQUIRE(l.bytes == Approx(wanted[l.link]));
  }
}

}  // namespace machines
