#pragma once
/// The share of the NICs' rate that remains when a node has lost some (Tier::lost); all nodes wait for that one. NCCL binds messages to
/// network devices, so the fullest remaining device sets the time. n devices of r NICs each for g GPUs, l NICs lost:
///
///   rings, trees   (n - l) / n. NCCL does not go on after the loss; a communicator made again searches its channels over the devices
///                  that are left, as many on each, and every node opens as many as that one
///   exchanges      (c/n) / ceil(c / (n - l)) of the n: messages keep to the device next to their GPU, and those of a lost one move to
///                  others. c: channels of all devices, at least one of each GPU. 1 of 8: 16 channels of 8 H100s, 3 instead of 2: 2/3;
///                  8 of 8 A100s: 1/2. The same in a node made with 7 NICs for 8 GPUs: NCCL finds the same devices
///   r > 1          (r - ceil(l/n)) / r: the NICs of one GPU are one device and messages are striped over them, so a device that lost
///                  one stays and holds all channels, as one slow NIC does. 1 of 32 NICs of 8 GPUs: 3/4
///
/// Sources: NVIDIA/nccl src/graph/search.cc and connect.cc (channels of the devices found, the minimum over nodes), src/graph/topo.cc (the
/// device of a send), issue 998 (a failure ends the communicator), issue 2192 (failover only inside a merged device). No run with a lost
/// NIC was measured.

#include <algorithm>
#include <cmath>

namespace fabricost::core {

/// NICs of a domain that carry messages, and the share of their rate that an exchange has.
struct NicsLeft {
  double carrying = 1;
  double exchanges = 1;
};

/// \param whole NICs of the domain that its ranks use when none is lost \param left those of them that are left, at least 1
/// \param per_device channels that NCCL opens on a device. \throws nothing
[[nodiscard]] inline NicsLeft nics_left(double whole, double left, double gpus, double per_device) {
  if (left >= whole) return {left, 1};
  if (const double each = std::floor(whole / gpus); each > 1) {  // NICs of a device
    const double worst = each - std::ceil((whole - left) / gpus);
    return {worst >= 1 ? std::min(left, worst * gpus) : left, 1};
  }
  const double channels = std::max(gpus, per_device * whole);
  const double even = channels / left;
  return {left, even / std::ceil(even - 1e-9)};
}

}  // namespace fabricost::core
