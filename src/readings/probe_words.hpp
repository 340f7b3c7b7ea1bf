#pragma once
/// \file probe_words.hpp
/// The words `fabricost measure` writes into the operation column for what is no collective and no transfer between two ends, and why the
/// readers of points leave such rows out. Private to the sources.

#include <fabricost/collective.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace fabricost::io {

struct ProbeWord {
  std::string_view word;
  std::string_view skipped;  ///< why no model of communication prices it
};

/// In the order of measure::ProbeKind (src/measure/device.hpp).
inline constexpr std::array<ProbeWord, 23> probe_words{{
    {"memory_read", "probe of one GPU's memory, not of a transfer"},
    {"memory_write", "probe of one GPU's memory, not of a transfer"},
    {"memory_copy", "probe of one GPU's memory, not of a transfer"},
    {"memory_scale", "probe of one GPU's memory, not of a transfer"},
    {"pointer_chase", "probe of one GPU's memory, not of a transfer"},
    {"kernel_launch", "probe of launches, not of a transfer"},
    {"kernel_sync", "probe of launches, not of a transfer"},
    {"graph_launch", "probe of launches, not of a transfer"},
    {"graph_node", "probe of launches, not of a transfer"},
    {"event_record", "probe of launches, not of a transfer"},
    {"stream_wait", "probe of launches, not of a transfer"},
    {"host_to_device", "copy from or to pageable host memory, which goes through a buffer"},
    {"device_to_host", "copy from or to pageable host memory, which goes through a buffer"},
    {"host_both_ways", "copy from or to pageable host memory, which goes through a buffer"},
    {"peer_copy", "several pairs of GPUs at once"},
    {"peer_read", "several pairs of GPUs at once"},
    {"peer_write", "several pairs of GPUs at once"},
    {"peer_load", "latency of single loads, stores or atomics, not of a transfer"},
    {"peer_store", "latency of single loads, stores or atomics, not of a transfer"},
    {"peer_atomic", "latency of single loads, stores or atomics, not of a transfer"},
    {"collective", "a collective nobody named"},
    {"compute", "arithmetic, not a transfer"},
    {"compute_overlap", "arithmetic beside a collective, not a transfer"},
}};

/// The word in any spelling; nullptr: none of ours.
[[nodiscard]] inline const ProbeWord* probe_word(std::string_view text) {
  const std::string wanted = fabricost::detail::folded(text);
  const auto* found =
      std::find_if(probe_words.begin(), probe_words.end(), [&](const ProbeWord& w) { return fabricost::detail::folded(w.word) == wanted; });
  return found == probe_words.end() ? nullptr : found;
}

}  // namespace fabricost::io
