#pragma once
/// The way of messages from a GPU to the network. Each transport is one file of data/transports; prices,
/// choices and fits use these properties.

#include <fabricost/label.hpp>

#include <array>
#include <cstddef>
#include <string_view>

#include <fabricost/hardware/shipped_plugin_names.inc>

namespace fabricost::core {

[[nodiscard]] constexpr std::string_view name(TunerPlugin plugin) { return tuner_plugin_names[static_cast<std::size_t>(plugin)]; }

/// Networks of one kind share constants where a transport has no measurements: virtual machines over a
/// cloud's Ethernet, or RDMA by the card over a lossless fabric.
enum class NetworkKind : unsigned char { lossless, cloud, other };
inline constexpr std::array<std::string_view, 3> network_kind_names{"lossless", "cloud", "other"};

/// A transport built in code has network kind `other` and supports every protocol; load_transport
/// (specs/load.hpp) reads a shipped one.
struct Transport {
  Label name = "unknown";
  Label shares{};    ///< the transport whose constants and fit it shares; empty: its own
  Label relative{};  ///< the transport whose constants are the prior of its fit; empty: none
  Label older{};     ///< the transport that releases of the library up to `older_until` are, for measured points; empty: none
  NetworkKind network = NetworkKind::other;
  bool ll128 = true;              ///< NCCL's LL128 runs over it
  bool sockets = false;           ///< carried by TCP
  bool roce = false;              ///< RDMA over Ethernet, which has to be configured for it
  bool infiniband_ports = false;  ///< its switches have InfiniBand ports, otherwise Ethernet
  int older_until = 0;  ///< as 2022 for 2.22
  TunerPlugin plugin = TunerPlugin::none;  ///< that NCCL asks over it, unless the NIC tier says otherwise

  /// The transport whose constants it uses.
  [[nodiscard]] constexpr const Label& family() const { return shares.empty() ? name : shares; }
};
[[nodiscard]] constexpr std::string_view name(const Transport& t) { return t.name.view(); }

}  // namespace fabricost::core

namespace fabricost {
using core::NetworkKind;
using core::Transport;
}  // namespace fabricost
