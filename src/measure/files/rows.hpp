#pragma once
/// \file rows.hpp
/// What `fabricost measure` writes for one point: a row of the point CSV, and how a case becomes one. docs/reference/measured-files.md is
/// the same for readers.
///
/// A collective is a row as nccl-tests would give. A copy between two GPUs, or between a GPU and pinned host memory, is a send_recv with
/// its path, bytes and time one way. Anything else bears the probe's own word (readings/probe_table.hpp), with its working set as bytes.

#include "measure/device.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::measure {

/// The columns of the file, in this order.
inline constexpr std::string_view csv_header =
    "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes,"
    "path,both_ways,streamed";

/// One point. Empty texts and options are empty cells: unknown.
struct Row {
  std::string source{}, system{};
  int nodes = 1;
  int gpus_per_node = 1;  ///< that took part
  std::string operation{};
  std::optional<DataType> dtype{};
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::optional<bool> in_place{};
  std::string library{}, library_version{};
  std::optional<Algorithm> algorithm{};  ///< forced
  std::optional<Protocol> protocol{};    ///< forced
  std::vector<std::pair<std::string, std::string>> notes{};
  std::optional<Path> path{};
  std::optional<bool> both_ways{};

  /// The value of a note; empty when there is none of that key.
  [[nodiscard]] std::string_view note(std::string_view key) const;
};

/// Who takes part in collectives: `nodes` of `processes / nodes` processes each. \throws RequestError when they do not spread evenly
struct Layout {
  int nodes = 1, processes_per_node = 1;
};
[[nodiscard]] Layout layout_of(const Machine& machine, int processes);

/// A row with everything the case and the machine say; time, spread and state are still to be filled in.
[[nodiscard]] Row row_of(const Case& what, const Machine& machine, const Layout& layout, std::string_view source, std::string_view system);

/// One line, ended. Times have 6 significant digits, notes read `key value; key value`.
[[nodiscard]] std::string csv_line(const Row& row);

}  // namespace fabricost::measure
