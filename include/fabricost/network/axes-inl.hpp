#pragma once
/// \file axes-inl.hpp
/// Bodies of axes.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/network/axes.hpp>

namespace fabricost::core {

FABRICOST_BODY std::vector<Axis> sized_axes(std::vector<Axis> axes, int gpus, const std::string& shown) {
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
