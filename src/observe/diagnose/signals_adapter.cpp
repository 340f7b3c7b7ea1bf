/// \file signals_adapter.cpp
/// The path between GPU and network adapter: GPUDirect RDMA, and adapters on the wrong side of the CPU.

#include <fabricost/predict/fabric_of.hpp>

#include "diagnose/context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::observe::diagnosis {

namespace {

/// GPUDirect refused because of distance: the adapter is elsewhere.
std::optional<Facts> pair_refused(const Context& c, const Numbers&) {
  for (const DirectPair& pair : c.info.direct_pairs)
    if (!pair.on) return Facts{cited(pair.line), fmt::format("{}", pair.distance), fmt::format("{}", pair.limit)};
  return std::nullopt;
}

std::optional<Facts> connections(const Context& c, const Numbers&) {
  const Fabric fabric = fabric_of(c.info);
  if (fabric.times == 0) return std::nullopt;
  return Facts{cited(fabric.first_indirect), fmt::format("{}", fabric.times)};
}

std::optional<Facts> no_direct_connection(const Context& c, const Numbers&) { return found(fabric_of(c.info).direct == 0); }

std::optional<Facts> few_direct_connections(const Context& c, const Numbers&) {
  const Fabric fabric = fabric_of(c.info);
  if (fabric.direct == 0 || fabric.direct >= fabric.times / 2) return std::nullopt;
  return Facts{cited(fabric.first_indirect), fmt::format("{}", fabric.direct), fmt::format("{}", fabric.times)};
}

/// Adapters far from the GPUs: PHB crosses the CPU, SYS the socket. Only the rate proves it: a single
/// direction (a broadcast) may still fit.
std::optional<Facts> far_adapter_is_slow(const Context& c, const Numbers& n) {
  const std::string& path = c.info.widest_path;
  const bool far = path == "PHB" || path == "SYS" || path == "NODE";
  const bool direct = std::any_of(c.info.direct_pairs.begin(), c.info.direct_pairs.end(), [](const DirectPair& p) { return p.on; });
  double nic = 0;
  for (const TopologyLink& link : c.info.topology)
    if (link.kind == "NET") nic = std::max(nic, link.rate * 1e9);
  const double shown = c.best_bus();
  if (!far || !direct || !(nic > 0) || !(shown > 0) || shown >= n["share"] * nic || c.info.net.empty()) return std::nullopt;
  return Facts{cited(c.info.widest_path_line), path, gigabytes(shown), gigabytes(nic), fmt::format("{:.0f}", 100 * shown / nic)};
}

/// In a topology matrix: some GPUs with NVLink reach adapters below their bridge, others only across sockets.
std::optional<Facts> adapters_across_sockets(const Context& c, const Numbers&) {
  int rows = 0, far_rows = 0;
  LogLine first;
  for (const MatrixRow& row : c.info.matrix) {
    bool nvlink = false, host = false, close = false, bridge = false;
    for (const std::string& cell : row.cells) {
      nvlink = nvlink || cell.starts_with("NV");
      close = close || cell == "PIX" || cell == "PXB";
      host = host || cell == "SYS" || cell == "SOC";
      bridge = bridge || cell == "NODE" || cell == "PHB";
    }
    if (!nvlink) continue;  // PCIe boards show SYS between GPUs
    ++rows;
    if (host && !close && !bridge) {
      ++far_rows;
      if (first.number == 0) first = row.line;
    }
  }
  if (rows == 0 || far_rows == 0 || far_rows >= rows || c.nodes() == 1) return std::nullopt;
  return Facts{cited(first)};
}

}  // namespace

std::span<const Signal> adapter_signals() {
  static const std::vector<Signal> all{
      {"pair_refused", pair_refused, {"line", "distance", "limit"}},
      {"connections", connections, {"line", "times"}},
      {"no_direct_connection", no_direct_connection},
      {"few_direct_connections", few_direct_connections, {"line", "direct", "times"}},
      {"far_adapter_is_slow", far_adapter_is_slow, {"line", "path", "shown", "nic", "percent"}, {{"share"}}},
      {"adapters_across_sockets", adapters_across_sockets, {"line"}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
