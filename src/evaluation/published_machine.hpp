#pragma once
/// \file published_machine.hpp
/// What machine a published row means by the name of its GPU and a line about its wires.

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::io {

struct PublishedMachine {
  std::string system;                  ///< of data/systems or data/clusters; empty: none known
  std::vector<std::string> overrides;  ///< where the row states other NICs, other GPUs or fewer of them
  double memory_rate = 0;              ///< bytes/s stated; 0: the datasheet's
  double power_share = 1;              ///< of the datasheet's arithmetic, for parts held below their power
};

/// \param gpu in any case, with what stands around it: "H100", "DGX-GB200", "A100-40G", "H100 (96GB HBM2e 2.4TB/s, 500W)"
/// \param wires "NVLink4 900GB/s in node + 8x400G NDR IB per node", "16x400G EFA", ...
/// \param gpus_per_node 0: not stated
[[nodiscard]] PublishedMachine published_machine(std::string_view gpu, const std::string& wires, int gpus_per_node);

/// Dense peak a published MFU divides by, FLOP/s: the round figures in use (A100 312; H100, H200, H800 989.5; B200, B300 2250; GB200,
/// GB300 2500 in 16 bit; twice that in fp8; NVFP4 9000, 10000 on GB200, 14000 and 15000 on B300 and GB300). \param bits 16, 8 or 4
[[nodiscard]] double published_peak(std::string_view system, int bits);

}  // namespace fabricost::io
