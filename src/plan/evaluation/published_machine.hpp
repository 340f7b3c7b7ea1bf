#pragma once
/// \file published_machine.hpp
/// Identifies the machine of a published row from its GPU's name and a description of the interconnect.

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

struct PublishedMachine {
  std::string system;                  ///< of data/systems or data/clusters; empty: unknown
  std::vector<std::string> overrides;  ///< for other NICs, other GPUs or fewer of them
  double memory_rate = 0;              ///< bytes/s as stated; 0: the datasheet's
};

/// \param gpu in any case, with additions: "H100", "DGX-GB200", "A100-40G", "H100 (96GB HBM2e 2.4TB/s, 500W)"
/// \param wires "NVLink4 900GB/s in node + 8x400G NDR IB per node", "16x400G EFA", ...
/// \param gpus_per_node 0: unknown
[[nodiscard]] PublishedMachine published_machine(std::string_view gpu, const std::string& wires, int gpus_per_node);

/// Dense peak that published MFUs are relative to, FLOP/s: the usual round figures (A100 312; H100, H200,
/// H800 989.5; B200, B300 2250; GB200, GB300 2500 in 16 bit; twice that in fp8; NVFP4 9000, 10000 on GB200,
/// 14000 and 15000 on B300 and GB300). \param bits 16, 8 or 4
[[nodiscard]] double published_peak(std::string_view system, int bits);

}  // namespace fabricost::plan
