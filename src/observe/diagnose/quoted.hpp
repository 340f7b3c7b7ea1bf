#pragma once
/// Figures people write beside a log: "NCCL 2.19.4: 24.2 GB/s; NCCL 2.20.5: 18.3", "pair a,b 49.4",
/// "ib_write_bw 395 Gb/s", with the spellings of their units. The difference between two of them (a version, a variable, an algorithm, a
/// pair or number of nodes) is the experiment. Private.

#include "readings/logs/nccl_info.hpp"

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::observe::diagnosis {

struct RateUnit {
  std::string_view names;  ///< its spellings
  double factor;           ///< bytes per second
  bool bits = false;       ///< whether it counts bits
};
inline constexpr std::array<RateUnit, 8> rate_units{{{"B/s", 1},
                                                     {"MB/s", 1e6},
                                                     {"GB/s GBps GB/sec", 1e9},
                                                     {"GiB/s", 1 << 30U},
                                                     {"TB/s", 1e12},
                                                     {"Mb/s Mbit/s Mbps", 1.25e5, true},
                                                     {"Gb/s Gbps Gbit/s Gbits/s Gb/sec Gbit/sec", 1.25e8, true},
                                                     {"Tb/s Tbit/s Tbps", 1.25e11, true}}};

/// One figure and its description. Empty and zero: not stated.
struct Quoted {
  double rate = 0;     ///< byte/s; 0 when a time was quoted
  double seconds = 0;  ///< of one call; 0 when a rate was quoted
  double bytes = 0;    ///< of the message
  std::string label;   ///< the words before the figure
  std::string version, driver, algorithm, protocol;
  std::vector<std::pair<std::string, std::string>> settings;  ///< NAME, value
  std::pair<std::string, std::string> pair;                   ///< of nodes
  std::vector<std::string> gpus;                              ///< between these
  int nodes = 0, ranks = 0;
  bool perftest = false;  ///< of ib_write_bw and similar tools: the wire without NCCL
  bool by_default = false;
  bool near = false, far = false;  ///< below one leaf or rack; across several
  bool this_run = false, sibling = false;  ///< the run complained of; another at the same scale, as a measure
  std::string left_out;            ///< "without node17"
  bool whole = false;              ///< of all adapters together
  LogLine line;
};

/// Its rate and line, to cite.
[[nodiscard]] std::string shown(const Quoted& figure);
/// Measured in the same way, at the same size, on as many nodes: only the compared property may differ.
[[nodiscard]] bool alike(const Quoted& a, const Quoted& b);

/// The figures of a log outside nccl-tests tables, and from its tables if comment lines distinguish them.
[[nodiscard]] std::vector<Quoted> quoted_figures(const std::filesystem::path& file);

}  // namespace fabricost::observe::diagnosis
