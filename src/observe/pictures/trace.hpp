#pragma once
/// \file trace.hpp
/// Pictures of a traced job: who waits for whom, and every rank's work over time.

#include "trace/timeline.hpp"

#include <string>
#include <vector>

namespace fabricost::observe {

/// A cell for each pair of ranks, darker the longer one waited for the other.
struct Waiting {
  int rank = 0, for_rank = 0;
  double seconds = 0;
};
/// Rows wait for columns. \param ranks ascending
[[nodiscard]] std::string waits_svg(const std::vector<int>& ranks, const std::vector<Waiting>& waits);

/// One row a rank: kernels above, communication below, by the kind of its group, and waiting in it. \param from, to ns on the common clock
[[nodiscard]] std::string timeline_svg(const timeline::Job& job, std::int64_t from, std::int64_t to, std::string_view title);

}  // namespace fabricost::observe
