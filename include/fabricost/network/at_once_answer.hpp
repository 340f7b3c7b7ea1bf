#pragma once
/// \file at_once_answer.hpp
/// Derived answers about collectives that run at once: which link limits one, how many groups of each cross
/// it, and the turns of in-network reductions, since a fabric has a limited number of trees (balance.hpp).

#include <fabricost/network/at_once.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace fabricost::core {

/// The link that limits the most slowed-down group of a collective; null if it moves nothing.
[[nodiscard]] const ContendedLink* held_by(const ConcurrentGroups& all, const GroupedOutcome& one);

/// Groups of each collective that cross a link, in the order of the collectives.
[[nodiscard]] std::vector<int> groups_on(const ConcurrentGroups& all, const ContendedLink& link);

struct SharpTurns {
  std::string switches;  ///< whose limits apply; empty: nothing is reduced in the network, or no limits are known
  int jobs = 0;          ///< groups that reduce in the network
  int turns = 1;
};
/// \throws RequestError as topology_of and TrafficCounter::count
[[nodiscard]] SharpTurns sharp_turns_of(const System& system, int nodes, const ConcurrentGroups& all, const RouteOptions& routes);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/network/at_once_answer-inl.hpp>
#endif
