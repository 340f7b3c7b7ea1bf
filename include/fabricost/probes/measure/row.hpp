#pragma once
/// The rows that `fabricost measure` writes, one per point (the point CSV); the points it left out; its progress.
/// docs/reference/measured-files.md is the same for readers.

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/collective.hpp>
#include <fabricost/price/protocol.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::probes::measure {

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

/// A point or kind of point that will not be measured, or was not, with the reason.
struct NotMeasured {
  std::string what;
  std::optional<std::uint64_t> bytes{};
  std::string reason;
};

/// The progress of a measurement, for a display.
struct Progress {
  std::string now{};             ///< "all_reduce on 8 GPUs, half, 64 MiB"
  int points = 0;                ///< measured so far
  double done = 0;               ///< share of the work or of the budget, whichever is further
  double elapsed = 0, left = 0;  ///< seconds; left: at most
};

}  // namespace fabricost::probes::measure
