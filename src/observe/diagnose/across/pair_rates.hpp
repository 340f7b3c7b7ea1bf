#pragma once
/// Rates of single pairs as benchmarks print them: matrices of CUDA's p2pBandwidthLatencyTest and of nvbandwidth, tables of perftest and
/// ucx_perftest.
/// src/readings makes points of them, which are compared with a machine; here every rate is compared with its siblings. Private.

#include "readings/logs/nccl_info.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::observe::diagnosis {

/// One matrix; of copies between host and GPUs the row is the host, -1.
struct PairMatrix {
  std::string title;
  bool latency = false;   ///< microseconds; else GB/s
  bool both = false;      ///< of both directions together
  bool disabled = false;  ///< measured with P2P switched off
  std::map<std::pair<int, int>, double> cells;
  std::map<int, LogLine> lines;  ///< of the rows
  [[nodiscard]] bool of_host() const { return !cells.empty() && cells.begin()->first.first < 0; }
};

/// The best average rate of one table of perftest.
struct WireRate {
  std::string adapter;  ///< its device, else its file
  double gigabits = 0;  ///< per second
  LogLine line;
};

/// One table of ucx_perftest: the same stream of messages over and over, second by second.
struct WindowRates {
  std::vector<double> windows;  ///< MB/s (2^20 bytes); not the first window, which posts more than it sends
  LogLine line;                 ///< of the slowest
};

struct PairRates {
  std::vector<PairMatrix> matrices;
  std::vector<WireRate> wires;
  std::vector<WindowRates> streams;
  std::vector<std::string> gpus;  ///< names of the devices, in their order
  int granted = 0, refused = 0;   ///< pairs of GPUs with peer access, and without
  LogLine refused_line;           ///< the first
};

/// \throws SpecError when the file is not readable as text
[[nodiscard]] PairRates read_pair_rates(const std::filesystem::path& file);

}  // namespace fabricost::observe::diagnosis
