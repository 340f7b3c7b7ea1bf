#pragma once
/// \file storage.hpp
/// From storage into GPU memory, through a bounce buffer in host memory or directly (GPUDirect Storage); the
/// time to load a model's weights on many nodes.
///
///   direct   drive or NIC -> PCIe switch -> GPU             min(storage, GPUs' own links)
///   bounce   drive or NIC -> host memory -> GPU             min(storage, GPUs' own links, ports to the processor, host memory / 2)
///
/// Chunks follow one another, so the slowest part sets the rate; `latency` covers the first chunk. Where
/// `shared_by` GPUs hang on one port to the processor, those ports make the difference: on a DGX-2 four x16
/// ports feed 16 GPUs, so host memory gives about 50 GB/s while drives and NICs below the switches reach
/// nearly 200 (developer.nvidia.com/blog/gpudirect-storage). A device outside the GPUs' switches passes the
/// ports on the direct path too.

#include <fabricost/error.hpp>
#include <fabricost/fixed_list.hpp>
#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/link.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/label.hpp>
#include <fabricost/predict/predict.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// Reading into the GPUs of one node.
struct StorageRead {
  double bytes = 0;             ///< into all of them together
  double storage_rate = 0;      ///< bytes per second the node's drives, or its client NICs, deliver
  double latency = 0;           ///< seconds to the first byte
  int gpus = 0;                 ///< GPUs of the node that read, evenly; 0: all
  bool direct = true;           ///< GPUDirect Storage
  bool below_switch = true;     ///< drives or client NICs hang on the PCIe switches of the GPUs
  double host_memory_rate = 0;  ///< bytes per second, reads and writes together; 0: not the limit
};

/// One part of the path that the bytes of a node take.
struct TransferPart {
  Label name{};     ///< "storage", "host memory", "store" (a node's share of it), or the tier
  double rate = 0;  ///< bytes per second
};

/// The time of a transfer and its limit: latency + bytes / slowest part + gather.
struct TransferTime {
  double seconds = 0;
  double rate = 0;                   ///< bytes per second of the slowest part; with `gather`, of all bytes over all seconds
  Label bottleneck;                  ///< name of the slowest part, or of the tier where the gathering takes longer
  double latency = 0;                ///< seconds to the first byte
  double bytes = 0;                  ///< read by one node
  FixedList<TransferPart, 5> parts;  ///< of the path
  double gather = 0;                 ///< seconds for the nodes to exchange their parts
};

/// Payload bytes per second of `ports` client ports, the 25 to 100 Gb/s Ethernet that connects a node to its
/// store: ports x bandwidth x efficiency of the link (data/links/ethernet-25.yaml and others).
/// \throws RequestError for less than one port
[[nodiscard]] inline double client_rate(const Link& link, int ports = 1) {
  if (ports < 1) throw RequestError("a client needs at least one port");
  return ports * link.bandwidth.value.value() * link.efficiency();
}

/// \throws RequestError naming `asked`, for a link that does not connect a store (NVLink, PCIe, ...)
inline void check_client(const Link& link, const std::string& asked) {
  constexpr std::array<std::string_view, 5> networks{"ethernet", "infiniband", "efa", "slingshot", "omnipath"};
  if (std::find(networks.begin(), networks.end(), link.family) == networks.end())
    throw RequestError(asked + ": no network reaches a store by " + link.family + "; take one of Ethernet, as ethernet-100, or InfiniBand");
}

namespace detail {

inline void check_at_least(double value, double min, const char* what) {
  if (!(value >= min) || std::isinf(value)) throw RequestError(std::string{what} + " must be a number, at least " + (min == 0 ? "0" : "1"));
}

}  // namespace detail

/// Seconds a node's GPUs take to read: latency + bytes / min(rates of the parts).
/// \throws RequestError for a storage rate that is not above zero, negative bytes or latency, more GPUs than a node has, or a machine
/// without a host tier
[[nodiscard]] inline TransferTime storage_time(const System& system, const StorageRead& read) {
  detail::check_parts(system, {});
  detail::check_at_least(read.bytes, 0, "bytes");
  detail::check_at_least(read.latency, 0, "a latency");
  detail::check_at_least(read.host_memory_rate, 0, "the rate of host memory");
  if (!(read.storage_rate > 0)) throw RequestError("the rate of the storage must be above zero");
  const int gpus = read.gpus == 0 ? system.gpus_per_node : read.gpus;
  if (gpus < 1 || gpus > system.gpus_per_node)
    throw RequestError(system.name + ": " + std::to_string(gpus) + " GPUs are to read, a node has " + std::to_string(system.gpus_per_node));
  const Tier* host = host_tier(system);
  if (host == nullptr) throw RequestError(system.name + ": has no tier between GPU and host (role host or c2c)");
  TransferTime out{.rate = read.storage_rate, .bottleneck = "storage", .latency = read.latency, .bytes = read.bytes, .parts = {}};
  out.parts.add({"storage", read.storage_rate});
  const auto part = [&out](double rate, const Label& name) {
    out.parts.add({name, rate});
    if (rate < out.rate) out.rate = rate, out.bottleneck = name;
  };
  const double link = host->bandwidth.value.value() * host->efficiency;
  part(gpus * link, host->name);
  const int port_gpus = std::clamp(host->shared_by, 1, system.gpus_per_node);
  if (!read.direct || !read.below_switch) part(std::ceil(static_cast<double>(gpus) / port_gpus) * link, "port to the host");
  if (!read.direct && read.host_memory_rate > 0) part(read.host_memory_rate / 2, "host memory");  // each byte written and read once
  out.seconds = read.latency + read.bytes / out.rate;
  return out;
}

