#pragma once
/// The shipped system that is most similar to a machine: with its GPU, the same kind of link between GPUs
/// (NVLink or not), and as many GPUs or, if there is none, the smallest number above.

#include "measure/device.hpp"

#include <string>

namespace fabricost::probes::measure {

struct StockSystem {
  std::string name;    ///< empty: none is similar
  std::string reason;  ///< "8 GPUs called NVIDIA H200", or the reason why there is none
};

/// \param gpus of one node
[[nodiscard]] StockSystem stock_system(const Machine& machine, int gpus);

}  // namespace fabricost::probes::measure
