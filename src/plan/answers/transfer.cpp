/// Times of transfers outside of collectives.

#include <fabricost/plan/answers/transfer.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace fabricost::plan {

static constexpr Range any_bytes{0, 1e18}, some_rate{1, 1e15}, start_time{0, 1e6};

RequestTable<StorageRequest> StorageRequest::fields() {
  using R = StorageRequest;
  using enum Amount;
  return {field::ask_system<R>,
          asks(&R::nodes, "nodes", "--nodes,-n", count, any_count, "N", "Number of nodes that load; default 1"),
          asks(&R::bytes, "bytes", "--size", size, any_bytes, "SIZE", "Size of the weights in all"),
          asks(&R::bytes_per_gpu, "bytes_per_gpu", "--per-gpu", size, any_bytes, "SIZE", "Bytes for each GPU, instead of <bytes>"),
          asks(&R::gpus, "gpus", "--gpus", count, any_count, "N", "GPUs of a node that read; default all"),
          asks(&R::client, "client", "--client", "LINK", "Link a node reads by, as ethernet-100"),
          asks(&R::ports, "ports", "--ports", count, any_count, "N", "Client ports of a node; default 1"),
          asks(&R::read_bandwidth, "read_bytes_per_second", "--read-rate", one_way_rate, some_rate, "RATE",
               "Read rate of a node's drives, as \"50 GB/s\""),
          asks(&R::store_bandwidth, "store_bytes_per_second", "--store-rate", one_way_rate, some_rate, "RATE",
               "Read rate of the store for all nodes together"),
          asks(&R::latency, "latency_seconds", "--latency", seconds, start_time, "TIME", "Time to the first byte, as \"500 us\""),
          asks(&R::host_memory_bandwidth, "host_memory_bytes_per_second", "--host-memory", bytes_per_second, some_rate, "RATE",
               "Bandwidth of a node's memory, reads and writes together"),
          asks(&R::behind_host, "behind_host", "--behind-host", "", "Drives or ports are not attached to the GPUs' PCIe switches"),
          field::ask_override<R>};
}

AnswerTable<StorageWay> StorageWay::fields() {
  using A = StorageWay;
  return {field::give_system_to_python<A>,
          gives(&A::sharing, "sharing", "sharing",
                "every_node reads all, each by_part reads its part, or its part is then gathered over the network."),
          gives(&A::nodes, "", "nodes", "Nodes that load."),
          gives(&A::gpus, "", "gpus", "GPUs that load."),
          gives(&A::bytes, "", "bytes", "All of the weights."),
          gives(&A::fits, "fits", "fits", "Whether the GPUs of a node can hold what it then has."),
          gives(&A::node_bandwidth, "", "node_bytes_per_second", "What a node's drives or client ports deliver, byte/s."),
          gives(&A::direct, "direct.time_s", "direct_seconds", "With GPUDirect Storage, s: latency + bytes / slowest part."),
          gives(&A::direct_bandwidth, "direct.rate_GBps", "direct_bytes_per_second", "Of the slowest part, byte/s.", 1e9),
          gives(&A::direct_bottleneck, "direct.bottleneck", "direct_bottleneck", "Which part that is."),
          gives(&A::through_host, "through_host.time_s", "through_host_seconds", "Through a buffer in host memory, s."),
          gives(&A::through_host_bandwidth, "through_host.rate_GBps", "through_host_bytes_per_second", "Of the slowest part, byte/s.", 1e9),
          gives(&A::through_host_bottleneck, "through_host.bottleneck", "through_host_bottleneck", "Which part that is.")};
}

AnswerTable<StorageAnswer> StorageAnswer::fields() {
  using A = StorageAnswer;
  return {
      field::give_system<A>,
      gives(&A::nodes, "nodes", "nodes", "Nodes that load."),
      gives(&A::gpus, "gpus", "gpus", "GPUs that load."),
      gives(&A::bytes, "bytes", "bytes", "All of the weights."),
      gives(&A::node_bandwidth, "node_rate_GBps", "node_bytes_per_second", "What a node's drives or client ports deliver, byte/s.", 1e9),
      gives(&A::ways, "ways", "ways", "Ways of sharing the weights.")};
}

