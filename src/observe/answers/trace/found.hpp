#pragma once
/// \file found.hpp
/// The job's aligned traces, with the predicted time of each call: pictures are drawn from it.

#include "answers/trace/machine.hpp"
#include "trace/timeline.hpp"

namespace fabricost::observe {

struct FoundTrace {
  timeline::Job job;
  std::int64_t start = 0;                                 ///< of the traces, ns on the common clock
  std::vector<std::string> labels;                        ///< of each group
  std::vector<std::optional<detail::Expected>> expected;  ///< of each call
};

/// \throws RequestError where answer() did not make it
[[nodiscard]] const FoundTrace& found_of(const TraceAnswer& answer);

}  // namespace fabricost::observe
