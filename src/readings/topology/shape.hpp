#pragma once
/// \file shape.hpp
/// The shape of a topology's direct links, and how near its NICs are: what building a system and comparing two have in common. Private to
/// the sources.

#include <fabricost/readings/topology.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::io {

struct LinkShape {
  TierKind kind = TierKind::host;  ///< switched, full_mesh, mesh_graph; host: the direct links do not join all GPUs, or there are none
  int links = 0;                   ///< of one GPU; the minimum where they differ
  std::vector<Edge> edges;         ///< all pairs with direct links, unless switched
  std::string remark;              ///< what the kind cannot show; may be empty
};
[[nodiscard]] LinkShape link_shape(const DescribedTopology& topology);

/// GPUs that reach each other over direct links, each group in order.
[[nodiscard]] std::vector<std::vector<std::size_t>> islands_of(const DescribedTopology& topology);

/// The nearest NIC of each GPU; nothing where no path is known.
[[nodiscard]] std::vector<std::optional<NicPath>> nearest_nics(const DescribedTopology& topology);
/// The commonest of some values, the larger of two as common; nothing of none.
template <class Value>
[[nodiscard]] std::optional<Value> commonest(std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  std::optional<Value> best;
  std::ptrdiff_t max = 0;
  for (auto from = values.begin(); from != values.end();) {
    const auto to = std::upper_bound(from, values.end(), *from);
    if (to - from >= max) best = *from, max = to - from;
    from = to;
  }
  return best;
}
/// The commonest of them, the farther of two as common.
[[nodiscard]] std::optional<NicPath> usual_nearest(const DescribedTopology& topology);
/// NICs that a GPU would use: all but those beside no GPU where the others are beside one.
[[nodiscard]] std::vector<std::size_t> fabric_nics(const DescribedTopology& topology);
/// How many GPUs share one PCIe switch, as far as paths between GPUs, or from several GPUs to one NIC, show.
[[nodiscard]] int gpus_per_switch(const DescribedTopology& topology);

/// "GPU0, GPU3 and GPU5"
[[nodiscard]] std::string listed(const std::vector<std::string>& names);
/// PIX, PXB, ...
[[nodiscard]] std::string path_word(NicPath path);

}  // namespace fabricost::io
