#pragma once
/// \file rows.hpp
/// A point that `fabricost measure` writes: a row of the point CSV, made from a case.
/// docs/reference/measured-files.md describes it for users.
///
/// A collective is a row as nccl-tests prints it. A copy between two GPUs, or between a GPU and pinned host
/// memory, is a send_recv with its path, bytes and one-way time. Other probes use their own word
/// (readings/probe_table.hpp), with the working set as bytes.

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

/// One point. Empty texts and options are written as empty cells: unknown.
struct Row {
  std::string source{}, system{};
  int nodes = 1;
  int gpus_per_node = 1;  ///< participating ones
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

  /// The value of a note; empty if the key is missing.
  [[nodiscard]] std::string_view note(std::string_view key) const;
};

/// Participants of collectives: `nodes` nodes of `processes / nodes` processes. \throws RequestError when
/// this is not a whole number
struct Layout {
  int nodes = 1, processes_per_node = 1;
};
[[nodiscard]] Layout layout_of(const Machine& machine, int processes);

/// A row with the properties of the case and machine, without time, spread and state.
[[nodiscard]] Row row_of(const Case& what, const Machine& machine, const Layout& layout, std::string_view source, std::string_view system);

/// One line with its line end. Times have 6 significant digits, notes have the form `key value; key value`.
[[nodiscard]] std::string csv_line(const Row& row);

}  // namespace fabricost::measure
