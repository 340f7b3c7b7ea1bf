#pragma once
/// Shared by the readers and writers of topology files: the file in memory, errors with their place, the words of `nvidia-smi topo -m`,
/// the checks of every table, and the shape of a topology's direct links and the distance of its NICs.

#include "readings/logs/log_text.hpp"
#include "readings/logs/matrix_words.hpp"
#include "text/ascii.hpp"
#include "text/line_reader.hpp"

#include <fabricost/observe/readings/topology.hpp>

#include <algorithm>
#include <optional>
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

struct LinkShape {
  TierKind kind = TierKind::host;  ///< switched, full_mesh, mesh_graph; host: no direct links, or they do not join all GPUs
  int links = 0;                   ///< of one GPU; the minimum where they differ
  std::vector<Edge> edges;         ///< all pairs with direct links, unless switched
  std::string remark;              ///< a limitation of the kind; may be empty
};
[[nodiscard]] LinkShape link_shape(const DescribedTopology& topology);

/// Groups of GPUs connected by direct links, each in order.
[[nodiscard]] std::vector<std::vector<std::size_t>> islands_of(const DescribedTopology& topology);

/// The nearest NIC of each GPU; empty if no path is known.
[[nodiscard]] std::vector<std::optional<NicPath>> nearest_nics(const DescribedTopology& topology);
/// The most frequent value, the larger one of a tie; empty for no values.
template <class Value>
[[nodiscard]] std::optional<Value> commonest(std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  std::optional<Value> best;
  std::ptrdiff_t max = 0;
  for (auto from = values.begin(); from != values.end();) {
    const auto to = std::upper_bound(from, values.end(), *from);
    if (to - from >= max) {
      best = *from;
      max = to - from;
    }
    from = to;
  }
  return best;
}
/// The most frequent of them, the farther one of a tie.
[[nodiscard]] std::optional<NicPath> usual_nearest(const DescribedTopology& topology);
/// NICs that GPUs would use: those beside a GPU if most GPUs have one beside them, else all.
[[nodiscard]] std::vector<std::size_t> fabric_nics(const DescribedTopology& topology);
/// GPUs per PCIe switch, as shown by paths between GPUs, or from several GPUs to one NIC.
[[nodiscard]] int gpus_per_switch(const DescribedTopology& topology);

/// Whether those NICs are beside GPUs, as rails are.
[[nodiscard]] bool nics_beside_gpus(const DescribedTopology& topology);
/// The slowest known slot of GPUs or NICs.
[[nodiscard]] PcieLink slowest_slot(const std::vector<TopologyDevice>& devices);
/// The link of data/links of 16 lanes that is as fast: pcie-3 of 8 GT/s x16, and of 32 GT/s x4; empty: unknown, or slower than every
/// GPU's slot per lane, as an idle link.
[[nodiscard]] std::string slot_name(const PcieLink& slot);
/// 32 GT/s x16
[[nodiscard]] std::string slot_text(const PcieLink& slot);
/// mlx5_3, NIC3, GPU1
[[nodiscard]] const std::string& device_name(const TopologyDevice& device, bool nic);

/// PIX, PXB, ...
[[nodiscard]] std::string path_word(NicPath path);

/// The headings that end a header: CPU Affinity, NUMA Affinity, GPU NUMA ID.
[[nodiscard]] bool is_affinity_heading(std::string_view word);

/// mlx5_0, NIC3, mlx5_bond_0, bnxt_re0, rocep12s0f0
[[nodiscard]] bool is_nic_name(std::string_view word);

/// Reads names of NICs from their legend, and of GPUs from nvidia-smi -L or its table in the same file.
void read_names(DescribedTopology& topology, const std::vector<std::string>& lines, const std::vector<Tokens>& words);

/// Appends 0-23,48-71 to `out`. \return false if the text is not such a list
[[nodiscard]] bool read_numbers(std::string_view text, std::vector<int>& out);

}  // namespace fabricost::observe
