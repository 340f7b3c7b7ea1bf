#pragma once
/// \file gpu.hpp
/// One accelerator: its memories, its compute rates (dense) and its links outward.

#include <fabricost/hardware/kinds.hpp>
#include <fabricost/hardware/provenance.hpp>
#include <fabricost/units.hpp>

#include <string>

namespace fabricost::core {

struct Gpu {
  std::string name;
  std::string title;
  std::string vendor;
  Generation generation = Generation::other;
  Sourced<Bytes> memory;
  Sourced<Bandwidth> hbm_bandwidth;  ///< shared by reads and writes
  Sourced<Time> hbm_latency;         ///< zero when unknown
  Sourced<Bytes> l2_size;            ///< zero when there is none
  Sourced<Bandwidth> l2_bandwidth;
  Sourced<Time> l2_latency;
  Sourced<FlopRate> fp32, tf32, fp16, bf16, fp8, int8, fp4;  ///< dense; zero when not offered or unknown
  bool dataflow = false;  ///< a compiler fixes when each core computes and sends what: no kernel is launched
  int units = 0;                                            ///< SMs or compute units
  double clock_hz = 0;
  Sourced<Watts> power;
  double arithmetic_factor = 1;  ///< peaks over those of the chip that was described: more units at the clock it has, not more on its power
  Sourced<DollarRate> price;
  std::string scale_up_link;  ///< empty when it has none
  int scale_up_links = 0;
  bool scale_up_bridge = false;  ///< the links need a bridge between cards, sold separately
  std::string host_link;
  std::string c2c_link;
  std::string arch;  ///< as compilers name it: sm_90, gfx942; empty: unknown
};

/// Compute capability 10.3, for which engines select other kernels.
[[nodiscard]] inline bool is_blackwell_ultra(const Gpu& gpu) { return gpu.arch == "sm_103"; }

}  // namespace fabricost::core

namespace fabricost {
using core::Gpu;
}  // namespace fabricost