RequestTable<AccessRequest> AccessRequest::fields() {
  using R = AccessRequest;
  using enum Amount;
  return {field::ask_system<R>,
          asks(&R::bytes, "bytes", "--sizes", size, any_bytes, "SIZES", "Default 64B:64KiB:x2"),
          asks(&R::warps, "warps", "--warps", count, any_count, "N", "Warps that load or store; default 1, 2 KiB in flight each"),
          asks(&R::in_flight, "in_flight_bytes", "--in-flight", size_or_unbounded, {0, std::numeric_limits<double>::infinity(), true},
               "SIZE", "Bytes in flight, or unbounded (DMA engines)"),
          asks(&R::hops, "hops", "--hops", count, any_count, "N", "Links between the two, on a torus; default 1"),
          asks(&R::start, "start_seconds", "--start", seconds, start_time, "TIME",
               "Time to post an RDMA message, added to the rest, as \"2 us\""),
          field::ask_override<R>};
}

AnswerTable<AccessOfSize> AccessOfSize::fields() {
  using A = AccessOfSize;
  return {gives(&A::bytes, "bytes", "bytes", "Size."), gives(&A::store, "store_us", "store_seconds", "Posted, one way, s.", 1e-6),
          gives(&A::load, "load_us", "load_seconds", "There and back, s.", 1e-6),
          gives(&A::rdma, "rdma_us", "rdma_seconds", "One message, end to end, s.", 1e-6)};
}

AnswerTable<AccessAnswer> AccessAnswer::fields() {
  using A = AccessAnswer;
  return {
      field::give_system<A>,
      gives(&A::tier, "tier", "tier", "Name of its scale-up tier."),
      gives(&A::in_flight, "in_flight_bytes", "in_flight_bytes", "On their way at once; None: as many as there are, of DMA engines."),
      gives(&A::store_until, "store_until_bytes", "store_until_bytes", "Up to this size stores are faster than RDMA; None: at every size."),
      gives(&A::load_until, "load_until_bytes", "load_until_bytes", "The same of loads."),
      gives(&A::store_from, "store_from_bytes", "store_from_bytes",
            "From this size on stores are faster than RDMA, which has started sooner; None: there is no such size.", 1, true),
      gives(&A::load_from, "load_from_bytes", "load_from_bytes", "The same of loads.", 1, true),
      gives(&A::sizes, "sizes", "", "By size."),
      gives(&A::bytes, "", "bytes", "Sizes."),
      gives(&A::store, "", "store_seconds", "Posted, one way, s: latency x hops + bytes / rate."),
      gives(&A::load, "", "load_seconds", "There and back, s."),
      gives(&A::rdma, "", "rdma_seconds", "One message, end to end, s.")};
}

RequestTable<IncastRequest> IncastRequest::fields() {
  using R = IncastRequest;
  using enum Amount;
  return {field::ask_system<R>, asks(&R::senders, "senders", "--senders", count, any_count, "N", "Number of GPUs that write at once", true),
          asks(&R::bytes, "bytes", "--size", size, any_bytes, "SIZE", "Bytes written by each sender", true),
          asks(&R::start, "start_seconds", "--start", seconds, start_time, "TIME",
               "Time to post an RDMA message, added to the rest, as \"2 us\""),
          field::ask_override<R>};
}

AnswerTable<IncastAnswer> IncastAnswer::fields() {
  using A = IncastAnswer;
  return {field::give_system<A>,
          gives(&A::senders, "senders", "senders", "How many write at once."),
          gives(&A::bytes, "bytes", "bytes", "Of each sender."),
          gives(&A::alone, "alone_us", "alone_seconds", "One alone, s.", 1e-6),
          gives(&A::time, "time_us", "seconds", "All at once, s.", 1e-6),
          gives(&A::bandwidth, "rate_GBps", "bytes_per_second", "Of each then, byte/s: the port's rate / senders.", 1e9)};
}

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
  return system.load(overrides, KernelSets::none());
}

StorageAnswer answer(const StorageRequest& r) {
  check_ranges(r);
  const System system = r.load();
  if (!r.bytes && !r.bytes_per_gpu) throw Refusal("how much? Add <bytes> (all of it) or <bytes_per_gpu>");
  if (r.bytes && r.bytes_per_gpu) throw Refusal("<bytes> and <bytes_per_gpu> exclude each other");
  check_size(system, static_cast<double>(r.nodes) * system.gpus_per_node);
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
    way.fits = out.bytes.value() / (sharing == WeightSharing::by_part ? out.nodes : 1) <= system.memory().value() * out.gpus / out.nodes;
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
  out.store_until = bounded(std::floor(out.made.stores_until));
  out.load_until = bounded(std::floor(out.made.loads_until));
  out.store_from = bounded(std::ceil(faster_from(out.made.store, out.made.rdma)));
  out.load_from = bounded(std::ceil(faster_from(out.made.load, out.made.rdma)));
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
  check_size(system, *r.senders + 1.0);
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