/// The way in which the nodes of a job get the weights.
enum class WeightSharing : unsigned char {
  every_node,  ///< each node reads all of them
  by_part,     ///< each node reads only the part it needs: pipeline stages, experts
  gathered,    ///< each reads a part and gathers the rest from the others over the network
};
inline constexpr std::array<std::string_view, 3> weight_sharing_names{"every_node", "by_part", "gathered"};
[[nodiscard]] constexpr std::string_view name(WeightSharing s) { return weight_sharing_names[static_cast<std::size_t>(s)]; }

struct WeightLoading {
  double bytes = 0;  ///< of all weights
  int nodes = 1;
  WeightSharing sharing = WeightSharing::every_node;
  double store_rate = 0;  ///< bytes per second the store gives all nodes together; 0: no limit
  StorageRead node{};     ///< how one node reads; its `bytes` are computed
};

/// Seconds until all nodes have their weights:
///   every_node   latency + max(S / node, N S / store)
///   by_part      latency + max(S/N / node, S / store)
///   gathered     by_part + an all_gather of S / GPUs of a node over one GPU of each node, all of them at once on NICs of their own
/// \throws RequestError as storage_time and predict
[[nodiscard]] inline TransferTime weight_loading_time(const System& system, const WeightLoading& load) {
  detail::check_parts(system, {});
  detail::check_at_least(load.bytes, 0, "bytes");
  detail::check_at_least(load.nodes, 1, "the number of nodes");
  detail::check_at_least(load.store_rate, 0, "the rate of the store");
  const bool whole = load.sharing == WeightSharing::every_node;
  StorageRead node = load.node;
  node.bytes = whole ? load.bytes : load.bytes / load.nodes;
  TransferTime out = storage_time(system, node);
  if (load.store_rate > 0) {
    const double share = load.store_rate / load.nodes;
    out.parts.add({"store", share});
    if (share < out.rate) out.rate = share, out.bottleneck = "store", out.seconds = out.latency + out.bytes / share;
  }
  if (load.sharing != WeightSharing::gathered || load.nodes < 2) return out;
  const Operation gather{.collective = Collective::all_gather,
                         .bytes = Bytes::from_value(load.bytes / system.gpus_per_node),
                         .ranks = load.nodes,
                         .nodes = load.nodes};
  const Prediction p = predict(system, gather);
  if (p.seconds > out.seconds) out.bottleneck = p.bottleneck().tier;
  out.gather = p.seconds;
  out.seconds += p.seconds;
  out.rate = load.bytes / out.seconds;
  return out;
}

/// Bytes to load: in total, or per GPU.
struct LoadedBytes {
  double bytes = 0;
  bool per_gpu = false;
};

/// One way of sharing the weights, with GPUDirect Storage and through a buffer in host memory.
struct LoadingWay {
  WeightSharing sharing = WeightSharing::every_node;
  TransferTime direct, through_host;
};
struct LoadingWays {
  int gpus = 0;      ///< loading GPUs of all nodes
  double bytes = 0;  ///< of all weights
  std::vector<LoadingWay> ways;
};

/// The different ways: one node reads all; where each GPU has its own weights, every node reads its part.
/// \param load its bytes, sharing and node.direct are set here \throws RequestError as weight_loading_time
[[nodiscard]] inline LoadingWays loading_ways(const System& system, WeightLoading load, const LoadedBytes& asked) {
  LoadingWays out;
  out.gpus = (load.node.gpus > 0 ? load.node.gpus : system.gpus_per_node) * load.nodes;
  out.bytes = load.bytes = asked.per_gpu ? asked.bytes * out.gpus : asked.bytes;
  for (const WeightSharing sharing : {WeightSharing::every_node, WeightSharing::by_part, WeightSharing::gathered}) {
    if (load.nodes == 1 && sharing != WeightSharing::every_node) continue;
    if (asked.per_gpu && load.nodes > 1 && sharing != WeightSharing::by_part) continue;
    load.sharing = sharing;
    load.node.direct = true;
    const TransferTime direct = weight_loading_time(system, load);
    load.node.direct = false;
    out.ways.push_back({sharing, direct, weight_loading_time(system, load)});
  }
  return out;
}

}  // namespace fabricost
