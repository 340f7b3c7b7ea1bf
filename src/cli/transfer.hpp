#pragma once
/// \file transfer.hpp
/// What fabricost transfer was asked, and its three answers, one file each.

#include <fabricost/hardware/system.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::cli {

/// As typed; empty where nothing was.
struct TransferOptions {
  std::string what, system, calibration, nodes, size, per_gpu, gpus, client, ports, read_rate, store_rate, latency, host_memory;
  std::string sizes, in_flight, warps, hops, start, senders;
  std::vector<std::string> overrides;
  bool behind_host = false, json = false, explain = false;
};

/// A heading and the lines below it, and the same as JSON.
struct TransferAnswer {  // NOLINT(bugprone-exception-escape): its JSON asserts when moved
  std::string heading, text;
  std::string arithmetic;  ///< what --explain adds
  nlohmann::ordered_json json;
};

/// From storage into the GPUs of one node or many. \throws RequestError
[[nodiscard]] TransferAnswer transfer_storage(const System& system, const TransferOptions& typed);
/// Loads and stores of some bytes against RDMA messages. \throws RequestError
[[nodiscard]] TransferAnswer transfer_access(const System& system, const TransferOptions& typed);
/// Many senders, one port. \throws RequestError
[[nodiscard]] TransferAnswer transfer_incast(const System& system, const TransferOptions& typed);

/// Bytes per second of "25 GB/s" or "200 Gbit/s", which is what is read, one way; of a memory's, reads and writes together; seconds of
/// "2 us". \throws RequestError naming the option and what to write
[[nodiscard]] double read_rate_of(const std::string& text, std::string_view option);
[[nodiscard]] double memory_rate_of(const std::string& text, std::string_view option);
[[nodiscard]] double seconds_of(const std::string& text, std::string_view option);

/// Refuses what belongs to another of the three. \throws RequestError
void only_for(const std::string& value, std::string_view option, std::string_view what);

}  // namespace fabricost::cli
