#pragma once
/// The behaviour of NCCL's example tuner plugin for its file, written from its rules (NVIDIA/nccl,
/// plugins/tuner/example, README.md and plugin.c of 2.27 to 2.30) without code under test: reads lines of at most
/// 255 characters, skips those that start with '#' or are empty, takes 8 to 10 cells, ignores unknown names
/// silently, and lets the first match win.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace plugin {

struct Line {
  std::string collective, algorithm, protocol;
  std::uint64_t from = 0, to = 0;
  int channels = 1, nodes = -1, ranks = -1, operations = -1, registered = -1;
};

struct Config {
  std::vector<Line> lines;
  std::vector<std::string> faults;  ///< what the plugin would silently misread
};

inline bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  for (const std::string_view known : words)
    if (word == known) return true;
  return false;
}

inline Config read(const std::string& text) {
  Config out;
  std::istringstream stream(text);
  for (std::string row; std::getline(stream, row);) {
    if (row.size() + 1 >= 256) out.faults.push_back("too long: " + row);
    if (row.empty() || row.front() == '#') continue;
    std::vector<std::string> cells;
    std::istringstream in(row);
    for (std::string cell; std::getline(in, cell, ',');)
      if (!cell.empty()) cells.push_back(cell);  // strtok skips empty cells
    if (cells.size() < 8 || cells.size() > 10) {
      out.faults.push_back("not 8 to 10 cells: " + row);
      continue;
    }
    Line line;
    line.collective = cells[0];
    line.from = std::strtoull(cells[1].c_str(), nullptr, 10);
    line.to = std::strtoull(cells[2].c_str(), nullptr, 10);
    line.algorithm = cells[3];
    line.protocol = cells[4];
    line.channels = std::atoi(cells[5].c_str());
    line.nodes = std::atoi(cells[6].c_str());
    line.ranks = std::atoi(cells[7].c_str());
    if (cells.size() > 8) line.operations = std::atoi(cells[8].c_str());
    if (cells.size() > 9) line.registered = std::atoi(cells[9].c_str());
    if (!one_of(line.collective, {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"}))
      out.faults.push_back("taken for allreduce: " + row);
    if (!one_of(line.algorithm, {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"}))
      out.faults.push_back("taken for ring: " + row);
    if (!one_of(line.protocol, {"ll", "ll128", "simple"})) out.faults.push_back("taken for simple: " + row);
    if (line.from > line.to) out.faults.push_back("never matches: " + row);
    out.lines.push_back(line);
  }
  return out;
}

/// The line the plugin uses for a call, if any.
inline std::optional<Line> match(const Config& config, std::string_view collective, std::uint64_t bytes, int nodes, int ranks) {
  for (const Line& line : config.lines)
    if (line.collective == collective && bytes >= line.from && bytes <= line.to && (line.nodes == -1 || line.nodes == nodes) &&
        (line.ranks == -1 || line.ranks == ranks) && (line.operations == -1 || line.operations == 1) && line.registered == -1)
      return line;
  return std::nullopt;
}

/// Channels NCCL may use after the unmodified plugin has run: it starts at 1, a line's -1 keeps that, and 0
/// selects NCCL's own count (src/enqueue.cc).
inline int channels_after(const std::optional<Line>& line, int own) {
  int channels = 1;
  if (line && line->channels != -1) channels = line->channels;
  return channels == 0 ? own : channels;
}

}  // namespace plugin
