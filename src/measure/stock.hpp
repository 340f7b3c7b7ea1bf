#pragma once
/// \file stock.hpp
/// Which shipped system a machine is like: the one with its GPU, joined as its GPUs are (NVLink or not), that has as many of them or, of
/// those that have more, the least.

#include "measure/device.hpp"

#include <string>

namespace fabricost::measure {

struct StockSystem {
  std::string name;    ///< empty: none is like it
  std::string reason;  ///< "8 GPUs called NVIDIA H200", or why there is none
};

/// \param gpus of one node
[[nodiscard]] StockSystem stock_system(const Machine& machine, int gpus);

}  // namespace fabricost::measure
