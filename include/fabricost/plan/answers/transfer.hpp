#pragma once
/// \file transfer.hpp
/// Transfers outside of collectives. Three questions:
///
///   storage   into the GPUs of one node or many, direct and through the host, for each way of sharing the weights (network/storage.hpp)
///   access    a GPU's loads and stores over the scale-up tier beside an RDMA message (network/load_store.hpp)
///   incast    many senders at one port

#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/plan/network/load_store.hpp>
#include <fabricost/plan/network/storage.hpp>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::plan {

inline constexpr Range any_bytes{0, 1e18}, some_rate{1, 1e15}, start_time{0, 1e6};

/// The machine, with the overrides of the command.
struct OnMachine {
  Machine system;
  std::string calibration;
  std::vector<std::string> overrides;
  /// \throws Refusal where no machine is named; SpecError, RequestError as load_system
  [[nodiscard]] System load() const;

  static constexpr auto machine() { return Table{field::ask_system<OnMachine>}; }
  static constexpr auto changes() { return Table{field::ask_calibration<OnMachine>, field::ask_override<OnMachine>}; }
};

struct StorageRequest : OnMachine {
  int nodes = 1;
  std::optional<Bytes> bytes, bytes_per_gpu;
  std::optional<int> gpus;
  std::optional<std::string> client;
  std::optional<int> ports;
  std::optional<Bandwidth> read_bandwidth, store_bandwidth;
  Time latency{};
  std::optional<Bandwidth> host_memory_bandwidth;
  bool behind_host = false;

  static constexpr auto fields() {
    using R = StorageRequest;
    using enum Amount;
    return tables(
        machine(),
        Table{asks(&R::nodes, "nodes", "--nodes,-n", count, any_count, "N", "Number of nodes that load; default 1"),
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
              asks(&R::behind_host, "behind_host", "--behind-host", "", "Drives or ports are not attached to the GPUs' PCIe switches")},
        changes());
  }
};

/// One way of sharing the weights.
struct StorageWay {
  std::string system, sharing;
  int nodes = 1, gpus = 1;
  Bytes bytes{};
  Bandwidth node_bandwidth{};
  Time direct{};
  Bandwidth direct_bandwidth{};
  std::string direct_bottleneck;
  Time through_host{};
  Bandwidth through_host_bandwidth{};
  std::string through_host_bottleneck;
  struct Times {
    TransferTime direct{}, through_host{};
  } made{};  ///< for explain()

  static constexpr auto fields() {
    using A = StorageWay;
    return Table{field::give_system_to_python<A>,
                 gives(&A::sharing, "sharing", "sharing",
                       "every_node reads all, each by_part reads its part, or its part is then gathered over the network."),
                 gives(&A::nodes, "", "nodes", "Nodes that load."),
                 gives(&A::gpus, "", "gpus", "GPUs that load."),
                 gives(&A::bytes, "", "bytes", "All of the weights."),
                 gives(&A::node_bandwidth, "", "node_bytes_per_second", "What a node's drives or client ports deliver, byte/s."),
                 gives(&A::direct, "direct.time_s", "direct_seconds", "With GPUDirect Storage, s: latency + bytes / slowest part."),
                 gives(&A::direct_bandwidth, "direct.rate_GBps", "direct_bytes_per_second", "Of the slowest part, byte/s.", 1e9),
                 gives(&A::direct_bottleneck, "direct.bottleneck", "direct_bottleneck", "Which part that is."),
                 gives(&A::through_host, "through_host.time_s", "through_host_seconds", "Through a buffer in host memory, s."),
                 gives(&A::through_host_bandwidth, "through_host.rate_GBps", "through_host_bytes_per_second",
                       "Of the slowest part, byte/s.", 1e9),
                 gives(&A::through_host_bottleneck, "through_host.bottleneck", "through_host_bottleneck", "Which part that is.")};
  }
};

struct StorageAnswer {
  std::string system;
  int nodes = 1, gpus = 1;
  Bytes bytes{};
  Bandwidth node_bandwidth{};
  std::vector<StorageWay> ways;
  LoadingWays made;  ///< for explain()

  static constexpr auto fields() {
    using A = StorageAnswer;
    return Table{field::give_system<A>,
                 gives(&A::nodes, "nodes", "nodes", "Nodes that load."),
                 gives(&A::gpus, "gpus", "gpus", "GPUs that load."),
                 gives(&A::bytes, "bytes", "bytes", "All of the weights."),
                 gives(&A::node_bandwidth, "node_rate_GBps", "node_bytes_per_second",
                       "What a node's drives or client ports deliver, byte/s.", 1e9),
                 gives(&A::ways, "ways", "ways", "Ways of sharing the weights.")};
  }
};

struct AccessRequest : OnMachine {
  std::optional<std::vector<Bytes>> bytes;
  std::optional<int> warps;
  std::optional<Bytes> in_flight;  ///< infinity: no bound
  std::optional<int> hops;
  Time start{};

