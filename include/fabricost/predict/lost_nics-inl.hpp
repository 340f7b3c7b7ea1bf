#pragma once
/// \file lost_nics-inl.hpp
/// Bodies of lost_nics.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/predict/lost_nics.hpp>

namespace fabricost::core {

FABRICOST_BODY NicsLeft nics_left(double whole, double left, double gpus, double per_device) {
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
