#pragma once
/// The first index of a thread of a grid: device code only.

namespace fabricost::probes::measure::gpu {

using Index = unsigned long long;
__device__ inline Index first_index() { return Index{blockIdx.x} * blockDim.x + threadIdx.x; }

}  // namespace fabricost::probes::measure::gpu
