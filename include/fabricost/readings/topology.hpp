#pragma once
/// \file topology.hpp
/// A machine as its own tools describe it: `nvidia-smi topo -m`, `rocm-smi --showtopo`, or the topology XML that NCCL and RCCL read and
/// dump. What is read is what the file says: who is joined to whom by how many direct links, and where two devices' PCIe paths meet.
///
/// From there to a system one can ask is a guess, and kept apart: `system_from` names the GPU, the links and the NICs with the reason for
/// each, and lists what no such file can tell.
///
/// Meeting points are ordered  pix < pxb < phb < node < sys  and depend only on how high in the tree of PCIe switches, host bridges, NUMA
/// nodes and sockets two devices meet, so of the three meeting points among any three devices the two farthest are equal. A table that
/// breaks this shows no machine and is refused, with the three named.

#include <fabricost/compiled_part.hpp>
#include <fabricost/error.hpp>
#include <fabricost/hardware/kinds.hpp>
#include <fabricost/hardware/system.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// A GPU, or a port of a NIC as the operating system counts them.
struct TopologyDevice {
  std::string name;              ///< as the table calls it: GPU0, NIC3, mlx5_0
  std::string device{};          ///< what a legend says it is, or the network interface; empty: unknown
  std::string bus{};             ///< PCI address; empty: unknown
  std::string model{};           ///< marketing name, where the file has it
  std::string pci_id{};          ///< "10de:2330"; empty: unknown
  std::string pci_class{};       ///< "0x020700"; empty: unknown
  std::string cpus{};            ///< CPU affinity as printed; empty: unknown
  std::vector<int> numa{};       ///< NUMA affinity; empty: unknown
  bool own_memory_node = false;  ///< the GPU's memory is a NUMA node of the host (Grace)
  int compute = 0;               ///< NVIDIA: SM version (90); AMD: gfx version as a number (908, 910 = gfx90a, 942); 0: unknown
  double line_rate = 0;          ///< of a NIC port, bits per second and direction; 0: unknown
  std::optional<bool> gpu_direct{};
  int line = 0;  ///< of the file
};

struct DescribedTopology {
  std::string file;
  std::string format;  ///< "nvidia-smi topo -m", "rocm-smi --showtopo", "NCCL topology XML"
  std::string vendor;  ///< nvidia or amd; empty: unknown
  std::vector<TopologyDevice> gpus, nics;
  std::vector<std::vector<int>> links;                     ///< direct links (NVLink, XGMI) of each pair of GPUs; see `switched`
  std::vector<std::vector<std::optional<NicPath>>> paths;  ///< where PCIe paths meet, GPUs then NICs; nothing: not said (hidden by NV#)
  std::vector<int> links_of;                               ///< direct links of each GPU in total, to GPUs, switches and the processor
  bool switched = false;                                   ///< `links` of a pair are the GPU's links to the switches: not to be added up
  bool links_stated = true;                                ///< false: the format or this file says nothing of direct links
  int sockets = 1;                                         ///< processors, or what the file lets count as such; see `doubts`
  int numa_nodes = 0;                                      ///< 0: unknown
  int nic_cards = 0;                                       ///< PCI devices behind the NIC ports; 0: unknown
  Cpu cpu = Cpu::any;
  double pcie_lane_rate = 0;          ///< bits per second of the GPUs' slots; 0: unknown
  int pcie_lanes = 0;                 ///< 0: unknown
  std::string instance;               ///< name of a cloud instance the file gives; empty: none
  bool partitioned = false;           ///< MIG devices are listed
  std::vector<std::string> warnings;  ///< `file:line: what is damaged, and how it was read`
  std::vector<std::string> doubts;    ///< what was inferred rather than read

  /// Direct links of one GPU: the commonest count, the larger of two as common; 0 without any.
  [[nodiscard]] int links_per_gpu() const;
  /// The meeting point of a GPU and a NIC (both from 0).
  [[nodiscard]] std::optional<NicPath> nic_path(std::size_t gpu, std::size_t nic) const { return paths[gpu][gpus.size() + nic]; }
};

/// Reads a topology, recognised by content; blanks may have been retyped, lines prefixed, coloured or wrapped at blanks. What is missing
/// but follows from the rest is read with a warning that names the line.
/// \throws SpecError with file, line, column, value and remedy: a cell that is none, a matrix that is not symmetric, NVLinks no GPU has,
///         three devices that cannot be placed, a row cut in its middle, a graph XML, a file that is no topology, not text or too large
[[nodiscard]] DescribedTopology read_topology(const std::filesystem::path& file);

/// One thing the file did not say and what was taken.
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
  std::vector<std::string> unknown;  ///< what such a file cannot say and a prediction feels
};

/// A system file of one such node. \param name empty: from the file's name, in the letters a system's name may have
/// \throws RequestError when there is no GPU to build it on
[[nodiscard]] GuessedSystem system_from(const DescribedTopology& topology, std::string_view name = {});

/// How a machine differs from a stock one, each a sentence: GPUs, direct links and their shape (numbered differently is no difference),
/// NICs, how far each GPU's nearest NIC is, rails, sockets, PCIe. Empty: nothing this file could show.
[[nodiscard]] std::vector<std::string> differences(const DescribedTopology& topology, const GuessedSystem& guessed, const System& stock);

}  // namespace fabricost
