#pragma once
/// The operations: collectives and point-to-point transfers in the conventions of nccl-tests.
///
/// `bytes` is the size that nccl-tests prints:
///   all_reduce, broadcast, reduce, send_recv   the buffer of one rank
///   all_gather                                 everything a rank has received at the end (n times its own part)
///   reduce_scatter, all_to_all                 everything a rank holds at the start (n times what it keeps, or sends to one peer)

#include <fabricost/collective.hpp>
#include <fabricost/units.hpp>

#include <limits>

namespace fabricost::core {

/// A collective, its size and its ranks. `ranks` 0: all GPUs of the machine (of `nodes` nodes); `nodes`
/// 0: as few as hold the ranks.
struct Operation {
  Collective collective = Collective::all_reduce;
  Bytes bytes{};
  int ranks = 0;
  int nodes = 0;
  DataType dtype = DataType::half;
  Path path = Path::gpu_gpu;
};

/// True for a copy between a GPU and its host: no other rank, no algorithm to choose.
[[nodiscard]] inline bool is_host_copy(const Operation& op) { return op.collective == Collective::send_recv && is_host_path(op.path); }

namespace detail {
/// A size that was not given: predict refuses it, a Curve takes its sizes later.
inline constexpr Bytes not_given = Bytes::from_value(std::numeric_limits<double>::quiet_NaN());

/// One named aggregate per collective, so that a call reads `AllReduce{.bytes = MiB(256), .ranks = 64}`.
template <Collective C>
struct Named {
  Bytes bytes = not_given;
  int ranks = 0;
  int nodes = 0;
  DataType dtype = DataType::half;

  operator Operation() const {  // NOLINT(google-explicit-constructor): it is one
    return {.collective = C, .bytes = bytes, .ranks = ranks, .nodes = nodes, .dtype = dtype};
  }
};
}  // namespace detail

using AllReduce = detail::Named<Collective::all_reduce>;
using AllGather = detail::Named<Collective::all_gather>;
using ReduceScatter = detail::Named<Collective::reduce_scatter>;
using Broadcast = detail::Named<Collective::broadcast>;
using Reduce = detail::Named<Collective::reduce>;
using AllToAll = detail::Named<Collective::all_to_all>;

/// Between two ranks; `path` selects the wires. `ranks` of the communicator: they set the channels of a peer, and all of them launch.
struct SendRecv {
  Bytes bytes = detail::not_given;
  Path path = Path::gpu_gpu;
  int ranks = 0;  ///< of the communicator; 0: two, and between nodes all

  operator Operation() const {  // NOLINT(google-explicit-constructor): it is one
    const bool across = path == Path::nic;
    return {.collective = Collective::send_recv,
            .bytes = bytes,
            .ranks = ranks == 0 && !across ? 2 : ranks,
            .nodes = across ? 2 : 1,
            .path = path};
  }
};

}  // namespace fabricost::core

namespace fabricost {
using core::AllGather;
using core::AllReduce;
using core::AllToAll;
using core::Broadcast;
using core::Operation;
using core::Reduce;
using core::ReduceScatter;
using core::SendRecv;
}  // namespace fabricost
