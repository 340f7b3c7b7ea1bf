#pragma once
/// NCCL's own messages in a log (NCCL_DEBUG=INFO and WARN), and the output of other tools around them:
/// nvidia-smi topo -m, lspci, ibstat, perftest. Contains only what was read, with its line; src/observe/diagnose
/// draws the conclusions.
///
/// Formats as NCCL prints them from 2.3 to 2.28 (src/transport/net.cc "Channel %02d/%d : %d[%d] -> %d[%d] [send] via NET/...", src/init.cc
/// "%d coll channels", src/graph/paths.cc "GPU Direct RDMA Disabled for GPU ... (distance %d > %d)", src/graph/topo.cc "+ PCI[24.0] -
/// ...").

#include "readings/logs/literals.hpp"
#include "readings/logs/tool_states.hpp"

#include <fabricost/namespaces.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fabricost::observe {

/// A line of the log for quotation: number from 1, trimmed text of at most 200 bytes.
struct LogLine {
  int number = 0;  ///< 0: none
  std::string text;
  std::string file = {};  ///< where several are read as one
};

/// A message that only has to be recognised: a line matches one of the patterns if it contains all of its
/// texts and none of the excluded ones.
struct Sign {
  struct Pattern {
    std::vector<std::string> all, none;
    bool any_case = false;  ///< the texts are then in lower case
  };
  std::string name;
  std::vector<Pattern> patterns;
  bool fact = false;  ///< what a log states, as a machine or a version, in whatever line: it counts without an event
};

/// Whether a line matches. \param folded the line in lower case
[[nodiscard]] bool carries(const Sign& sign, const std::string& line, const std::string& folded);

/// What of a line tells of an event, rather than the names of settings, a help text, a legend or progress; worked out when first asked.
class EventLine {
 public:
  /// \param stamped a time in brackets stood before the line
  EventLine(const std::string& line, bool stamped) : line_(line), stamped_(stamped) {}
  /// Whether a sign that the line carries stands there. A pattern with an equal sign means a setting.
  [[nodiscard]] bool told_by(const Sign& sign);

 private:
  const std::string& line_;
  bool stamped_, read_ = false, status_ = false, whole_ = false;
  std::string text_, folded_text_, folded_line_;
};

/// Where in the line the first of the words stands by which the sign is seen; 0: nowhere.
[[nodiscard]] std::size_t place_in_line(const Sign& sign, const std::string& line);

/// Matches lines against many signs: a pattern is looked at where the line has the four letters of it that fewest others have.
class SignMatcher {
 public:
  explicit SignMatcher(std::span<const Sign> signs);
  /// Calls `see` with each sign that the line carries.
  void match(const std::string& line, const std::function<void(const Sign&)>& see);

 private:
  std::vector<std::pair<const Sign*, const Sign::Pattern*>> patterns_;  ///< those of one sign together
  Grams asking_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> rarest_;  ///< patterns, by the letters that stand for them
  std::vector<std::uint32_t> always_;                                      ///< patterns with shorter texts only
  std::vector<std::uint32_t> candidates_;                                  ///< of the line
};

struct Seen {
  int times = 0;
  int events = 0;  ///< of those, lines that tell of an event: no settings, legends, progress or messages that all goes well
  LogLine first;   ///< the first event, if there is one
  int last = 0;    ///< number of the last line that fits, over all files
  int last_event = 0;
};

/// A line of this form starts another file where several are read as one (diagnose/inputs/inputs.hpp); what follows is its name.
inline constexpr std::string_view file_mark = "#fabricost-file ";

/// A variable and its value, from NCCL's own message or from a command line.
struct Setting {
  std::string name, value;
  bool by_nccl = false;  ///< reported by NCCL itself
  LogLine line;
};

/// Connections of one host in one direction: all, and those with GDRDMA.
struct HostPaths {
  int times = 0, direct = 0;
  std::set<int> staged;  ///< adapters of those without
  LogLine first_staged;
};

/// Connections of one network transport ("IB", "IBext_v8", "Socket", "AWS Libfabric").
struct NetUse {
  int times = 0, direct = 0;  ///< all connections, and those with GDRDMA
  std::set<int> devices;
  std::map<std::string, std::set<int>> by_host;
  std::map<std::pair<std::string, char>, HostPaths> paths;  ///< by host and 's' (sends), 'r' (receives) or ' ' (not said)
  std::set<int> channels;
  LogLine first, first_indirect;

  /// One connection of a host; `times` lines of it.
  void add(const std::string& host, std::string_view line, int device, int times, const std::function<LogLine()>& quote);
};

/// A line of NCCL at level WARN, and lines that differ from it in numbers only.
struct Warning {
  LogLine first;
  int times = 0;
  std::set<std::string> signs;  ///< that the first of them carries
  std::string text;             ///< behind "NCCL WARN"
  std::string form;             ///< its words without numbers
};

