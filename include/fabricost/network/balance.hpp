#pragma once
/// \file balance.hpp
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

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// The way in which a network spreads flows over equal links.
enum class Balancing : unsigned char {
  even,    ///< per packet: adaptive routing (InfiniBand, Spectrum-X) or spraying (Ultra Ethernet, EFA's SRD)
  hashed,  ///< per flow: ECMP by the header, as plain RoCE runs
};

namespace detail {

inline void check_balls(double flows, double paths) {
  if (!(flows >= 0) || std::isinf(flows)) throw RequestError("the number of flows must be zero or more");
  if (!(paths >= 1) || std::isinf(paths)) throw RequestError("flows need at least one path");
}

/// P(no link has more than k of f flows on p links), link by link: with m flows left for b links, each goes
/// to the next link with probability 1/b.
[[nodiscard]] inline double none_above(int flows, int paths, int k) {
  std::vector<double> left(static_cast<std::size_t>(flows) + 1, 0), next(left.size());
  left.back() = 1;
  for (int bins = paths; bins > 1; --bins) {
    std::fill(next.begin(), next.end(), 0.0);
    const double p = 1.0 / bins, ratio = p / (1 - p);
    for (int m = 0; m <= flows; ++m) {
      const double here = left[static_cast<std::size_t>(m)];
      if (here == 0) continue;
      double term = std::pow(1 - p, m);  // binomial(m, j) p^j (1 - p)^(m - j)
      for (int j = 0; j <= std::min(k, m); ++j) {
        next[static_cast<std::size_t>(m - j)] += here * term;
        term *= ratio * (m - j) / (j + 1);
      }
    }
    left.swap(next);
  }
  double out = 0;
  for (int m = 0; m <= std::min(k, flows); ++m) out += left[static_cast<std::size_t>(m)];
  return std::min(1.0, out);
}

/// The same with the links as independent Poisson variables, for numbers too large for the exact count.
[[nodiscard]] inline double none_above_poisson(double mean, double paths, double k) {
  double term = std::exp(-mean), sum = term;
  for (int j = 1; j <= static_cast<int>(k); ++j) sum += term *= mean / j;
  return std::pow(std::min(1.0, sum), paths);
}

}  // namespace detail

/// E[max]: flows on the fullest of `paths` equal links when `flows` are hashed on them. Exact for whole
/// numbers up to f p = 4,096 with f <= 256; beyond that from independent Poisson links (1 % off at f = p =
/// 64); above a mean of 200 flows per link the asymptote below.
/// \throws RequestError for a negative number of flows or less than one path
[[nodiscard]] inline double expected_max_load(double flows, double paths);

/// The limit for many links (Raab & Steger, "Balls into Bins: A Simple and Tight Analysis", RANDOM 1998):
///   f << p ln p   ln p / ln((p ln p) / f)          f = p: ln p / ln ln p
///   f >> p ln p   f/p + sqrt(2 (f/p) ln p)
/// \throws as expected_max_load
[[nodiscard]] inline double max_load_asymptote(double flows, double paths) {
  detail::check_balls(flows, paths);
  if (flows == 0) return 0;
  const double mean = flows / paths, logs = std::log(paths);
  if (paths < 3) return mean + std::sqrt(2 * mean * logs);
  return mean < logs / 2 ? std::max(1.0, logs / std::log(logs / mean)) : mean + std::sqrt(2 * mean * logs);
}

inline double expected_max_load(double flows, double paths) {
  detail::check_balls(flows, paths);
  if (flows == 0 || paths == 1) return flows;
  const double mean = flows / paths;
  if (mean > 200) return max_load_asymptote(flows, paths);
  const bool whole = flows == std::floor(flows) && paths == std::floor(paths);
  const bool exact = whole && flows * paths <= 4096 && flows <= 256;
  if (flows < 1) return flows;  // a fraction of one flow: its expected load
  double out = 0;
  const int f = static_cast<int>(flows), p = static_cast<int>(std::min(paths, 1e9));
  const double max = exact ? flows : mean + 40 * std::sqrt(mean) + 40;
  for (int k = 0; k < max; ++k) {
    const double above = 1 - (exact ? detail::none_above(f, p, k) : detail::none_above_poisson(mean, paths, k));
    out += above;
    if (above < 1e-12) break;
  }
  return std::max({out, mean, 1.0});
}

/// Rate of each of `senders` that write to one port of `rate` bytes per second at once: rate / senders, at
/// most the sender's own rate. Lossless networks hold the senders back to that rate (and others behind the
/// same buffers, which is not modelled).
/// \throws RequestError for no sender or a rate that is not above zero
[[nodiscard]] inline double incast_rate(double rate, double senders, double sender_rate) {
  if (!(senders >= 1)) throw RequestError("incast needs at least one sender");
  if (!(rate > 0) || !(sender_rate > 0)) throw RequestError("a port's rate must be above zero");
  return std::min(sender_rate, rate / senders);
}

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
[[nodiscard]] inline int sharp_turns(std::string_view switches, int jobs, int per_port) {
  for (const SharpLimits& s : sharp_limits) {
    if (s.switches != switches) continue;
    if (jobs < 1 || per_port < 1 || per_port > jobs)
      throw RequestError("SHARP jobs must be at least 1, those on one port no more than all");
    if (jobs > s.streaming_trees)
      throw RequestError(std::to_string(jobs) + " streaming SHARP jobs; a subnet of " + std::string{switches} + " has trees for " +
                         std::to_string(s.streaming_trees));
    return s.one_stream_per_switch ? jobs : per_port;
  }
  throw RequestError("no SHARP limits known for \"" + std::string{switches} + "\"; known: quantum, quantum-2");
}

}  // namespace fabricost
