#pragma once
/// Files of data/transports: the properties of a transport, its constants (those of a calibration it extends,
/// or its own), and the adapters by which a topology identifies it.

#include "specs/reader.hpp"
#include "specs/tree.hpp"

#include <fabricost/hardware/transport.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// A property of one or several NICs of a machine that identifies their transport. Conditions that are not
/// given always hold.
struct AdapterClue {
  std::vector<std::string> pci{};     ///< ids as "1d0f:efa0", or vendors
  std::vector<std::string> names{};   ///< prefixes of device names
  std::string pci_class{};            ///< prefix of the PCI class
  std::string gpus{};                 ///< vendor of the GPUs beside the NICs
  std::vector<std::string> beside{};  ///< generations of those GPUs
  std::string instance{};             ///< suffix of the cloud machine's name
  int nics = 0;                       ///< minimum number of them
  int weight = 0;                     ///< the clue with the highest weight is used, the first of a tie
  std::string reason{};               ///< with {device} for the NIC's name
};

/// `adapters:` of one file of a transport; not inherited.
struct KnownAdapters {
  std::string transport;
  std::vector<std::string> links{};  ///< of data/links; the one closest to a NIC's rate is used
  std::string rate{};  ///< the source of the link's rate if a topology does not state one; empty: the usual link beside the GPU
  bool one_rate = false;             ///< every such adapter has that rate
  std::vector<AdapterClue> clues{};
};

/// A file with the one it extends.
struct TransportSpec {
  Transport transport;
  SpecNode tree;  ///< its constants, as specs/load_constants.cpp reads them
};

/// Keys of a transport that a calibration does not have.
inline constexpr std::array<std::string_view, 9> transport_keys{"network",      "relative",  "older",    "sockets",  "roce",
                                                                "switch_ports", "protocols", "adapters", "tuner_plugin"};

[[nodiscard]] TransportSpec read_transport(const SpecNode& tree, Faults& faults);

/// The adapters of all files of data/transports that have any, by name. \throws SpecError when one is faulty
[[nodiscard]] std::vector<KnownAdapters> known_adapters();

}  // namespace fabricost::core
