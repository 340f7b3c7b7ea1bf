#pragma once
/// Divides sizes into the elements of messages.

#include <cstdint>
#include <optional>

namespace fabricost::probes::measure::mpi {

/// The elements of a size in the convention of nccl-tests.
struct Share {
  std::uint64_t elements = 0;  ///< of one part
  std::uint64_t parts = 1;     ///< in the whole: the ranks for all_gather, reduce_scatter, all_to_all, else 1
};

/// Divides `bytes` into `parts` equal parts of whole elements, rounded down by at most one per cent
/// (nccl-tests rounds, too); empty if that is impossible.
[[nodiscard]] constexpr std::optional<Share> share_of(std::uint64_t bytes, std::uint64_t element, std::uint64_t parts) {
  const std::uint64_t each = bytes / (element * parts);
  if (each == 0 || (bytes - each * element * parts) * 100 > bytes) return std::nullopt;
  return Share{each, parts};
}

}  // namespace fabricost::probes::measure::mpi
