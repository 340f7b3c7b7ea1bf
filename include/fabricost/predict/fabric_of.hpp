#pragma once
/// The part of a System that a group of ranks uses, as plain numbers.

#include <fabricost/error.hpp>
#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/slice.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/predict/lost_nics.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/pcie.hpp>

#include <array>
#include <span>
#include <utility>

namespace fabricost::core {

namespace detail {

/// The first tier of every role, found in one pass. \throws nothing
class FirstTiers {
 public:
  explicit FirstTiers(const System& system) {
    for (std::size_t i = system.tiers.size(); i-- > 0;) first_[static_cast<std::size_t>(system.tiers[i].role) % all] = &system.tiers[i];
  }
  [[nodiscard]] const Tier* operator[](TierRole role) const { return first_[static_cast<std::size_t>(role)]; }
  /// The tier that host_tier returns for a system.
  [[nodiscard]] const Tier* host() const {
    if (const Tier* c2c = (*this)[TierRole::c2c]) return c2c;
    return pcie();
  }
  /// The tier that pcie_tier returns for a system.
  [[nodiscard]] const Tier* pcie() const;

 private:
  static constexpr std::size_t all = 8;  ///< a role that is none stays inside the array, until check(system) refuses it
  static_assert(tier_role_names.size() <= all);
  std::array<const Tier*, all> first_{};
};

/// Share of their rate that network tiers above the NICs leave. A switch of oversubscription o forwards 1/o
/// of the traffic from below: of the NIC rate of the m domains below it, 1/o goes up, with o the product over
/// the tiers passed. A ring or tree needs one full stream out of it: share m/o. An exchange sends (1 - m/N)
/// of its traffic out of it: share (1 - 1/N) / (o (1 - m/N)) of the NICs' rate. Traffic below one switch uses
/// none of its uplinks. An oversubscription counts ports: where those of the tier above are slower than those
/// below, as much less goes up. Where only some NICs of the domains send, as much less comes from below a switch
/// that joins all of them; one of a rail has the same NIC of every domain below it, unless this domain has lost it.
/// \param reached rate that reaches the NICs over their own rate, at most 1 \param sending NICs that send over all NICs
void describe_network(Fabric& f, const System& system, const Tier& nic, double reached, double sending);

/// The block of a torus with n chips, parts of its axes that divide them, over which an exchange is shortest; zeros where there is none.
[[nodiscard]] std::array<int, 3> block_of_torus(const Tier& tier, int n);

}  // namespace detail

/// Number of nodes that hold the ranks.
[[nodiscard]] int nodes_of(const Levels& levels, int per_node);

/// Devices of a tier, those that are lost among them.
[[nodiscard]] inline double devices_of(const Tier& tier) { return static_cast<double>(tier.endpoints) + tier.lost; }
/// The same as exchanges feel them: with fewer NICs than GPUs, and not as many for each, some GPUs have none of their own, as after a loss.
[[nodiscard]] inline double devices_of(const Tier& tier, int gpus) {
  const int made = tier.endpoints + tier.lost;
  return made > 0 && made < gpus && gpus % made != 0 ? gpus : made;
}

/// Without GPUDirect what a node sends is written to its memory and read from it, and so is what arrives: four passes. NCCL's planning
/// knows nothing of it. \param nodes whose memory the ranks of a domain have to themselves
void bound_by_host_memory(Fabric& f, const System& system, double nodes);

/// Ranks per domain and number of domains. \throws RequestError when they do not divide.
[[nodiscard]] Levels levels_of(const System& system, int ranks, int nodes);

/// The fabric of an operation with ranks placed as in `levels`: ranks per domain, domains.
/// \throws RequestError when the machine has no links to join them.
[[nodiscard]] Fabric fabric_on(const System& system, const Operation& op, const Levels& levels);

/// \throws RequestError when the ranks do not divide or the machine has no links to join them.
[[nodiscard]] Fabric fabric_of(const System& system, const Operation& op);

}  // namespace fabricost::core

namespace fabricost {
using core::fabric_of;
using core::levels_of;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/predict/fabric_of-inl.hpp>
#endif
