#pragma once
/// \file shape.hpp
/// The shape of a topology's direct links and the distance of its NICs, used for building a system and for
/// comparing two.

#include <fabricost/observe/readings/topology.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::observe {

struct LinkShape {
  TierKind kind = TierKind::host;  ///< switched, full_mesh, mesh_graph; host: no direct links, or they do not join all GPUs
  int links = 0;                   ///< of one GPU; the minimum where they differ
  std::vector<Edge> edges;         ///< all pairs with direct links, unless switched
  std::string remark;              ///< a limitation of the kind; may be empty
};
[[nodiscard]] LinkShape link_shape(const DescribedTopology& topology);

/// Groups of GPUs connected by direct links, each in order.
[[nodiscard]] std::vector<std::vector<std::size_t>> islands_of(const DescribedTopology& topology);

/// The nearest NIC of each GPU; empty if no path is known.
[[nodiscard]] std::vector<std::optional<NicPath>> nearest_nics(const DescribedTopology& topology);
/// The most frequent value, the larger one of a tie; empty for no values.
template <class Value>
[[nodiscard]] std::optional<Value> commonest(std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  std::optional<Value> best;
  std::ptrdiff_t max = 0;
  for (auto from = values.begin(); from != values.end();) {
    const auto to = std::upper_bound(from, values.end(), *from);
    if (to - from >= max) {
      best = *from;
      max = to - from;
    }
    from = to;
  }
  return best;
}
/// The most frequent of them, the farther one of a tie.
[[nodiscard]] std::optional<NicPath> usual_nearest(const DescribedTopology& topology);
/// NICs that GPUs would use: those beside a GPU if most GPUs have one beside them, else all.
[[nodiscard]] std::vector<std::size_t> fabric_nics(const DescribedTopology& topology);
/// GPUs per PCIe switch, as shown by paths between GPUs, or from several GPUs to one NIC.
[[nodiscard]] int gpus_per_switch(const DescribedTopology& topology);

/// "GPU0, GPU3 and GPU5"
[[nodiscard]] std::string listed(const std::vector<std::string>& names);
/// PIX, PXB, ...
[[nodiscard]] std::string path_word(NicPath path);

}  // namespace fabricost::observe