struct RankLine {
  int rank = 0;
  std::string host, gpu;
  LogLine line;
};

/// GPUDirect between one GPU and one adapter; distances are values of NCCL's PATH_ enumeration
/// (src/graph/topo.h), which differ between versions.
struct DirectPair {
  bool on = false;
  int distance = 0, limit = 0;
  LogLine line;
};

/// One row of nvidia-smi topo -m.
struct MatrixRow {
  std::string device;
  std::vector<std::string> cells;
  LogLine line;
};

/// An edge of NCCL's topology dump: "+ PCI[24.0] - GPU/81000".
struct TopologyLink {
  std::string kind, to;
  double rate = 0;  ///< GB/s one way, NCCL's planning rate
  LogLine line;
};

/// The nearest adapter of one GPU in NCCL's table of paths: "GPU/0-1b000 :... NET/0-0 (3/48.0/SYS)".
struct AdapterPath {
  std::string gpu, path;
  double rate = 0;  ///< GB/s of that way
  LogLine line;
};

/// NCCL's choice: "1048576 Bytes -> Algo 1 proto 2".
struct Tuned {
  double bytes = 0;
  std::string algorithm, protocol;
  LogLine line;
};

struct NcclInfo {
  bool says_anything = false;                             ///< at least one line that a program prints about a run
  bool says_words = false;                                ///< at least one line that people write, or other tools print, about machines
  int messages = 0;                                       ///< NCCL INFO and WARN
  std::map<std::string, Seen, std::less<>> signs;         ///< by name
  std::vector<std::pair<std::string, LogLine>> versions;  ///< distinct, as printed
  std::vector<Setting> settings;
  std::vector<std::string> adapters;  ///< of NET/IB : Using, name:port/kind
  LogLine adapters_line;
  std::vector<std::string> interfaces;  ///< of NET/Socket : Using
  LogLine interfaces_line;
  std::string network;  ///< Using network X
  LogLine network_line;
  std::map<std::string, NetUse> net;
  int peer = 0, shared_memory = 0;  ///< connections via P2P, via SHM
  LogLine peer_line, shared_memory_line;
  LogLine local_net;                          ///< a network connection between two ranks of one host
  double slowest_port = 0, fastest_port = 0;  ///< Gbit/s of network ports: speed= of NCCL, Rate of ibstat; 0: unknown
  LogLine slowest_port_line;
  std::map<std::string, double> port_rates;   ///< Gbit/s of NET/IB's adapters, by name, where it says them
  int nvls_channels = -1;  ///< -1: unknown
  LogLine nvls_channels_line;
  int ranks = 0, nodes = 0, local_ranks = 0;  ///< of the communicator; 0: unknown
  std::map<std::string, std::set<std::string>> joined;  ///< bus ids of the GPUs that joined it, by host
  int channels = 0;                           ///< of collectives; 0: unknown
  LogLine channels_line;
  std::vector<RankLine> rank_lines;
  std::vector<DirectPair> direct_pairs;
  std::vector<MatrixRow> matrix;
  std::vector<TopologyLink> topology;
  std::vector<AdapterPath> adapter_paths;
  double system_max = 0, system_total = 0;  ///< maxBw and totalBw of the dump
  std::string widest_path;                  ///< of the graph search: "type LOC/PHB" -> "PHB"
  LogLine widest_path_line;
  std::vector<Tuned> tuned;
  std::map<std::string, NvlinkState> nvlinks;        ///< of nvidia-smi nvlink -s, by GPU
  std::vector<std::pair<double, LogLine>> averages;  ///< Avg bus bandwidth
  std::vector<Warning> warnings;                     ///< the first kinds of them

  [[nodiscard]] const Seen& seen(std::string_view sign) const;
  [[nodiscard]] bool has(std::string_view sign) const { return seen(sign).times > 0; }
  /// Counts a line that holds "NCCL WARN". \param signs that it carries
  void warn(std::string_view line, int times, std::set<std::string> signs, const std::function<LogLine()>& quote);
  /// The last setting of that name, or nullptr.
  [[nodiscard]] const Setting* setting(std::string_view name) const;
  /// Hosts of a complete rank list; else the maximum of the communicator's nodes, the hosts listed, the hosts
  /// with connections, and 1 where one host has a GPU for every rank; 0: unknown.
  [[nodiscard]] int node_count() const;
};

/// Reads a log line by line, in constant memory. \param signs messages to look for in addition to those with
/// values
/// \throws SpecError when the file is not readable as text
[[nodiscard]] NcclInfo read_nccl_info(const std::filesystem::path& file, std::span<const Sign> signs = {});

}  // namespace fabricost::observe
