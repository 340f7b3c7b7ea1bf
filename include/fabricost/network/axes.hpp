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
[[nodiscard]] inline std::vector<Axis> sized_axes(std::vector<Axis> axes, int gpus, const std::string& shown) {
  const Axis* open = nullptr;
  long long product = 1;
  for (std::size_t i = 0; i < axes.size() && product <= gpus; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (axes[j].name == axes[i].name) throw Refusal(shown + ": " + axes[i].name + " is there twice");
    if (axes[i].size == 0) {
      if (open != nullptr)
        throw Refusal(shown + ": " + open->name + " and " + axes[i].name + " have no size; only one axis can take what is left");
      open = &axes[i];
    } else {
      product *= axes[i].size;
    }
  }
  if (axes.empty()) return axes;
  if (product > gpus || gpus % product != 0 || (open == nullptr && product != gpus))
    throw Refusal(shown + ": its sizes multiply to " + (product > gpus ? "more than " : "") +
                  std::to_string(std::min<long long>(product, gpus)) + ", there are " + std::to_string(gpus) +
                  " GPUs; leave one axis without a size to take what is left");
  int stride = 1;
  for (Axis& axis : axes) {
    if (axis.size == 0) axis.size = static_cast<int>(gpus / product);
    axis.stride = stride;
    stride *= axis.size;
  }
  return axes;
}

}  // namespace fabricost::core
