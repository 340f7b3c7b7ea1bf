/// Buffers and calls of each collective, and the check of their results element by element (measure/checks/elements.hpp).

#include "measure/mpi/transfer.hpp"

#include "measure/checks/elements.hpp"
#include "measure/device.hpp"
#include "measure/mpi/counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace fabricost::probes::measure::mpi {

MPI_Datatype mpi_type(DataType type, bool summed) {
  switch (type) {
    case DataType::int8: return MPI_UINT8_T;
    case DataType::single: return MPI_FLOAT;
    case DataType::double_precision: return MPI_DOUBLE;
    case DataType::fp8:
    case DataType::half:
    case DataType::bfloat16: break;
  }
  if (summed) throw Unsupported(fmt::format("MPI has no sum of {}; measure float, double or int8", name(type)));
  return is_byte_wide(type) ? MPI_UINT8_T : MPI_UINT16_T;
}

std::string described(const Case& what) {
  return fmt::format("{} of {} B{}", name(what.operation), what.bytes, what.in_place ? " in place" : "");
}

Transfer::Transfer(const Case& what, const World& world)
    : what_(what), comm_(world.measured()), rank_(world.rank()), ranks_(world.ranks()), element_(bytes_of(what.dtype)) {
  if (what.kind != ProbeKind::collective) throw Unsupported("MPI moves messages between processes: it has collectives alone");
  if (what.protocol.value_or(Protocol::simple) != Protocol::simple) throw Unsupported("MPI has no protocols; leave it open");
  const bool summed = reduces(what.operation);
  const bool parted =
      what.operation == Collective::all_gather || what.operation == Collective::reduce_scatter || what.operation == Collective::all_to_all;
  const auto parts = static_cast<std::uint64_t>(parted ? ranks_ : 1);
  const auto share = share_of(what.bytes, element_, parts);
  if (!share)
    throw Unsupported(fmt::format("{} do not fall into {} equal parts of whole {} elements", described(what), parts, name(what.dtype)));
  type_ = mpi_type(what.dtype, summed);
  count_ = static_cast<Count>(share->elements);
  part_ = share->elements * element_;
  whole_ = part_ * parts;
  if (what.operation == Collective::send_recv) find_partners();

  const bool gathers = what.operation == Collective::all_gather, scatters = what.operation == Collective::reduce_scatter;
  const bool one = what.in_place || what.operation == Collective::broadcast;  // one buffer for both
  const std::uint64_t out = one ? 0 : gathers ? part_ : whole_;
  const std::uint64_t in = scatters && !one ? part_ : whole_;
  // in floating point: a size may exceed any integer when multiplied by twice the processes
  const double free = static_cast<double>(available_memory());
  const double all = (static_cast<double>(out) + static_cast<double>(in)) * world.ranks_here();
  if (free > 0 && all > 0.8 * free)
    throw OutOfMemory(fmt::format("{} needs {:.3g} GB for the {} processes of this host, which has {:.3g} GB left", described(what),
                                  1e-9 * all, world.ranks_here(), 1e-9 * free));
  if (share->elements > static_cast<std::uint64_t>(widest_count))
    throw Unsupported(fmt::format("{} elements are more than a count of this MPI says; MPI 4 has wider ones", share->elements));
  sent_ = Buffer(out);
  received_ = Buffer(in);
  in_ = what.in_place ? MPI_IN_PLACE : sent_.data();
}

/// \throws Unsupported for invalid pairs
void Transfer::find_partners() {
  if (what_.pairs.empty()) {
    to_ = (rank_ + 1) % ranks_;
    from_ = (rank_ + ranks_ - 1) % ranks_;
    return;
  }
  std::vector<int> seen;
  for (const auto& [from, to] : what_.pairs) {
    for (const int end : {from, to}) {
      if (end < 0 || end >= ranks_ || std::find(seen.begin(), seen.end(), end) != seen.end())
        throw Unsupported(fmt::format("pair {}>{}: every process is in one pair, and there are {}", from, to, ranks_));
      seen.push_back(end);
    }
    if (rank_ == from || rank_ == to) {
      first_ = rank_ == from;
      to_ = from_ = first_ ? to : from;
    }
  }
  if (!what_.both_ways) share_ = 0.5;
}

void Transfer::run() {
  void* out = received_.data();
  switch (what_.operation) {
    case Collective::all_reduce: return check(FABRICOST_MPI(MPI_Allreduce)(in_, out, count_, type_, MPI_SUM, comm_), "MPI_Allreduce");
    case Collective::all_gather: return check(FABRICOST_MPI(MPI_Allgather)(in_, count_, type_, out, count_, type_, comm_), "MPI_Allgather");
    case Collective::reduce_scatter:
      return check(FABRICOST_MPI(MPI_Reduce_scatter_block)(in_, out, count_, type_, MPI_SUM, comm_), "MPI_Reduce_scatter_block");
    case Collective::broadcast: return check(FABRICOST_MPI(MPI_Bcast)(out, count_, type_, 0, comm_), "MPI_Bcast");
    case Collective::reduce: {
      const bool inside = what_.in_place && rank_ != 0;  // only the root may pass MPI_IN_PLACE
      const void* in = inside ? out : in_;
      return check(FABRICOST_MPI(MPI_Reduce)(in, inside ? nullptr : out, count_, type_, MPI_SUM, 0, comm_), "MPI_Reduce");
    }
    case Collective::all_to_all: return check(FABRICOST_MPI(MPI_Alltoall)(in_, count_, type_, out, count_, type_, comm_), "MPI_Alltoall");
    case Collective::send_recv: return run_send_recv();
  }
}

void Transfer::run_send_recv() {
  if (!takes_part()) return;
  constexpr int tag = 1;
  const void* out = what_.in_place ? received_.data() : sent_.data();
  const auto send = [&] { check(FABRICOST_MPI(MPI_Send)(out, count_, type_, to_, tag, comm_), "MPI_Send"); };
  const auto receive = [&] {
    check(FABRICOST_MPI(MPI_Recv)(received_.data(), count_, type_, from_, tag, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
  };
  if (share_ < 1) {
    if (first_)
      send(), receive();
    else
      receive(), send();
  } else if (what_.in_place) {
    check(FABRICOST_MPI(MPI_Sendrecv_replace)(received_.data(), count_, type_, to_, tag, from_, tag, comm_, MPI_STATUS_IGNORE),
          "MPI_Sendrecv_replace");
  } else {
    check(FABRICOST_MPI(MPI_Sendrecv)(out, count_, type_, to_, tag, received_.data(), count_, type_, from_, tag, comm_, MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
  }
}

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
