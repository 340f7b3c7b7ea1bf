#pragma once
/// \file topology_text.hpp
/// Shared by the readers of topology files: the file in memory, errors with their place, and the checks of
/// every table.

#include "text/line_reader.hpp"

#include <fabricost/observe/readings/topology.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::observe {

inline constexpr std::size_t largest_topology = std::size_t{8} << 20U;  ///< bytes; real files have about 100 KB
inline constexpr std::size_t max_devices = 256;                         ///< GPUs and NICs of one table

/// A text file with its lines, without colours and launchers' prefixes.
struct TopologyFile {
  std::string name;
  std::vector<std::string> lines;
  bool ended = true;  ///< false: the last line has no line end and may be truncated

  /// \throws SpecError as LineReader, and for more than largest_topology
  explicit TopologyFile(const std::filesystem::path& file);

  [[noreturn]] void fault(std::size_t line, std::size_t column, std::string message, std::string remedy) const;
  /// Reports a fault at the place where a view into that line starts.
  [[noreturn]] void fault_at(std::size_t line, std::string_view word, std::string message, std::string remedy) const;
  /// `file:line: what`
  [[nodiscard]] std::string warning(std::size_t line, std::string_view what) const;
};

/// Matrices of the right size without any entries.
void size_matrices(DescribedTopology& t);

/// Column of each cell of a table in its line, from 0; empty: unknown.
using CellColumns = std::vector<std::vector<std::size_t>>;

/// Checks that the paths of any three devices are consistent (see topology.hpp). Three GPUs are refused; with
/// a NIC among them a warning is given, since its paths come from other calls. \throws SpecError
void check_paths(DescribedTopology& t, const TopologyFile& file, const CellColumns& columns = {});

/// Decides whether links lead to switches or to peers, and counts them per GPU. A pair behind switches has
/// the smaller count of its two GPUs. Pairs on direct links have their own counts, whose sum is at most the
/// links of a GPU (18; 36 on Rubin, behind switches only).
/// \throws SpecError naming the GPU and the pairs
void count_nvlinks(DescribedTopology& t, const TopologyFile& file);

/// Sockets from links between processors, NUMA nodes and CPU lists.
void count_sockets(DescribedTopology& t);

[[nodiscard]] DescribedTopology read_nvidia_smi(const TopologyFile& file);
[[nodiscard]] DescribedTopology read_rocm_smi(const TopologyFile& file);
[[nodiscard]] DescribedTopology read_nccl_xml(const TopologyFile& file);

}  // namespace fabricost::observe
