#pragma once
/// \file traffic_partners.hpp
/// Algorithms whose ranks talk to one partner a step: who that is and how much goes there, added up over the steps.
///
///   halving_doubling, rabenseifner   the partner 2^i away gets S/2, S/4, ...; far or near partners first
///   bruck                all_to_all: the rank 2^i further gets the blocks whose way has that bit; all_gather: the rank 2^i back gets
///                        min(2^i, n - 2^i) blocks (Bruck et al. 1997)
///   pat                  the rank 2^i further gets one block of every second run of 2^i (NVIDIA/nccl 2.23, PAT); the way back when
///                        reducing
///   recursive_doubling   level by level, partners 2^i away swap all of S; places beyond the power of two fold into one below and back
///   hierarchical         of an all_to_all: inside each domain to the rank in the receiver's place, then across among equal places

#include <fabricost/network/traffic_counter.hpp>

#include <bit>

namespace fabricost {

inline void TrafficCounter::halving(std::span<const int> ranks, Collective collective, bool near_first) {
  const std::size_t n = ranks.size();
  if ((n & (n - 1)) != 0)
    throw RequestError("halving_doubling over " + std::to_string(n) + " ranks has no routes here; take a power of two");
  const double halves = collective == Collective::all_reduce ? 2 : 1;
  double bytes = 0.5;
  for (std::size_t step = 1; step < n; step *= 2, bytes /= 2) {
    const std::size_t distance = near_first ? step : n / 2 / step;
    for (std::size_t r = 0; r < n; ++r) send(ranks[r], ranks[r ^ distance], halves * bytes);
  }
}

inline void TrafficCounter::bruck(std::span<const int> ranks, Collective collective) {
  const std::size_t n = ranks.size();
  for (std::size_t d = 1; d < n; d *= 2) {
    const bool gathers = collective == Collective::all_gather;
    const std::size_t rest = n % (2 * d);
    const std::size_t blocks = gathers ? std::min(d, n - d) : n / (2 * d) * d + (rest > d ? rest - d : 0);
    for (std::size_t r = 0; r < n; ++r)
      send(ranks[r], ranks[gathers ? (r + n - d) % n : (r + d) % n], static_cast<double>(blocks) / static_cast<double>(n));
  }
}

inline void TrafficCounter::aggregated_trees(std::span<const int> ranks, Collective collective) {
  const std::size_t n = ranks.size();
  for (std::size_t d = 1; d < n; d *= 2) {
    const std::size_t whole = (n - 1 - d) / (2 * d) + 1;
    const auto blocks = static_cast<double>(whole);
    for (std::size_t r = 0; r < n; ++r) {
      const int near = ranks[r], far = ranks[(r + d) % n];
      collective == Collective::reduce_scatter ? send(far, near, blocks / static_cast<double>(n))
                                               : send(near, far, blocks / static_cast<double>(n));
    }
  }
}

/// Among the members of one level, all of S.
inline void TrafficCounter::swap_all(std::span<const int> members) {
  const std::size_t m = members.size(), p = std::bit_floor(m);
  for (std::size_t extra = p; extra < m; ++extra) {
    send(members[extra], members[extra - p], 1);
    send(members[extra - p], members[extra], 1);
  }
  for (std::size_t d = 1; d < p; d *= 2)
    for (std::size_t r = 0; r < p; ++r) send(members[r], members[r ^ d], 1);
}

inline void TrafficCounter::recursive_doubling(std::span<const int> ranks, const Domains& domains) {
  const bool even = std::all_of(domains.members.begin(), domains.members.end(), [&](const Group& d) { return d.size() == domains.most; });
  if (!even) return swap_all(ranks);
  for (const Group& d : domains.members) swap_all(d);
  Group across(domains.members.size());
  for (std::size_t i = 0; i < domains.most && across.size() > 1; ++i) {
    for (std::size_t d = 0; d < across.size(); ++d) across[d] = domains.members[d][i];
    swap_all(across);
  }
}

inline void TrafficCounter::two_level_exchange(const Domains& domains) {
  const std::size_t g = domains.most, N = domains.members.size();
  for (const Group& d : domains.members)
    if (d.size() != g) throw RequestError(t_.name + ": hierarchical needs as many ranks in every domain");
  for (const Group& d : domains.members) exchange(d, 1 / static_cast<double>(g));
  Group across(N);
  for (std::size_t i = 0; i < g && N > 1; ++i) {
    for (std::size_t d = 0; d < N; ++d) across[d] = domains.members[d][i];
    exchange(across, 1 / static_cast<double>(N));
  }
}

}  // namespace fabricost
