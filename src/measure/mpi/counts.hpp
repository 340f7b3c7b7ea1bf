#pragma once
/// \file counts.hpp
/// How a size falls into the elements of a message.

#include <cstdint>
#include <optional>

namespace fabricost::measure::mpi {

/// How a size in the sense of nccl-tests falls into elements.
struct Share {
  std::uint64_t elements = 0;  ///< of one part
  std::uint64_t parts = 1;     ///< of the whole: the ranks of all_gather, reduce_scatter, all_to_all, else 1
};

/// `bytes` in `parts` equal parts of whole elements, rounded down by at most one in a hundred (nccl-tests rounds, too); nothing when
/// that is not possible.
[[nodiscard]] constexpr std::optional<Share> share_of(std::uint64_t bytes, std::uint64_t element, std::uint64_t parts) {
  const std::uint64_t each = bytes / (element * parts);
  if (each == 0 || (bytes - each * element * parts) * 100 > bytes) return std::nullopt;
  return Share{each, parts};
}

}  // namespace fabricost::measure::mpi
