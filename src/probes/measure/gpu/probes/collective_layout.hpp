#pragma once
/// Elements of a collective of a given size, in the convention of nccl-tests (doc/PERFORMANCE.md), so that
/// points of both agree.
///
///     all_reduce, broadcast, reduce, send_recv   size = elements of a rank x width
///     all_gather                                 size = the result of a rank;  it sends size / ranks
///     reduce_scatter, all_to_all                 size = the input of a rank;   a piece is size / ranks

#include <fabricost/collective.hpp>

#include "measure/checks/elements.hpp"
#include "measure/device.hpp"

#include <cstdint>
#include <string>

namespace fabricost::probes::measure::gpu {

struct CollectiveLayout {
  std::uint64_t piece = 0;     ///< elements in the count argument of the library's call
  std::uint64_t sent = 0;      ///< elements of the send buffer
  std::uint64_t received = 0;  ///< elements of the receive buffer
};

/// \throws Unsupported for a size of less than one element per rank
[[nodiscard]] inline CollectiveLayout layout_of(Collective operation, std::uint64_t bytes, DataType type, int ranks) {
  const std::uint64_t elements = bytes / format_of(type).bytes, n = static_cast<std::uint64_t>(ranks);
  CollectiveLayout layout{elements, elements, elements};
  const bool in_pieces =
      operation == Collective::all_gather || operation == Collective::reduce_scatter || operation == Collective::all_to_all;
  if (in_pieces) layout.piece = elements / n;
  if (layout.piece == 0)
    throw Unsupported(std::to_string(bytes) + " bytes of " + std::string(name(type)) + " are less than one element for each of " +
                      std::to_string(ranks) + " ranks");
  if (in_pieces) {
    layout.sent = operation == Collective::all_gather ? layout.piece : layout.piece * n;
    layout.received = operation == Collective::reduce_scatter ? layout.piece : layout.piece * n;
  }
  return layout;
}

}  // namespace fabricost::probes::measure::gpu
