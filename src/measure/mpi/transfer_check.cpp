/// \file transfer_check.cpp
/// Contents of a transfer's buffers before the call, and after it, element by element (measure/checks/elements.hpp).

#include "measure/checks/elements.hpp"
#include "measure/mpi/transfer.hpp"

#include <fmt/format.h>

#include <cstring>

namespace fabricost::measure::mpi {

namespace {

constexpr int poison = 0xa5;  ///< a call that wrote nothing shows

}  // namespace

void Transfer::fill() {
  const bool inside = sent_.size() == 0;
  // in place, an all_gather's own part lies where it belongs; a broadcast's other ranks have nothing
  const bool gathers = what_.operation == Collective::all_gather, casts = what_.operation == Collective::broadcast;
  std::memset(received_.data(), poison, received_.size());
  if (casts && rank_ != 0) return;
  std::byte* into = inside ? received_.data() + (gathers ? part_ * static_cast<std::uint64_t>(rank_) : 0) : sent_.data();
  const std::uint64_t bytes = inside ? (gathers ? part_ : whole_) : sent_.size();
  const ElementFormat format = format_of(what_.dtype);
  const auto rank = static_cast<unsigned>(rank_), ranks = static_cast<unsigned>(ranks_);
  for (std::uint64_t i = 0; i < bytes / element_; ++i) {
    const std::uint64_t bits = sent_bits(reduces(what_.operation), i, rank, ranks, format);
    std::memcpy(into + i * element_, &bits, element_);
  }
}

void Transfer::verify() const {
  const auto rank = static_cast<unsigned>(rank_), ranks = static_cast<unsigned>(ranks_);
  const bool pair = what_.operation == Collective::send_recv;
  if ((what_.operation == Collective::reduce && rank != 0) || (pair && !takes_part())) return;
  // a ping-pong in one buffer brings back what was sent
  const auto from = static_cast<unsigned>(what_.in_place && share_ < 1 && first_ ? rank_ : from_);
  const ElementFormat format = format_of(what_.dtype);
  const std::uint64_t piece = part_ / element_;
  const std::uint64_t elements = (what_.operation == Collective::reduce_scatter ? part_ : whole_) / element_;
  for (std::uint64_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = pair ? sent_bits(false, i, from, ranks, format)
                                    : received_bits(what_.operation, reduces(what_.operation), i, piece, rank, ranks, format);
    if (std::memcmp(received_.data() + i * element_, &bits, element_) != 0)
      throw WrongResult(fmt::format("{}: element {} of process {} is not what the others sent", described(what_), i, rank_));
  }
}

void Transfer::zero_sums() {
  if (what_.in_place && reduces(what_.operation)) std::memset(received_.data(), 0, received_.size());
}

}  // namespace fabricost::measure::mpi
