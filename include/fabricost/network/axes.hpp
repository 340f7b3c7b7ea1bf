#pragma once
/// \file axes.hpp
/// The axes of a layout from the innermost outwards, as ranks are numbered: tp=8, pp=4, dp. The stride of an
/// axis is the product of the sizes before it; one axis may omit its size and takes the remaining GPUs.

#include <fabricost/refusal.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace fabricost::core {

struct Axis {
  std::string name;
  int size = 1, stride = 1;  ///< size 0: the remaining GPUs
};

/// Resolves all sizes and strides. \param shown the layout as it was written, for the message
/// \throws Refusal for a repeated name, a second axis without a size, or sizes that do not multiply to the
/// GPUs
[[nodiscard]] std::vector<Axis> sized_axes(std::vector<Axis> axes, int gpus, const std::string& shown);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/network/axes-inl.hpp>
#endif
