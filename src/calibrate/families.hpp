#pragma once
/// \file families.hpp
/// Which transports share constants: those that cannot be told apart, those one is held to, and networks of one kind.

#include <fabricost/hardware/kinds.hpp>

namespace fabricost::calibrating {

/// Transports whose public runs cannot be told apart are fitted together.
[[nodiscard]] constexpr Transport family_of(Transport t) {
  if (t == Transport::roce) return Transport::infiniband;
  if (t == Transport::efa_v3) return Transport::efa_v2;
  return t;
}

/// The transport whose constants one is held to: EFA v4 and EFA through host memory follow v2. EFA v1 does not: a step of its GPUDirect
/// costs three times one of either (p4de beside p5 and g4dn).
[[nodiscard]] constexpr Transport relative_of(Transport t) {
  return t == Transport::efa_v4 || t == Transport::efa_host ? Transport::efa_v2 : Transport::unknown;
}

/// Transports of virtual machines over a cloud's Ethernet, against RDMA by the card over a lossless fabric; RCCL's are neither.
enum class Network : unsigned char { lossless, cloud, other };
[[nodiscard]] constexpr Network network_of(Transport t) {
  switch (t) {
    case Transport::infiniband:
    case Transport::roce:
    case Transport::slingshot:
    case Transport::omnipath: return Network::lossless;
    case Transport::efa_host:
    case Transport::efa_v1:
    case Transport::efa_v2:
    case Transport::efa_v3:
    case Transport::efa_v4:
    case Transport::tcpx:
    case Transport::tcpxo:
    case Transport::tcp: return Network::cloud;
    default: return Network::other;
  }
}

}  // namespace fabricost::calibrating
