#pragma once
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

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

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
[[nodiscard]] double client_rate(const Link& link, int ports = 1);

/// \throws RequestError naming `asked`, for a link that does not connect a store (NVLink, PCIe, ...)
void check_client(const Link& link, const std::string& asked);

/// Seconds a node's GPUs take to read: latency + bytes / min(rates of the parts).
/// \throws RequestError for a storage rate that is not above zero, negative bytes or latency, more GPUs than a node has, or a machine
/// without a host tier
[[nodiscard]] TransferTime storage_time(const System& system, const StorageRead& read);

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
[[nodiscard]] TransferTime weight_loading_time(const System& system, const WeightLoading& load);

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
[[nodiscard]] LoadingWays loading_ways(const System& system, WeightLoading load, const LoadedBytes& asked);

}  // namespace fabricost::plan

namespace fabricost {
using plan::storage_time;
using plan::StorageRead;
using plan::TransferTime;
using plan::weight_loading_time;
using plan::WeightLoading;
}  // namespace fabricost
