#pragma once
/// \file grid_index.hpp
/// Where a thread of a grid begins: device code only.

namespace fabricost::measure::gpu {

using Index = unsigned long long;
__device__ inline Index first_index() { return Index{blockIdx.x} * blockDim.x + threadIdx.x; }

}  // namespace fabricost::measure::gpu
