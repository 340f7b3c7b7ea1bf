#pragma once
/// Measured points: the project's CSV, the output of the usual benchmarks (nccl-tests, nvbandwidth,
/// p2pBandwidthLatencyTest, OSU, perftest), and a `sources.csv` that describes how they were run. Every
/// reader returns the same `Point`, so comparisons and fits are independent of formats.

#include <fabricost/choice/launch.hpp>
#include <fabricost/compiled_part.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/price/protocol.hpp>
#include <fabricost/shared_text.hpp>

#include <compare>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::core {

/// One measured time. Columns of the CSV: source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,
/// library_version,algorithm,protocol,notes. Empty cells are unknown.
struct Point {
  SharedText source, system;
  int nodes = 1;
  int gpus_per_node = 0;  ///< 0: all of a node of the system
  Collective collective = Collective::all_reduce;
  DataType dtype = DataType::half;
  Reduction redop = Reduction::sum;  ///< of nccl-tests logs; sum where nothing says another
  double bytes = 0;    ///< the nccl-tests size
  double seconds = 0;  ///< above zero
  std::optional<bool> in_place;
  SharedText library, library_version;
  std::optional<Algorithm> algorithm;  ///< forced
  std::optional<Protocol> protocol;    ///< forced
  std::optional<CollectiveKernel> kernel;  ///< of an inference engine, where its row names it
  bool windows = false;                    ///< buffers in symmetric windows
  bool nvls = true, pxn = true;            ///< as Ways has them: the environment turned neither off
  SharedText notes;

  /// The two ends of a send_recv. Unknown: as in nccl-tests, each rank sends to the next.
  std::optional<Path> path;
  /// Both directions were loaded at the same time. `seconds` is still the time of one direction's bytes:
  /// bytes / seconds is a one-way rate, lower than that of a single direction if the two share something.
  bool both_ways = false;
  /// The time is bytes / rate of a stream of many messages in flight, less than that of a single message.
  bool streamed = false;
  /// The log does not say on how many nodes, nor does its reader: `nodes` is the usual count of such a test.
  bool nodes_assumed = false;
  /// The printed algorithm bandwidth is not bytes / time (see validation/set_aside.hpp).
  bool contradicts_itself = false;

  // from sources.csv; unknown without one
  std::optional<bool> gpu_direct;
  std::optional<bool> sharp;
  int nics_per_node = 0;  ///< 0: unknown
  LineRate nic_rate{};    ///< of one NIC; zero: unknown
  SharedText health;      ///< healthy, unclear, complaint

  int repeats = 1;      ///< number of measured points merged into this one
  SharedText releases;  ///< of merged repeats that ran with several versions: those, as "2.23 2.29"

  // from the head of an nccl-tests log
  CallLaunch launch{};           ///< graph also where nothing says it
  unsigned launched{};           ///< a bit for each LaunchMode that the runs of all its repeats state; 0: none does
  bool early_tests = false;      ///< by an early nccl-tests, which no public log has with an NCCL later than 2.22

  [[nodiscard]] int ranks() const { return nodes * gpus_per_node; }
  /// Called from Python, not replayed in a CUDA graph.
  [[nodiscard]] bool from_host() const { return notes.str().find("launched from Python") != std::string::npos; }
};

/// Tables of the library that a point ran with.
struct LibraryEra {
  Tuner tuner = newest_tuner;
  bool assumed = false;  ///< the point does not say its version
  int release = 0;       ///< 18 of NCCL 2.18; 0: not said
  auto operator<=>(const LibraryEra&) const = default;  // NOLINT(modernize-use-nullptr): a fault of clang-tidy 14
};
/// By its version, the oldest of merged repeats; without one the oldest tables for a point of early tests, else the newest. Libraries other
/// than NCCL have no tables.
[[nodiscard]] LibraryEra era_of(const Point& point);

/// Rows that were read but cannot be priced, by reason.
struct Skipped {
  std::string reason;
  int rows = 0;
};

/// Adds to the entry with that reason, or creates one.
void count_skipped(std::vector<Skipped>& skipped, const std::string& reason, int rows = 1);

