/// \file transfer_check.cpp
/// Fills the buffers of a transfer before the call and checks them after it, element by element
/// (measure/checks/elements.hpp).

#include "measure/checks/elements.hpp"
#include "measure/mpi/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace fabricost::probes::measure::mpi {

namespace {

constexpr int poison = 0xa5;  ///< detects a call that wrote nothing

}  // namespace

void Transfer::fill() {
  const bool inside = sent_.size() == 0;
  // in place, an all_gather's own part is at its final position; only a broadcast's root has an input
  const bool gathers = what_.operation == Collective::all_gather, casts = what_.operation == Collective::broadcast;
  std::memset(received_.data(), poison, received_.size());
  if (casts && rank_ != 0) return;
  std::byte* into = inside ? received_.data() + (gathers ? part_ * static_cast<std::uint64_t>(rank_) : 0) : sent_.data();
  const std::uint64_t bytes = inside ? (gathers ? part_ : whole_) : sent_.size();
  const ElementFormat format = format_of(what_.dtype);
  const auto rank = static_cast<unsigned>(rank_), ranks = static_cast<unsigned>(ranks_);
  const bool sums = reduces(what_.operation);
  const std::uint64_t elements = bytes / element_, period = 16ULL * ranks * ranks;  // of a rank's contribution: the rest is copied
  for (std::uint64_t i = 0; i < (sums ? std::min(elements, period) : elements); ++i) {
    const std::uint64_t bits = sent_bits(sums, i, rank, ranks, format);
    std::memcpy(into + i * element_, &bits, element_);
  }
  for (std::uint64_t done = period * element_; sums && done < bytes; done *= 2)
    std::memcpy(into + done, into, std::min(done, bytes - done));
}

void Transfer::verify() const {
  const auto rank = static_cast<unsigned>(rank_), ranks = static_cast<unsigned>(ranks_);
  const bool pair = what_.operation == Collective::send_recv;
  if ((what_.operation == Collective::reduce && rank != 0) || (pair && !takes_part())) return;
  // a ping-pong in one buffer returns what was sent
  const auto from = static_cast<unsigned>(what_.in_place && share_ < 1 && first_ ? rank_ : from_);
  const ElementFormat format = format_of(what_.dtype);
  const std::uint64_t piece = part_ / element_;
  const std::uint64_t parts = what_.operation == Collective::reduce_scatter ? 1 : whole_ / part_;
  const std::byte* at = received_.data();
  for (std::uint64_t part = 0; part < parts; ++part) {
    const Origin origin = pair ? Origin{from, 0} : origin_of(what_.operation, part * piece, piece, rank, ranks);
    for (std::uint64_t i = origin.index; i < origin.index + piece; ++i, at += element_) {
      const std::uint64_t bits = arrived_bits(reduces(what_.operation), {origin.rank, i}, ranks, format);
      if (std::memcmp(at, &bits, element_) != 0)
        throw WrongResult(fmt::format("{}: element {} of process {} is not what the others sent", described(what_), i, rank_));
    }
  }
}

void Transfer::zero_sums() {
  if (what_.in_place && reduces(what_.operation)) std::memset(received_.data(), 0, received_.size());
}

}  // namespace fabricost::probes::measure::mpi