  static constexpr auto fields() {
    using R = AccessRequest;
    using enum Amount;
    return tables(
        machine(),
        Table{asks(&R::bytes, "bytes", "--sizes", size, any_bytes, "SIZES", "Default 64B:64KiB:x2"),
              asks(&R::warps, "warps", "--warps", count, any_count, "N", "Warps that load or store; default 1, 2 KiB in flight each"),
              asks(&R::in_flight, "in_flight_bytes", "--in-flight", size_or_unbounded,
                   {0, std::numeric_limits<double>::infinity(), true}, "SIZE", "Bytes in flight, or unbounded (DMA engines)"),
              asks(&R::hops, "hops", "--hops", count, any_count, "N", "Links between the two, on a torus; default 1"),
              asks(&R::start, "start_seconds", "--start", seconds, start_time, "TIME",
                   "Time to post an RDMA message, added to the rest, as \"2 us\"")},
        changes());
  }
};

/// The times of one size.
struct AccessOfSize {
  Bytes bytes{};
  Time store{}, load{}, rdma{};

  static constexpr auto fields() {
    using A = AccessOfSize;
    return Table{gives(&A::bytes, "bytes", "bytes", "Size."),
                 gives(&A::store, "store_us", "store_seconds", "Posted, one way, s.", 1e-6),
                 gives(&A::load, "load_us", "load_seconds", "There and back, s.", 1e-6),
                 gives(&A::rdma, "rdma_us", "rdma_seconds", "One message, end to end, s.", 1e-6)};
  }
};

struct AccessAnswer {
  std::string system, tier;
  std::optional<Bytes> in_flight{}, store_until{}, load_until{};  ///< none: without bound
  std::vector<Bytes> bytes;
  std::vector<Time> store, load, rdma;
  [[nodiscard]] std::vector<AccessOfSize> sizes() const;
  bool by_dma = false;   ///< the bytes in flight were not given, and DMA engines copy
  std::string nic_tier;  ///< the tier that carries RDMA
  AccessLines made;      ///< for explain()

  static constexpr auto fields() {
    using A = AccessAnswer;
    return Table{field::give_system<A>,
                 gives(&A::tier, "tier", "tier", "Name of its scale-up tier."),
                 gives(&A::in_flight, "in_flight_bytes", "in_flight_bytes",
                       "On their way at once; None: as many as there are, of DMA engines."),
                 gives(&A::store_until, "store_until_bytes", "store_until_bytes",
                       "Up to this size stores are faster than RDMA; None: at every size."),
                 gives(&A::load_until, "load_until_bytes", "load_until_bytes", "The same of loads."),
                 gives(&A::sizes, "sizes", "", "By size."),
                 gives(&A::bytes, "", "bytes", "Sizes."),
                 gives(&A::store, "", "store_seconds", "Posted, one way, s: latency x hops + bytes / rate."),
                 gives(&A::load, "", "load_seconds", "There and back, s."),
                 gives(&A::rdma, "", "rdma_seconds", "One message, end to end, s.")};
  }
};

struct IncastRequest : OnMachine {
  std::optional<int> senders;
  std::optional<Bytes> bytes;
  Time start{};

  static constexpr auto fields() {
    using R = IncastRequest;
    using enum Amount;
    return tables(machine(),
                  Table{asks(&R::senders, "senders", "--senders", count, any_count, "N", "Number of GPUs that write at once", true),
                        asks(&R::bytes, "bytes", "--size", size, any_bytes, "SIZE", "Bytes written by each sender", true),
                        asks(&R::start, "start_seconds", "--start", seconds, start_time, "TIME",
                             "Time to post an RDMA message, added to the rest, as \"2 us\"")},
                  changes());
  }
};

struct IncastAnswer {
  std::string system;
  int senders = 1;
  Bytes bytes{};
  Time alone{}, time{};
  Bandwidth bandwidth{};
  Incast made;  ///< for explain()

  static constexpr auto fields() {
    using A = IncastAnswer;
    return Table{field::give_system<A>,
                 gives(&A::senders, "senders", "senders", "How many write at once."),
                 gives(&A::bytes, "bytes", "bytes", "Of each sender."),
                 gives(&A::alone, "alone_us", "alone_seconds", "One alone, s.", 1e-6),
                 gives(&A::time, "time_us", "seconds", "All at once, s.", 1e-6),
                 gives(&A::bandwidth, "rate_GBps", "bytes_per_second", "Of each then, byte/s: the port's rate / senders.", 1e9)};
  }
};

/// \throws Refusal for fields that are missing or exclude each other; RequestError for a machine that cannot; SpecError as load_system
[[nodiscard]] StorageAnswer answer(const StorageRequest& request);
[[nodiscard]] AccessAnswer answer(const AccessRequest& request);
[[nodiscard]] IncastAnswer answer(const IncastRequest& request);

}  // namespace fabricost::plan

namespace fabricost {
using plan::AccessAnswer;
using plan::AccessRequest;
using plan::IncastAnswer;
using plan::IncastRequest;
using plan::StorageAnswer;
using plan::StorageRequest;
}  // namespace fabricost
