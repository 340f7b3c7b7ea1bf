#pragma once
/// \file points.hpp
/// Measured points: the CSV that everything here reads and writes, the output of the usual benchmarks (nccl-tests, nvbandwidth,
/// p2pBandwidthLatencyTest, OSU, IMB, perftest), and what a `sources.csv` beside them says of how they were run. Every reader ends in
/// the same `Point`, so that whoever compares or fits never sees a format.

#include <fabricost/choice/launch.hpp>
#include <fabricost/compiled_part.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/price/protocol.hpp>
#include <fabricost/shared_text.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fabricost {

/// One measured time. Columns of the CSV: source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,
/// library_version,algorithm,protocol,notes. Empty cells are unknown.
struct Point {
  SharedText source, system;
  int nodes = 1;
  int gpus_per_node = 0;  ///< 0: all of a node of that system
  Collective collective = Collective::all_reduce;
  DataType dtype = DataType::half;
  double bytes = 0;    ///< the nccl-tests size
  double seconds = 0;  ///< above zero
  std::optional<bool> in_place;
  SharedText library, library_version;
  std::optional<Algorithm> algorithm;  ///< forced
  std::optional<Protocol> protocol;    ///< forced
  SharedText notes;

  /// Of a send_recv: between which two ends. Unknown: as nccl-tests sends, each rank to the next.
  std::optional<Path> path;
  /// Both directions were under load at once. `seconds` is that of one direction's bytes all the same: bytes / seconds is a rate one way,
  /// lower than it would be alone where the directions share something.
  bool both_ways = false;
  /// The time is bytes / rate of a stream with many messages in flight, less than one such message alone takes.
  bool streamed = false;
  /// The printed algorithm bandwidth is not bytes / time (see validation/set_aside.hpp).
  bool contradicts_itself = false;

  // from sources.csv; unknown when there is none
  std::optional<bool> gpu_direct;
  std::optional<bool> sharp;
  int nics_per_node = 0;  ///< 0: unknown
  LineRate nic_rate{};    ///< of one NIC; zero: unknown
  SharedText health;      ///< healthy, unclear, complaint

  int repeats = 1;  ///< measured points this one stands for

  // from the head of an nccl-tests log
  CallLaunch launch{};          ///< graph also where nothing says it
  bool early_tests = false;     ///< by an early nccl-tests, which no public log has with an NCCL later than 2.22
  std::optional<Tuner> tuner{};  ///< of merged repeats, of which one says its version

  [[nodiscard]] int ranks() const { return nodes * gpus_per_node; }
  /// Called from Python, not replayed in a CUDA graph.
  [[nodiscard]] bool from_host() const { return notes.str().find("launched from Python") != std::string::npos; }
};

/// Tables of the library that a point ran with.
struct LibraryEra {
  Tuner tuner = newest_tuner;
  bool assumed = false;  ///< the point does not say its version
};
/// By its version; without one the oldest tables for a point of early tests, else the newest.
[[nodiscard]] LibraryEra era_of(const Point& point);

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

/// Takes one point after another, in the order of the file.
using PointSink = std::function<void(Point&&)>;

/// Reads a point CSV or the output of nccl-tests or rccl-tests (text or JSON), nvbandwidth (text or JSON), p2pBandwidthLatencyTest, the OSU
/// micro-benchmarks, the Intel MPI benchmarks or perftest, recognised by content; `otherwise` fills in what it does not say. A node
/// count given by hand is believed over host names (they may be those of containers); a rank count that contradicts a log is refused.
/// A `sources.csv` in the same folder is joined on source = id; the source of a log is its file name without extension.
///
/// A transfer of B bytes at a rate r is a send_recv of B bytes in B / r seconds, with the path it took; of a rate that sums both
/// directions, half counts, and `both_ways` is set. Tests that are no transfer between two ends (copies inside one GPU, several GPUs at
/// once, dependent loads) are skipped with their reason.
/// \throws SpecError with file, line and column for a malformed cell, for a file that is none of these, for anything but a regular
///         file of at most 2 GiB; RequestError when `otherwise` contradicts the file or names an unknown system
[[nodiscard]] Points read_points(const std::filesystem::path& file, const PointSource& otherwise = {});

/// The same, point by point: with logs of any length, memory holds some 65,536 rows. \returns what was skipped
[[nodiscard]] std::vector<Skipped> read_points(const std::filesystem::path& file, const PointSource& otherwise, const PointSink& sink);

/// Repeats (same system, nodes, GPUs, operation, type, bytes, path, library, GPUDirect state, forced algorithm and protocol, launch; any
/// version with the same tables, of an inference engine the same version; in or out of place) merged by their median, in the order of their
/// first members. Of each repeat only its time is kept.
class RepeatMerger {
 public:
  RepeatMerger();
  RepeatMerger(RepeatMerger&&) noexcept;
  RepeatMerger& operator=(RepeatMerger&&) noexcept;
  ~RepeatMerger();

  void add(const Point& point);
  [[nodiscard]] std::vector<Point> merged() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads files and merges repeats as they come, so that memory does not grow with their length. Where a file does not say how many GPUs of
/// a node took part, all did. \throws as read_points
[[nodiscard]] Points read_merged(const std::vector<std::filesystem::path>& files, const PointSource& otherwise = {});

/// All at once.
[[nodiscard]] std::vector<Point> merge_repeats(const std::vector<Point>& points);

}  // namespace fabricost
