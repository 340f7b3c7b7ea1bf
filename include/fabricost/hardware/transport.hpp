#pragma once
/// \file transport.hpp
/// How messages get from a GPU to the network. Each transport is one file of data/transports; prices, choices
/// and fits use these properties of it.

#include <fabricost/label.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace fabricost {

/// Networks of one kind share constants if one of them was not measured: virtual machines over a cloud's
/// Ethernet, RDMA by the card over a lossless fabric.
enum class NetworkKind : unsigned char { lossless, cloud, other };
inline constexpr std::array<std::string_view, 3> network_kind_names{"lossless", "cloud", "other"};

/// One built in code has no kind and carries every protocol; load_transport (specs/load.hpp) reads a shipped
/// one.
struct Transport {
  Label name = "unknown";
  Label shares{};    ///< the transport whose constants it has and with which it is fitted; empty: its own
  Label relative{};  ///< the transport whose constants are the prior of its fit; empty: none
  NetworkKind network = NetworkKind::other;
  bool ll128 = true;              ///< NCCL's LL128 runs over it
  bool sockets = false;           ///< carried by TCP
  bool roce = false;              ///< RDMA over an Ethernet that has to be set up for it
  bool infiniband_ports = false;  ///< its switches have InfiniBand's ports, else Ethernet's

  /// The transport whose constants it has.
  [[nodiscard]] constexpr const Label& family() const { return shares.empty() ? name : shares; }
};
[[nodiscard]] constexpr std::string_view name(const Transport& t) { return t.name.view(); }

}  // namespace fabricost
