/// \file transfer.cpp
/// Times of transfers outside of collectives.

#include <fabricost/plan/answers/transfer.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <cmath>

namespace fabricost::plan {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

/// Rate of a node's drives or client ports, byte/s.
[[nodiscard]] double source_rate(const StorageRequest& r) {
  if (!r.client && !r.read_bandwidth) throw Refusal("read from where? Add <client=ethernet-100> or <read_bytes_per_second=50e9>");
  if (r.client && r.read_bandwidth) throw Refusal("<client> and <read_bytes_per_second> exclude each other");
  if (!r.client) {
    if (r.ports) throw Refusal("<ports> counts the ports of <client>; leave it out with <read_bytes_per_second>");
    return r.read_bandwidth->value();
  }
  const Link link = load_link(*r.client);
  try {
    check_client(link, fmt::format("<client={}>", *r.client));
  } catch (const RequestError& error) {
    throw Refusal(error.what());
  }
  return client_rate(link, r.ports.value_or(1));
}

}  // namespace

System OnMachine::load() const {
  need_machine(system);
  return system.load(overrides, {}, calibration);
}

StorageAnswer answer(const StorageRequest& r) {
  check_ranges(r);
  const System system = r.load();
  if (!r.bytes && !r.bytes_per_gpu) throw Refusal("how much? Add <bytes> (all of it) or <bytes_per_gpu>");
  if (r.bytes && r.bytes_per_gpu) throw Refusal("<bytes> and <bytes_per_gpu> exclude each other");
  WeightLoading load{.nodes = r.nodes};
  load.node.storage_rate = source_rate(r);
  load.node.gpus = r.gpus.value_or(0);
  load.node.below_switch = !r.behind_host;
  load.node.latency = r.latency.value();
  load.node.host_memory_rate = numbers_in(r.host_memory_bandwidth).value_or(0);
  load.store_rate = numbers_in(r.store_bandwidth).value_or(0);
  StorageAnswer out;
  out.made = loading_ways(system, load, {.bytes = (r.bytes ? *r.bytes : *r.bytes_per_gpu).value(), .per_gpu = !r.bytes});
  out.system = system.name;
  out.nodes = r.nodes;
  out.gpus = out.made.gpus;
  out.bytes = units::B(out.made.bytes);
  out.node_bandwidth = units::B_per_s(load.node.storage_rate);
  for (const auto& [sharing, direct, bounced] : out.made.ways) {
    StorageWay way;
    way.system = out.system;
    way.nodes = out.nodes;
    way.gpus = out.gpus;
    way.bytes = out.bytes;
    way.node_bandwidth = out.node_bandwidth;
    way.sharing = name(sharing);
    way.direct = units::s(direct.seconds);
    way.direct_bandwidth = units::B_per_s(direct.rate);
    way.direct_bottleneck = direct.bottleneck.view();
    way.through_host = units::s(bounced.seconds);
    way.through_host_bandwidth = units::B_per_s(bounced.rate);
    way.through_host_bottleneck = bounced.bottleneck.view();
    way.made = {direct, bounced};
    out.ways.push_back(std::move(way));
  }
  return out;
}

AccessAnswer answer(const AccessRequest& r) {
  check_ranges(r);
  const System system = r.load();
  if (r.warps && r.in_flight) throw Refusal("<warps> and <in_flight_bytes> exclude each other");
  AccessAnswer out;
  if (r.bytes) {
    for (const Bytes size : *r.bytes)
      if (!any_bytes.holds(size.value())) refuse_range("bytes", size.value(), any_bytes);
    out.bytes = *r.bytes;
  } else {
    for (Bytes size = units::B(64); size <= units::KiB(64); size *= 2) out.bytes.push_back(size);
  }
  out.by_dma = !r.warps && !r.in_flight && copies_by_dma(system);
  const double in_flight = numbers_in(r.in_flight).value_or(out.by_dma ? unbounded : r.warps.value_or(1) * warp_window);
  const auto bounded = [](double bytes) { return std::isfinite(bytes) ? std::optional{units::B(bytes)} : std::nullopt; };
  out.in_flight = bounded(in_flight);
  out.made = access_lines(system, in_flight, r.hops.value_or(0), r.start.value());
  out.system = system.name;
  out.tier = system.tier(TierRole::scale_up)->name.view();
  out.nic_tier = system.tier(TierRole::nic)->name.view();
  out.store_until = bounded(out.made.stores_until);
  out.load_until = bounded(out.made.loads_until);
  for (const Bytes size : out.bytes) {
    out.store.push_back(units::s(out.made.store(size.value())));
    out.load.push_back(units::s(out.made.load(size.value())));
    out.rdma.push_back(units::s(out.made.rdma(size.value())));
  }
  return out;
}

std::vector<AccessOfSize> AccessAnswer::sizes() const {
  std::vector<AccessOfSize> out;
  for (std::size_t i = 0; i < bytes.size(); ++i) out.push_back({bytes[i], store[i], load[i], rdma[i]});
  return out;
}

IncastAnswer answer(const IncastRequest& r) {
  check_ranges(r);
  const System system = r.load();
  if (!r.senders) throw Refusal("how many write at once? Add <senders>, as in <senders=8>", true);
  if (!r.bytes) throw Refusal("how much does each send? Add <bytes>, as in <bytes=1048576>", true);
  IncastAnswer out;
  out.made = incast(system, *r.senders, r.bytes->value(), r.start.value());
  out.system = system.name;
  out.senders = *r.senders;
  out.bytes = *r.bytes;
  out.alone = units::s(out.made.alone);
  out.time = units::s(out.made.seconds);
  out.bandwidth = units::B_per_s(out.made.rate);
  return out;
}

}  // namespace fabricost::plan
