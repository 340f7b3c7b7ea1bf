#pragma once
/// Hand-written fabrics for tests of prices and choices that need no system: switched, 400 GB/s inside, one
/// NIC of 50 GB/s per GPU.

#include <fabricost/price/fabric.hpp>

namespace support {

inline constexpr double inside_rate = 400e9, nic_rate = 50e9;

/// `local` GPUs to a domain, `domains` of them.
inline fabricost::core::Fabric fabric(int local, int domains = 1) {
  fabricost::core::Fabric f;
  f.levels = domains > 1 ? fabricost::core::Levels{local, domains} : fabricost::core::Levels{local};
  f.library = fabricost::core::Library::nccl;
  f.inner_rate = f.full_rate = inside_rate;
  f.outer_rate = domains > 1 ? local * nic_rate : 0;
  f.nics = local;
  f.switched = true;
  return f;
}

}  // namespace support