struct Points {
  std::vector<Point> points;
  std::vector<Skipped> skipped;
  void skip(const std::string& reason, int rows = 1) { count_skipped(skipped, reason, rows); }
  /// Appends the points and skipped rows of another file.
  void append(Points&& other);
};

/// Values for what a file does not state. Zero and empty: unknown.
struct PointDefaults {
  std::string system{};
  int nodes = 0;
  int ranks = 0;
  std::optional<LaunchMode> launch{};
  std::string library{}, library_version{};  ///< as a point writes them: nccl, 2.18
};

/// Adds the launch and the library to a point that does not say them; its release where the point names that library, or none.
void fill_in(Point& point, const PointDefaults& otherwise);

/// Whether a file is output of a benchmark, rather than a table or JSON, whose rows name their machine. \throws SpecError for an empty file
[[nodiscard]] bool is_benchmark_output(const std::filesystem::path& file);

/// Receives the points one by one, in the order of the file.
using PointSink = std::function<void(Point&&)>;

/// Reads a point CSV or the output of nccl-tests or rccl-tests (text or JSON), nvbandwidth (text or JSON),
/// p2pBandwidthLatencyTest, the OSU micro-benchmarks, the Intel MPI benchmarks or perftest, recognised by
/// content. `otherwise` fills in what the file does not state. A given number of nodes takes precedence over
/// host names (which may be those of containers); a given number of ranks that contradicts the log is
/// refused. A `sources.csv` in the same folder is joined on source = id; the source of a log is its file name
/// without extension.
///
/// A transfer of B bytes at rate r becomes a send_recv of B bytes in B / r seconds with its path. Of a rate
/// that sums both directions half is used, and `both_ways` is set. Tests that are not transfers between two
/// ends (copies inside one GPU, several GPUs at once, dependent loads) are skipped with their reason.
/// \throws SpecError with file, line and column for a malformed cell, for an unknown format, for anything but
/// a regular file of at most 2 GiB; RequestError when `otherwise` contradicts the file or its system is
/// unknown
[[nodiscard]] Points read_points(const std::filesystem::path& file, const PointDefaults& otherwise = {});

/// The same, point by point, with about 65,536 rows in memory at most. \returns the skipped rows
[[nodiscard]] std::vector<Skipped> read_points(const std::filesystem::path& file, const PointDefaults& otherwise, const PointSink& sink);

/// Merges repeats by their median, in the order of first occurrence. Repeats agree in system, nodes, GPUs,
/// operation, type, bytes, path, library, GPUDirect state, forced algorithm and protocol, and in whether they
/// were called from Python or from CUDA graphs. Versions may differ, except those of an inference engine; in
/// place and out of place are merged. Only the time of each repeat is stored.
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

/// Reads files and merges repeats while reading, so that memory does not depend on their length. If a file
/// does not state the number of GPUs per node, all are assumed. \throws as read_points
[[nodiscard]] Points read_merged(const std::vector<std::filesystem::path>& files, const PointDefaults& otherwise = {});

/// Merges all points at once.
[[nodiscard]] std::vector<Point> merge_repeats(const std::vector<Point>& points);

/// What readers of logs and traces (component observe) say of a file of measurements. They join when they are linked; without them no file
/// is a trace, and no log contradicts its machine.
struct JobFiles {
  /// Whether a reader of traces knows the file, or a file in the folder.
  bool (*is_trace)(const std::filesystem::path& file) = nullptr;
  /// Measured times from the traces of one job. \throws SpecError for a fault of a file, and where `otherwise` names no system
  Points (*points_of)(const std::vector<std::filesystem::path>& files, const PointDefaults& otherwise) = nullptr;
  /// A sentence on what the log says against this machine; empty: nothing.
  std::string (*contradiction)(const std::filesystem::path& log, const System& system) = nullptr;
  /// The usual machine of the GPUs that a log names; empty: it names none.
  std::string (*usual_system)(const std::filesystem::path& log) = nullptr;
};

/// The readers that joined: none is null.
[[nodiscard]] const JobFiles& job_files();
void use_job_files(const JobFiles& readers);

}  // namespace fabricost::core

namespace fabricost {
using core::Point;
using core::PointDefaults;
using core::Points;
using core::Skipped;
using core::read_points;
}  // namespace fabricost
