#pragma once
/// \file topology_text.hpp
/// What the readers of topology files share: the file in memory, faults at a place of it, and the checks every table must pass. Private to
/// the sources.

#include "text/line_reader.hpp"

#include <fabricost/readings/topology.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::io {

inline constexpr std::size_t largest_topology = std::size_t{8} << 20U;  ///< bytes; real ones have some 100 KB
inline constexpr std::size_t max_devices = 256;                         ///< GPUs and NICs of one table

/// A whole text file, its lines cleaned of colours and launchers' prefixes.
struct TopologyFile {
  std::string name;
  std::vector<std::string> lines;
  bool ended = true;  ///< false: the last line has no line end, so it may be cut

  /// \throws SpecError for what LineReader refuses and for more than largest_topology
  explicit TopologyFile(const std::filesystem::path& file);

  [[noreturn]] void fault(std::size_t line, std::size_t column, std::string message, std::string remedy) const;
  /// Of the place where a view into that line starts.
  [[noreturn]] void fault_at(std::size_t line, std::string_view word, std::string message, std::string remedy) const;
  /// `file:line: what`
  [[nodiscard]] std::string warning(std::size_t line, std::string_view what) const;
};

/// Matrices of the right size with nothing known.
void size_matrices(DescribedTopology& t);

/// Where in its line each cell of a table stands, from 0; empty: unknown.
using CellColumns = std::vector<std::vector<std::size_t>>;

/// Checks that the paths of any three devices can be (see topology.hpp): three GPUs are refused, a NIC among them is a warning, since its
/// paths come from other calls than the GPUs'. \throws SpecError
void check_paths(DescribedTopology& t, const TopologyFile& file, const CellColumns& columns = {});

/// Tells links to switches from links to peers and counts them per GPU. A pair behind switches has the smaller of its two GPUs' counts; a
/// pair on direct links has its own, and those of a GPU add up to no more than a GPU has (18; 36 on Rubin, behind switches only).
/// \throws SpecError naming the GPU and the pairs
void count_nvlinks(DescribedTopology& t, const TopologyFile& file);

/// Sockets from what crosses between processors, NUMA nodes and CPU lists.
void count_sockets(DescribedTopology& t);

[[nodiscard]] DescribedTopology read_nvidia_smi(const TopologyFile& file);
[[nodiscard]] DescribedTopology read_rocm_smi(const TopologyFile& file);
[[nodiscard]] DescribedTopology read_nccl_xml(const TopologyFile& file);

}  // namespace fabricost::io
