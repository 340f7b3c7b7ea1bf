#pragma once
/// The readers behind read_points, one per format, and the table that describes how runs were made. Private
/// to the sources.

#include "readings/environment.hpp"

#include <fabricost/error.hpp>
#include <fabricost/namespaces.hpp>
#include <fabricost/readings/points.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fabricost::core {

/// The description of one run in a `sources.csv`.
struct RunDescription {
  std::string system;
  int nodes = 0, gpus_per_node = 0;  ///< 0: unknown
  int nics_per_node = 0;
  LineRate nic_rate{};
  std::optional<bool> gpu_direct, sharp;
  Environment environment;
  SharedText health;
  CallLaunch launch{};       ///< of its log in `logs`
  bool early_tests = false;  ///< likewise
};
using RunDescriptions = std::unordered_map<std::string, RunDescription>;

/// The `sources.csv` in the folder of a point file; empty when there is none. Of a run with a log in logs/ID.txt the log's head says how it
/// was launched. \throws SpecError
[[nodiscard]] RunDescriptions read_sources(const std::filesystem::path& point_file);

/// Adds an environment's settings; an algorithm or protocol of the point's own stays.
void add_environment(Point& point, const Environment& environment);

/// Fills in the fields that the point lacks and the description has.
void describe(Point& point, const RunDescriptions& runs);

/// An operation by its name in any spelling, modelled or not.
struct NamedOperation {
  std::optional<Collective> modelled;
  bool known = false;  ///< an operation of a known library, even if it is not modelled
};
[[nodiscard]] NamedOperation operation_named(std::string_view text);

/// The direction of a copy between a GPU and its host, where the notes of a row name the probe or the test: nvbandwidth's, `fabricost measure`'s.
[[nodiscard]] Path path_of_copy(Path path, bool both_ways, std::string_view notes);

/// GPUs of one node of a system. \throws RequestError for an unknown name
[[nodiscard]] int gpus_per_node_of(const std::string& system);

// One reader per format. Each passes its points to `sink` in the order of the file and returns what it
// skipped.
// \throws SpecError, RequestError
[[nodiscard]] std::vector<Skipped> read_point_csv(const std::filesystem::path& file, const PointDefaults& otherwise,
                                                  const RunDescriptions& runs, const PointSink& sink);
[[nodiscard]] std::vector<Skipped> read_nccl_tests(const std::filesystem::path& file, const PointDefaults& otherwise,
                                                   const RunDescriptions& runs, const PointSink& sink);
[[nodiscard]] std::vector<Skipped> read_nccl_tests_json(const std::filesystem::path& file, const PointDefaults& otherwise,
                                                        const RunDescriptions& runs, const PointSink& sink);

class PointMaker;
void read_nvbandwidth(const std::filesystem::path& file, PointMaker& points);
void read_nvbandwidth_json(const std::filesystem::path& file, PointMaker& points);
void read_p2p_bandwidth_latency(const std::filesystem::path& file, PointMaker& points);
void read_osu(const std::filesystem::path& file, PointMaker& points);
void read_perftest(const std::filesystem::path& file, PointMaker& points);

/// The error for a file in which no reader found a measurement. Names the tool or matrix that the file seems to come from, and the formats
/// that can be read. \throws SpecError when the file cannot be read
[[nodiscard]] SpecError nothing_recognised(const std::filesystem::path& file);

/// GPUs of a node by the machine's name. Looks each machine up once. 0 for one that is not known: who prices its points says so.
class NodeSizes {
 public:
  [[nodiscard]] int of(const std::string& system) {
    const auto [at, added] = sizes_.try_emplace(system, 0);
    if (!added) return at->second;
    try {
      at->second = gpus_per_node_of(system);
    } catch (const Error&) {  // stays 0
    }
    return at->second;
  }

 private:
  std::map<std::string, int, std::less<>> sizes_;
};

}  // namespace fabricost::core
