/// \file unrecognised.cpp
/// Guesses the kind of a file that no reader accepted: output of a known tool without its table, or other.

#include "readings/logs/unrecognised.hpp"

#include "text/line_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace fabricost::core {

namespace {

/// The tool that a log without a table resembles, for the message.
std::string resembles(const std::filesystem::path& file) {
  static constexpr std::array<std::array<std::string_view, 2>, 8> marks{{{"nvbandwidth", "nvbandwidth"},
                                                                         {"P2P (Peer-to-Peer)", "p2pBandwidthLatencyTest"},
                                                                         {"# OSU MPI", "the OSU benchmarks"},
                                                                         {" BW Test", "perftest"},
                                                                         {" Latency Test", "perftest"},
                                                                         {"Intel(R) MPI Benchmarks", "the Intel MPI benchmarks"},
                                                                         {"Legend:", "a topology matrix"},
                                                                         {"NCCL INFO", "NCCL's own messages"}}};
  LineReader reader(file);
  std::string line;
  while (reader.next(line) && reader.number() < 2000)
    for (const auto& [mark, what] : marks)
      if (line.find(mark) != std::string::npos) return std::string{what};
  return "";
}

}  // namespace

SpecError nothing_recognised(const std::filesystem::path& file) {
  const std::string looks = resembles(file);
  LineReader reader(file);
  std::string line;
  while (reader.next(line) && line.find_first_not_of(" \t") == std::string::npos) {}
  return SpecError(
      {fault_in_line(file.string(), std::max(1, reader.number()), 1, line,
                     looks.empty() ? "no measurement was recognised in this file"
                                   : fmt::format("this is output of {}, without a table of measurements", looks),
                     "expected a point CSV (header source,system,nodes,...), nccl-tests (rows below \"# size count type ... time "
                     "algbw busbw\"), nvbandwidth, p2pBandwidthLatencyTest, OSU or perftest")});
}

}  // namespace fabricost::core
