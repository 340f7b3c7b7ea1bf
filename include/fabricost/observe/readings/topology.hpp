#pragma once
/// A machine as its own tools describe it: `nvidia-smi topo -m`, `rocm-smi --showtopo`, or the topology XML
/// that NCCL and RCCL read and write. The result contains only what the file states: the number of direct
/// links between devices, and where their PCIe paths meet.
///
/// A System requires guesses, which are kept separate: `system_from` selects the GPU, links and NICs with a
/// reason for each, and lists what the file does not state.
///
/// Meeting points are ordered  pix < pxb < phb < node < sys  and depend only on how high in the tree of PCIe
/// switches, host bridges, NUMA nodes and sockets two devices meet. Of the three meeting points between any
/// three devices, the two farthest are therefore equal. A table that violates this is refused.

#include <fabricost/compiled_part.hpp>
#include <fabricost/error.hpp>
#include <fabricost/hardware/kinds.hpp>
#include <fabricost/hardware/system.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::observe {

/// One PCIe link as a file states it.
struct PcieLink {
  double lane_rate = 0;  ///< bits per second of one lane; 0: unknown
  int lanes = 0;         ///< 0: unknown

  /// Bits per second of all lanes; an unknown width is taken for 16.
  [[nodiscard]] double rate() const { return lane_rate * (lanes > 0 ? lanes : 16); }
};

/// A GPU, or a port of a NIC as the operating system counts them.
struct TopologyDevice {
  std::string name;              ///< name in the table: GPU0, NIC3, mlx5_0
  std::string device{};          ///< description from a legend, or the network interface; empty: unknown
  std::string bus{};             ///< PCI address; empty: unknown
  std::string model{};           ///< marketing name, where the file has it
  std::string pci_id{};          ///< "10de:2330"; empty: unknown
  std::string pci_class{};       ///< "0x020700"; empty: unknown
  std::string cpus{};            ///< CPU affinity as printed; empty: unknown
  std::vector<int> numa{};       ///< NUMA affinity; empty: unknown
  bool own_memory_node = false;  ///< the GPU's memory is a NUMA node of the host (Grace)
  int compute = 0;               ///< NVIDIA: SM version (90); AMD: gfx version as a number (908, 910 = gfx90a, 942); 0: unknown
  double line_rate = 0;          ///< of a NIC port, bits per second and direction; 0: unknown
  PcieLink slot{};               ///< of a NIC its own link, of a GPU the slowest on its way to the processor
  bool down = false;             ///< a NIC without a link, by ibstat
  std::optional<bool> gpu_direct{};
  int line = 0;  ///< of the file
};

struct DescribedTopology {
  std::string file;
  std::string format;  ///< "nvidia-smi topo -m", "rocm-smi --showtopo", "NCCL topology XML"
  std::string vendor;  ///< nvidia or amd; empty: unknown
  std::vector<TopologyDevice> gpus, nics;
  std::vector<std::vector<int>> links;                     ///< direct links (NVLink, XGMI) of each pair of GPUs; see `switched`
  std::vector<std::vector<std::optional<NicPath>>> paths;  ///< where PCIe paths meet, GPUs then NICs; empty: unknown (hidden by NV#)
  std::vector<int> links_of;                               ///< direct links of each GPU in total, to GPUs, switches and the processor
  bool switched = false;                                   ///< `links` of a pair are the GPU's links to the switches: not to be summed
  bool links_stated = true;                                ///< false: the file does not state direct links
  int sockets = 1;                                         ///< processors, as far as the file shows; see `doubts`
  int numa_nodes = 0;                                      ///< 0: unknown
  Cpu cpu = Cpu::any;
  std::string instance;               ///< name of a cloud instance; empty: none
  bool partitioned = false;           ///< MIG devices are listed
  std::vector<std::string> warnings;  ///< `file:line: the damage, and how it was read`
  std::vector<std::string> doubts;    ///< inferred properties

  /// Direct links of one GPU: the most frequent count, the larger of a tie; 0 without any.
  [[nodiscard]] int links_per_gpu() const;
  /// The meeting point of a GPU and a NIC (both from 0).
  [[nodiscard]] std::optional<NicPath> nic_path(std::size_t gpu, std::size_t nic) const { return paths[gpu][gpus.size() + nic]; }
};

/// Reads a topology, recognised by content. Blanks may be altered, and lines prefixed, coloured or wrapped at
/// blanks. Missing parts that follow from the rest are read with a warning that names the line.
/// \throws SpecError with file, line, column, value and remedy: an invalid cell, an asymmetric matrix,
/// impossible NVLinks, three devices with inconsistent paths, a truncated row, a graph XML, a file that is
/// not a topology, not text or too large
[[nodiscard]] DescribedTopology read_topology(const std::filesystem::path& file);

/// A value that the file does not state, and the value assumed.
struct TopologyGuess {
  std::string what;    ///< "GPU"
  std::string taken;   ///< "h100-sxm"
  std::string reason;  ///< "18 NVLinks per GPU"
};

struct GuessedSystem {
  std::string name;
  std::string gpu;   ///< name in data/gpus
  std::string yaml;  ///< a system file (docs/spec-format.md); every guess in it is `confidence: assumed` with its reason as source
  std::vector<TopologyGuess> guesses;
  std::vector<std::string> unknown;  ///< properties that the file cannot state and that affect predictions
};

/// A system file of one such node. \param name empty: derived from the file's name \param likely whose GPUs these are taken for where
/// the file does not tell them from others; nullptr: none
/// \throws RequestError if no GPU can be identified
[[nodiscard]] GuessedSystem system_from(const DescribedTopology& topology, std::string_view name = {}, const System* likely = nullptr);

/// Differences from a stock system, one sentence each: GPUs, direct links and their shape (independent of
/// the numbering), NICs and their rates, slots and GPUDirect, the distance of each GPU's nearest NIC, rails, sockets, PCIe of each GPU.
/// Empty: none that this file could show.
[[nodiscard]] std::vector<std::string> differences(const DescribedTopology& topology, const GuessedSystem& guessed, const System& stock);

}  // namespace fabricost::observe
