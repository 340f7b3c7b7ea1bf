/// \file transfer_check.cpp
/// What a transfer sends and what must have arrived, byte by byte.

#include "measure/mpi/transfer.hpp"

#include "measure/mpi/patterns.hpp"

#include <fmt/format.h>

#include <cstring>

namespace fabricost::measure::mpi {

namespace {

/// Writes element `at` of what `rank` adds.
void put(std::byte* into, DataType type, std::uint64_t value) {
  if (type == DataType::single) {
    const auto v = static_cast<float>(value);
    std::memcpy(into, &v, sizeof v);
  } else if (type == DataType::double_precision) {
    const auto v = static_cast<double>(value);
    std::memcpy(into, &v, sizeof v);
  } else {
    *into = static_cast<std::byte>(value);
  }
}

}  // namespace

void Transfer::fill() {
  const bool inside = sent_.size() == 0;
  // in place, an all_gather's own part lies where it belongs; a broadcast's other ranks have nothing
  const bool gathers = what_.operation == Collective::all_gather, casts = what_.operation == Collective::broadcast;
  std::memset(received_.data(), poison, received_.size());
  if (casts && rank_ != 0) return;
  std::byte* into = inside ? received_.data() + (gathers ? part_ * static_cast<std::uint64_t>(rank_) : 0) : sent_.data();
  const std::uint64_t bytes = inside ? (gathers ? part_ : whole_) : sent_.size();
  const auto rank = static_cast<std::uint64_t>(rank_);
  if (reduces(what_.operation))
    for (std::uint64_t i = 0; i < bytes / element_; ++i) put(into + i * element_, what_.dtype, summand(rank, i));
  else
    for (std::uint64_t j = 0; j < bytes; ++j) into[j] = static_cast<std::byte>(moved_byte(rank, j));
}

void Transfer::check_sums(const std::byte* at, std::uint64_t elements, std::uint64_t first) const {
  const auto sum = sums(static_cast<std::uint64_t>(ranks_));
  std::array<std::array<std::byte, 8>, classes> expected{};
  for (std::uint64_t k = 0; k < classes; ++k) put(expected[k].data(), what_.dtype, sum[k]);
  for (std::uint64_t i = 0; i < elements; ++i)
    if (std::memcmp(at + i * element_, expected[class_of(first + i)].data(), element_) != 0)
      throw WrongResult(fmt::format("{}: element {} of process {} is not the sum of all", said(what_), i, rank_));
}

void Transfer::check_moved(const std::byte* at, std::uint64_t bytes, int from, std::uint64_t first) const {
  for (std::uint64_t j = 0; j < bytes; ++j)
    if (at[j] != static_cast<std::byte>(moved_byte(static_cast<std::uint64_t>(from), first + j)))
      throw WrongResult(fmt::format("{}: byte {} of what process {} has from {} is not what was sent", said(what_), j, rank_, from));
}

void Transfer::verify() const {
  const std::byte* at = received_.data();
  const auto rank = static_cast<std::uint64_t>(rank_);
  switch (what_.operation) {
    case Collective::all_reduce: return check_sums(at, whole_ / element_, 0);
    case Collective::reduce:
      if (rank_ == 0) check_sums(at, whole_ / element_, 0);
      return;
    case Collective::reduce_scatter: return check_sums(at, part_ / element_, rank * part_ / element_);
    case Collective::broadcast: return check_moved(at, whole_, 0, 0);
    case Collective::all_gather:
      for (int r = 0; r < ranks_; ++r) check_moved(at + static_cast<std::uint64_t>(r) * part_, part_, r, 0);
      return;
    case Collective::all_to_all:
      for (int r = 0; r < ranks_; ++r) check_moved(at + static_cast<std::uint64_t>(r) * part_, part_, r, rank * part_);
      return;
    case Collective::send_recv: {
      if (!takes_part()) return;
      // a ping-pong in one buffer brings back what was sent
      const bool returned = what_.in_place && share_ < 1;
      return check_moved(at, whole_, returned ? (first_ ? rank_ : from_) : from_, 0);
    }
  }
}

void Transfer::settle() {
  if (what_.in_place && reduces(what_.operation)) std::memset(received_.data(), 0, received_.size());
}

}  // namespace fabricost::measure::mpi
