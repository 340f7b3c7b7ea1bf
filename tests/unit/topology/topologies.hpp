#pragma once
/// DescribedTopology files for tests: written ones, and the real ones beside the source tree.

#include "unit/io_points/files.hpp"
#include "support/measurements.hpp"

#include <fabricost/observe/readings/topology.hpp>

#include <fmt/format.h>
#include <catch.hpp>

#include <string>
#include <vector>

namespace fabricost::test {

using namespace observe;

inline DescribedTopology topology_in(const std::string& text, const std::string& name = "topo.txt") {
  const Folder folder;
  return read_topology(folder.write(name, text));
}

/// The first fault of a refused text; an empty one if it is read.
inline Issue topology_fault(const std::string& text, const std::string& name = "topo.txt") {
  const Folder folder;
  try {
    (void)read_topology(folder.write(name, text));
  } catch (const SpecError& error) {
    return error.issues().front();
  }
  return {};
}

/// A text with the first `from` replaced, which must exist.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// `nvidia-smi topo -m` of GPUs only. \param cell of a pair, i < j
template <class Cell>
std::string gpu_table(int gpus, Cell&& cell, const std::string& blank = "\t") {
  std::string out;
  for (int i = 0; i < gpus; ++i) out += fmt::format("{}GPU{}", blank, i);
  out += blank + "CPU Affinity" + blank + "NUMA Affinity\n";
  for (int i = 0; i < gpus; ++i) {
    out += fmt::format("GPU{}", i);
    for (int j = 0; j < gpus; ++j) out += blank + (i == j ? std::string(" X ") : std::string(cell(std::min(i, j), std::max(i, j))));
    out += fmt::format("{}{}{}{}\n", blank, i < gpus / 2 ? "0-31" : "32-63", blank, i < gpus / 2 ? 0 : 1);
  }
  return out;
}

}  // namespace fabricost::test
