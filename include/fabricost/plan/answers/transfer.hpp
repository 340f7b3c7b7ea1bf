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
  int nodes = 1;
  std::optional<Bytes> bytes, bytes_per_gpu;
  std::optional<int> gpus;
  std::optional<std::string> client;
  std::optional<int> ports;
  std::optional<Bandwidth> read_bandwidth, store_bandwidth;
  Time latency{};
  std::optional<Bandwidth> host_memory_bandwidth;
  bool behind_host = false;

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
  std::optional<std::vector<Bytes>> bytes;
  std::optional<int> warps;
  std::optional<Bytes> in_flight;
  std::optional<int> hops;
  Time start{};

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
  std::optional<Bytes> store_from{}, load_from{};  ///< sizes from which they are the faster ones; none: there is no such size
  std::vector<Bytes> bytes;
  std::vector<Time> store, load, rdma;
  [[nodiscard]] std::vector<AccessOfSize> sizes() const;
  bool by_dma = false;   ///< the bytes in flight were not given, and DMA engines copy
  std::string nic_tier;  ///< the tier that carries RDMA
  AccessLines made;      ///< for explain()

  static AnswerTable<AccessAnswer> fields();
};

struct IncastRequest : OnMachine {
  std::optional<int> senders;
  std::optional<Bytes> bytes;
  Time start{};

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
