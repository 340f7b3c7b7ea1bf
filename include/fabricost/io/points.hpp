#pragma once
/// \file points.hpp
/// Measured points: the CSV that everything here reads and writes, nccl-tests logs (text or JSON), and what a `sources.csv` beside
/// them says of how they were run. Every reader ends in the same `Point`, so that whoever compares or fits never sees a format.

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
  int gpus_per_node = 0;  ///< 0: all of a node of that system
  Collective collective = Collective::all_reduce;
  DataType dtype = DataType::half;
  double bytes = 0;    ///< the nccl-tests size
  double seconds = 0;  ///< above zero
  std::optional<bool> in_place;
  std::string library, library_version;
  std::optional<Algorithm> algorithm;  ///< forced
  std::optional<Protocol> protocol;    ///< forced
  std::string notes;

  // from sources.csv; unknown when there is none
  std::optional<bool> gpu_direct;
  std::optional<bool> sharp;
  int nics_per_node = 0;  ///< 0: unknown
  LineRate nic_rate{};    ///< of one NIC; zero: unknown
  std::string health;     ///< healthy, unclear, complaint

  int repeats = 1;  ///< measured points this one stands for

  [[nodiscard]] int ranks() const { return nodes * gpus_per_node; }
};

/// Rows that were read but cannot be priced, by reason.
struct Skipped {
  std::string reason;
  int rows = 0;
};

/// Adds to the entry with that reason, or makes one.
void count_skipped(std::vector<Skipped>& skipped, const std::string& reason, int rows = 1);

struct Points {
  std::vector<Point> points;
  std::vector<Skipped> skipped;
  void skip(const std::string& reason, int rows = 1) { count_skipped(skipped, reason, rows); }
  /// Takes over the points and skipped rows of another file.
  void append(Points&& other);
};

/// What to take where a file says nothing itself. Zero and empty: unknown.
struct PointSource {
  std::string system{};
  int nodes = 0;
  int ranks = 0;
};

/// Reads a point CSV or an nccl-tests log (text or JSON), recognised by content; `otherwise` fills in what it does not say. A node
/// count given by hand is believed over host names (they may be those of containers); a rank count that contradicts a log is refused.
/// A `sources.csv` in the same folder is joined on source = id; the source of a log is its file name without extension.
/// \throws SpecError with file, line and column for a malformed cell, for a file that is none of these, for anything but a regular
///         file of at most 2 GiB; RequestError when `otherwise` contradicts the file or names an unknown system
[[nodiscard]] Points read_points(const std::filesystem::path& file, const PointSource& otherwise = {});

/// Repeats (same system, nodes, GPUs, operation, type, bytes, library, GPUDirect state, forced algorithm and protocol; any version,
/// in or out of place) merged by their median, in the order of their first members.
[[nodiscard]] std::vector<Point> merge_repeats(const std::vector<Point>& points);

}  // namespace fabricost
