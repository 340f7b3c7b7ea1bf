#pragma once
/// \file points.hpp
/// Measured points: the CSV that everything here reads and writes, nccl-tests logs, and the comparison with predictions.

#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/price/protocol.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fabricost {

/// One measured time. Columns of the CSV: source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,
/// library_version,algorithm,protocol,notes. Empty cells are unknown.
struct Point {
  std::string source, system;
  int nodes = 1;
  int gpus_per_node = 0;
  Collective collective = Collective::all_reduce;
  DataType dtype = DataType::half;
  double bytes = 0;
  double seconds = 0;
  std::optional<bool> in_place;
  std::string library, library_version;
  std::optional<Algorithm> algorithm;
  std::optional<Protocol> protocol;
  std::string notes;

  [[nodiscard]] int ranks() const { return nodes * gpus_per_node; }
};

/// Rows that were read but cannot be priced, by reason.
struct Skipped {
  std::string reason;
  int rows = 0;
};

struct Points {
  std::vector<Point> points;
  std::vector<Skipped> skipped;
  void skip(const std::string& reason, int rows = 1);
};

/// Reads a point CSV or an nccl-tests log, recognised by content. `system`, `nodes` and `ranks` fill in what a log does not say.
/// A malformed cell is a SpecError with line and column; a well-formed row that cannot be priced is counted in `skipped`.
struct PointSource {
  std::string system;
  int nodes = 0;
  int ranks = 0;
};
[[nodiscard]] Points read_points(const std::filesystem::path& file, const PointSource& otherwise = {});

/// Repeats (same system, nodes, GPUs, operation, type, bytes, library, forced algorithm and protocol) merged by their median.
[[nodiscard]] std::vector<Point> merge_repeats(const std::vector<Point>& points);

}  // namespace fabricost
