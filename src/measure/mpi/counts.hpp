#pragma once
/// \file counts.hpp
/// Messages of more elements than MPI's counts can say.
///
/// Before MPI 4 a count is an int: 2^31 floats, 8 GiB, are one too many. Such a message is counted in blocks of 2^k elements, a derived
/// type; reductions then run an operation of ours on it, which adds the same elements one by one.

#include <cstdint>
#include <optional>

namespace fabricost::measure::mpi {

struct Blocks {
  std::uint64_t elements_each = 1;
  std::uint64_t count = 0;
};

/// The smallest power of two that divides `elements` into at most `most` blocks; nothing when there is none.
[[nodiscard]] constexpr std::optional<Blocks> blocks_of(std::uint64_t elements, std::uint64_t most) {
  for (std::uint64_t block = 1; block <= elements && elements % block == 0; block *= 2)
    if (elements / block <= most) return Blocks{block, elements / block};
  return elements == 0 ? std::optional{Blocks{1, 0}} : std::nullopt;
}

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
