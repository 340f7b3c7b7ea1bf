#pragma once
/// All groups of a layout communicating at once: every tensor-parallel, data-parallel or expert-parallel
/// group of a machine runs its collective at the same time.
///
///   groups      all GPUs cut into groups of `size`, members `stride` apart (strided_groups)
///   alone       predict() of one group: its ranks on the nodes they lie on
///   beside      alone + (slow-down - 1) x its wire terms (contended_time)
///   slow-down   by max-min sharing on the real routes (contention), times what these put on their fullest link over what adaptive, even
///               routes between neighbours put there (on a torus, over what predict's schedule does)
///   end         until its last group has ended, its links shared anew whenever another ends (until_end.hpp)
///
/// The slow-down holds while all of them run. A prediction assumes that the group's nodes are neighbours and routes are adaptive; the
/// slow-down uses the routes of the GPUs themselves.

#include <fabricost/choice/choice.hpp>
#include <fabricost/hardware/slice.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/network/concurrent.hpp>
#include <fabricost/plan/network/until_end.hpp>
#include <fabricost/predict/predict.hpp>

#include <span>
#include <string>
#include <vector>

namespace fabricost::plan {

/// One collective that every group of the machine runs.
struct GroupedCollective {
  std::string name{};     ///< for people
  Operation operation{};  ///< ranks and nodes are worked out
  Choice choice{};
  int size = 0;       ///< ranks per group; 0: all GPUs
  int stride = 1;     ///< from member to member
  double weight = 1;  ///< share of a link it gets relative to the others
};

/// A collective with its most and its least slowed-down group.
struct GroupedOutcome {
  Prediction alone;
  int groups = 0, size = 0;
  int worst = 0;         ///< index into ConcurrentGroups::flat
  double slow_down = 1;  ///< of the worst
  double least_slow_down = 1;
  double seconds = 0;    ///< of the worst, beside the others as long as all of them run
  double end = 0;        ///< seconds until its last group has ended
  double by_itself = 0;  ///< the same with its own groups only
};

struct ConcurrentGroups {
  std::vector<ConcurrentCollective> flat;  ///< every group of every collective, in order
  std::vector<int> of;                     ///< which collective each of `flat` belongs to
  Contention contention;
  std::vector<GroupedOutcome> outcomes;  ///< one for each collective
  double end = 0;      ///< seconds until all have ended
  double in_turn = 0;  ///< one collective after the other
};

/// All groups of all `collectives` at once on `nodes` nodes of a machine (0: all it has).
/// \throws RequestError for more nodes than a cluster has; as topology_of, strided_groups, predict and
/// contention, with the collective's name
[[nodiscard]] ConcurrentGroups at_once(const System& system, int nodes, std::span<const GroupedCollective> collectives,
                             const ConcurrentOptions& options = {});

}  // namespace fabricost::plan

namespace fabricost {
using plan::ConcurrentGroups;
using plan::GroupedCollective;
using plan::GroupedOutcome;
using plan::at_once;
}  // namespace fabricost
