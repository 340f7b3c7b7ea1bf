#pragma once
/// One link: lanes, line rate, encoding and packet overhead, which give its payload rate in one direction.
///
///   bandwidth  = lanes x lane_rate x encoding / 8             the rate in a datasheet, one way
///   efficiency = payload / (payload + header)                 fraction that packets leave
///
/// PCIe 5 x16: 16 x 32 Gbit/s x 128/130 / 8 = 63.0 GB/s; 256-byte packets with 24-byte headers leave 57.6.

#include <fabricost/hardware/provenance.hpp>
#include <fabricost/label.hpp>
#include <fabricost/units.hpp>

#include <string>

namespace fabricost::core {

struct Link {
  std::string name;
  std::string title;
  std::string family;  ///< nvlink, pcie, infiniband, ...
  int lanes = 1;       ///< per direction
  Sourced<LineRate> lane_rate;
  double encoding = 1;  ///< data bits per line bit, in (0, 1]
  Sourced<Bandwidth> bandwidth;
  Sourced<Bandwidth> usable;  ///< NCCL's planning rate; zero when unknown
  Bytes packet_payload{};     ///< zero when the link's packets are not modelled
  Bytes packet_header{};
  Sourced<Time> latency;  ///< one hop; zero when unknown

  /// payload / (payload + header); 1 when packets are not modelled.
  [[nodiscard]] double efficiency() const {
    if (packet_payload.value() <= 0) return 1;
    return packet_payload.value() / (packet_payload.value() + packet_header.value());
  }
};

}  // namespace fabricost::core

namespace fabricost {
using core::Link;
}  // namespace fabricost
