/// \file signals_rails.cpp
/// Fewer adapters in use than present: idle ones among those NCCL lists, one where the machine has several,
/// none of the topology's.

#include <fabricost/predict/fabric_of.hpp>

#include "diagnose/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fabricost::observe::diagnosis {

namespace {

/// One transport's connections and the adapters, or interfaces, available to it.
struct Rails {
  const NetUse* use = nullptr;
  bool sockets = false;
  std::size_t there = 0;
  std::string names;
};

/// One rank per node loads one adapter.
bool several_expected(const Context& c) { return c.nodes() != 1 && c.ranks_per_node() != 1 && c.ranks() != 2; }

/// The first transport that satisfies `holds`.
template <class Holds>
std::optional<Rails> rails_with(const Context& c, Holds holds) {
  if (!several_expected(c)) return std::nullopt;
  for (const auto& [transport, use] : c.info.net) {
    const bool sockets = transport == "Socket";
    Rails one{&use, sockets, sockets ? c.info.interfaces.size() : c.info.adapters.size(), fmt::format("{}", fmt::join(use.devices, ", "))};
    if (holds(one)) return one;
  }
  return std::nullopt;
}

/// On two nodes or more, fewer ranks than two for each adapter cannot use all of them.
std::optional<Facts> rails_without_channels(const Context& c, const Numbers&) {
  const int channels = c.info.channels, ranks = c.ranks();
  const auto rails = rails_with(c, [&](const Rails& r) {
    const int there = static_cast<int>(r.there);
    return there >= 2 && r.use->devices.size() < r.there && channels > 0 && channels < there && (ranks == 0 || ranks >= 2 * there);
  });
  if (!rails) return std::nullopt;
  return Facts{cited(c.info.channels_line), cited(rails->use->first), fmt::format("{}", channels), rails->names,
               fmt::format("{}", rails->there)};
}

/// At most half of them in use. Most logs are cut: connections prove something only if all channels are
/// shown.
std::optional<Facts> idle_half(const Context& c, bool sockets) {
  const auto rails = rails_with(c, [&](const Rails& r) {
    const std::size_t channels = r.use->channels.size();
    const bool all = channels >= r.there || (c.info.channels > 0 && static_cast<int>(channels) >= c.info.channels);
    return r.sockets == sockets && r.there >= 2 && r.use->devices.size() * 2 <= r.there && r.use->times >= 3 && all;
  });
  if (!rails) return std::nullopt;
  return Facts{cited(sockets ? c.info.interfaces_line : c.info.adapters_line), cited(rails->use->first), fmt::format("{}", rails->there),
               fmt::format("{}", rails->use->times), rails->names};
}
std::optional<Facts> idle_interfaces(const Context& c, const Numbers&) { return idle_half(c, true); }
std::optional<Facts> idle_adapters(const Context& c, const Numbers&) { return idle_half(c, false); }

/// Line rate of one adapter, from NCCL's dump or its ports; hfi1 is Omni-Path; 0: not stated.
double adapter_rate(const Context& c, double omnipath) {
  for (const TopologyLink& link : c.info.topology)
    if (link.kind == "NET" && link.rate > 0) return link.rate * 1e9;
  if (c.info.fastest_port > 0) return c.info.fastest_port * 1.25e8;
  return !c.info.adapters.empty() && c.info.adapters.front().starts_with("hfi1") ? omnipath : 0;
}
/// The best rate in the log, in its table or in words.
double any_rate(const Context& c) {
  double best = c.best_bus();
  for (const Quoted& q : c.quoted)
    if (c.curve.empty() && !q.perftest) best = std::max(best, q.rate);
  return best;
}

std::optional<Facts> rate_of_one_rail(const Context& c, const Numbers& n) {
  const double one = adapter_rate(c, n["omnipath"]), shown = any_rate(c);
  if (!(one > 0) || !(shown > 0) || shown >= n["near"] * one) return std::nullopt;
  const auto rails = rails_with(
      c, [&](const Rails& r) { return !r.sockets && r.there >= 4 && r.use->devices.size() * 2 <= r.there && r.use->times >= 3; });
  if (!rails) return std::nullopt;
  return Facts{cited(c.info.adapters_line),
               cited(rails->use->first),
               fmt::format("{}", rails->there),
               rails->names,
               gigabytes(shown),
               gigabytes(one)};
}

std::optional<Facts> rate_shown(const Context& c, const Numbers&) { return found(any_rate(c) > 0); }

/// Eight GPUs, two channels, one adapter: the plugin showed NCCL no topology.
std::optional<Facts> one_rail_for_many_ranks(const Context& c, const Numbers&) {
  const int channels = c.info.channels;
  const auto rails = rails_with(c, [&](const Rails& r) {
    return !r.sockets && r.use->devices.size() == 1 && channels > 0 && channels <= 2 && (c.ranks_per_node() > 2 || c.info.ranks > 8);
  });
  if (!rails) return std::nullopt;
  return Facts{cited(c.info.channels_line), cited(rails->use->first), fmt::format("{}", channels), rails->names,
               fmt::format("{}", c.info.ranks)};
}

const Tier* described_nic(const Context& c) { return c.system ? c.system->tier(TierRole::nic) : nullptr; }

std::optional<Facts> single_adapter(const Context& c, const Numbers&) {
  const Tier* nic = described_nic(c);
  const bool alone = c.info.adapters.size() == 1 && c.info.adapters.front().find("bond") == std::string::npos;
  if (!several_expected(c) || !alone || (nic != nullptr && nic->endpoints <= 1) || over_sockets(c.info)) return std::nullopt;
  return Facts{cited(c.info.adapters_line)};
}

std::optional<Facts> described_adapters(const Context& c, const Numbers&) {
  const Tier* nic = described_nic(c);
  if (nic == nullptr) return std::nullopt;
  return Facts{c.system->name, fmt::format("{}", nic->endpoints)};
}

std::optional<Facts> adapter_chosen(const Context& c, const Numbers&) { return found(c.info.setting("NCCL_IB_HCA") != nullptr); }

std::optional<Facts> fewer_adapters_than_described(const Context& c, const Numbers&) {
  const Tier* nic = described_nic(c);
  const std::size_t count = c.info.adapters.size();
  if (!several_expected(c) || nic == nullptr || count <= 1 || static_cast<int>(count) >= nic->endpoints) return std::nullopt;
  return Facts{cited(c.info.adapters_line), fmt::format("{}", count), c.system->name, fmt::format("{}", nic->endpoints)};
}

/// Adapters of the topology dump and the line of the first.
std::pair<std::set<std::string>, LogLine> topology_adapters(const Context& c) {
  std::set<std::string> nets;
  LogLine first;
  for (const TopologyLink& link : c.info.topology)
    if (link.kind == "NET") {
      nets.insert(link.to);
      if (first.number == 0) first = link.line;
    }
  return {nets, first};
}

/// The topology dump lists adapters, but NCCL's graph contains none of them.
std::optional<Facts> unused_adapters_in_topology(const Context& c, const Numbers&) {
  const auto [nets, first] = topology_adapters(c);
  const Fabric fabric = fabric_of(c.info);
  if (nets.size() < 2 || fabric.times < 2 || fabric.devices.size() != 1) return std::nullopt;
  return Facts{cited(first), fmt::format("{}", nets.size()), fmt::format("{}", fabric.times), cited(fabric.first)};
}

std::optional<Facts> topology_without_connections(const Context& c, const Numbers&) {
  const auto [nets, first] = topology_adapters(c);
  if (nets.size() < 2 || !c.info.net.empty() || !c.curve.empty()) return std::nullopt;
  return Facts{cited(first)};
}

}  // namespace

std::span<const Signal> rail_signals() {
  static const std::vector<Signal> all{
      {"rails_without_channels", rails_without_channels, {"channels", "line", "count", "names", "there"}},
      {"idle_interfaces", idle_interfaces, {"listed", "line", "there", "times", "names"}},
      {"idle_adapters", idle_adapters, {"listed", "line", "there", "times", "names"}},
      {"rate_of_one_rail",
       rate_of_one_rail,
       {"listed", "line", "there", "names", "shown", "one"},
       {{"near"}, {"omnipath", QuantityKind::link_rate}}},
      {"rate_shown", rate_shown},
      {"one_rail_for_many_ranks", one_rail_for_many_ranks, {"channels", "line", "count", "names", "ranks"}},
      {"single_adapter", single_adapter, {"line"}},
      {"described_adapters", described_adapters, {"system", "endpoints"}},
      {"adapter_chosen", adapter_chosen},
      {"fewer_adapters_than_described", fewer_adapters_than_described, {"line", "count", "system", "endpoints"}},
      {"unused_adapters_in_topology", unused_adapters_in_topology, {"line", "there", "times", "first"}},
      {"topology_without_connections", topology_without_connections, {"line"}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
