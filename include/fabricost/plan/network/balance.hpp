#pragma once
/// The spread of flows over parallel links and the cost of an uneven one: ECMP hashing, adaptive
/// routing and packet spraying, incast, and the number of SHARP trees a switch can run.
///
/// A switch that hashes flow headers sends each flow whole over one of p equal links. The number of f
/// independently hashed flows on the fullest link is the maximum of a multinomial:
///
///   P(max <= k) = f! / p^f x [x^f] (sum_{j <= k} x^j / j!)^p,   E[max] = sum_k P(max > k)
///
/// Flows of a collective wait for each other, so all run at the rate of the slowest: 1 / E[max] of a link's
/// rate each; spraying packets gives min(1, p/f). Dependent hashes and flows of unequal size are worse.

#include <fabricost/error.hpp>

#include <array>
#include <cmath>
#include <string_view>

namespace fabricost::plan {

/// The way in which a network spreads flows over equal links.
enum class Balancing : unsigned char {
  even,    ///< per packet: adaptive routing (InfiniBand, Spectrum-X) or spraying (Ultra Ethernet, EFA's SRD)
  hashed,  ///< per flow: ECMP by the header, as plain RoCE runs
};

namespace detail {

/// P(no link has more than k of f flows on p links), link by link: with m flows left for b links, each goes
/// to the next link with probability 1/b.
[[nodiscard]] double none_above(int flows, int paths, int k);

}  // namespace detail

/// E[max]: flows on the fullest of `paths` equal links when `flows` are hashed on them. Exact for whole
/// numbers up to f p = 4,096 with f <= 256; beyond that from independent Poisson links (1 % off at f = p =
/// 64); above a mean of 200 flows per link the asymptote below.
/// \throws RequestError for a negative number of flows or less than one path
[[nodiscard]] double expected_max_load(double flows, double paths);

/// The limit for many links (Raab & Steger, "Balls into Bins: A Simple and Tight Analysis", RANDOM 1998):
///   f << p ln p   ln p / ln((p ln p) / f)          f = p: ln p / ln ln p
///   f >> p ln p   f/p + sqrt(2 (f/p) ln p)
/// \throws as expected_max_load
[[nodiscard]] double max_load_asymptote(double flows, double paths);

/// Rate of each of `senders` that write to one port of `rate` bytes per second at once: rate / senders, at
/// most the sender's own rate. Lossless networks hold the senders back to that rate (and others behind the
/// same buffers, which is not modelled).
/// \throws RequestError for no sender or a rate that is not above zero
[[nodiscard]] double incast_rate(double rate, double senders, double sender_rate);

/// Aggregation limits of a generation of InfiniBand switches (NVIDIA SHARP Rev 3.13.0, "General Information",
/// device capabilities).
struct SharpLimits {
  std::string_view switches;
  int streaming_trees = 0;             ///< in a subnet
  bool one_stream_per_switch = false;  ///< else one active streaming tree per port
};
inline constexpr std::array<SharpLimits, 2> sharp_limits{{{"quantum", 63, true}, {"quantum-2", 511, false}}};

/// Turns that `jobs` simultaneous streaming all-reduces need on one switch when at most `per_port` of them
/// pass the same port: 1 when all run side by side. \throws RequestError for a switch without known limits,
/// or more jobs than the subnet has trees
[[nodiscard]] int sharp_turns(std::string_view switches, int jobs, int per_port);

}  // namespace fabricost::plan

namespace fabricost {
using plan::Balancing;
using plan::expected_max_load;
using plan::incast_rate;
}  // namespace fabricost
