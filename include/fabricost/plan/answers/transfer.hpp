#pragma once
/// Transfers outside of collectives. Three questions:
///
///   storage   into the GPUs of one node or many, direct and through the host, for each way of sharing the weights (network/storage.hpp)
///   access    a GPU's loads and stores over the scale-up tier beside an RDMA message (network/load_store.hpp)
///   incast    many senders at one port

#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/plan/network/load_store.hpp>
#include <fabricost/plan/network/storage.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fabricost::plan {

/// The machine, with the overrides of the command.
struct OnMachine {
  Machine system;
  std::vector<std::string> overrides;
  /// \throws Refusal where no machine is named; SpecError, RequestError as load_system
  [[nodiscard]] System load() const;
};

struct StorageRequest : OnMachine {
  int nodes = 1;                                   ///< number of nodes that load; default 1
  std::optional<Bytes> bytes;                      ///< size of the weights in all
  std::optional<Bytes> bytes_per_gpu;              ///< bytes for each GPU, instead of bytes
  std::optional<int> gpus;                         ///< GPUs of a node that read; default all
  std::optional<std::string> client;               ///< link a node reads by, as ethernet-100
  std::optional<int> ports;                        ///< client ports of a node; default 1
  std::optional<Bandwidth> read_bandwidth;         ///< read rate of a node's drives, as "50 GB/s"
  std::optional<Bandwidth> store_bandwidth;        ///< read rate of the store for all nodes together
  Time latency{};                                  ///< time to the first byte, as "500 us"
  std::optional<Bandwidth> host_memory_bandwidth;  ///< bandwidth of a node's memory, reads and writes together
  bool behind_host = false;                        ///< drives or ports are not attached to the GPUs' PCIe switches

  static RequestTable<StorageRequest> fields();
};

/// One way of sharing the weights.
struct StorageWay {
  std::string system, sharing;
  int nodes = 1, gpus = 1;
  Bytes bytes{};
  bool fits = true;
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

  static AnswerTable<StorageWay> fields();
};

struct StorageAnswer {
  std::string system;
  int nodes = 1, gpus = 1;
  Bytes bytes{};
  Bandwidth node_bandwidth{};
  std::vector<StorageWay> ways;
  LoadingWays made;  ///< for explain()

  static AnswerTable<StorageAnswer> fields();
};

struct AccessRequest : OnMachine {
  std::optional<std::vector<Bytes>> bytes;  ///< default 64B:64KiB:x2
  std::optional<int> warps;                 ///< warps that load or store; default 1, 2 KiB in flight each
  std::optional<Bytes> in_flight;           ///< infinity: no bound
  std::optional<int> hops;                  ///< links between the two, on a torus; default 1
  Time start{};                             ///< time to post an RDMA message, added to the rest, as "2 us"

  static RequestTable<AccessRequest> fields();
};

/// The times of one size.
struct AccessOfSize {
  Bytes bytes{};
  Time store{}, load{}, rdma{};

  static AnswerTable<AccessOfSize> fields();
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

  static AnswerTable<AccessAnswer> fields();
};

struct IncastRequest : OnMachine {
  std::optional<int> senders;  ///< number of GPUs that write at once
  std::optional<Bytes> bytes;  ///< bytes written by each sender
  Time start{};                ///< time to post an RDMA message, added to the rest, as "2 us"

  static RequestTable<IncastRequest> fields();
};

struct IncastAnswer {
  std::string system;
  int senders = 1;
  Bytes bytes{};
  Time alone{}, time{};
  Bandwidth bandwidth{};
  Incast made;  ///< for explain()

  static AnswerTable<IncastAnswer> fields();
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
