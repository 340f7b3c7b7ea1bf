#pragma once
/// \file candidates.hpp
/// Which (algorithm, protocol) pairs exist for a collective on a fabric at all: what one may force, and what `fastest` searches.

#include <fabricost/price/fabric.hpp>
#include <fabricost/price/protocol.hpp>

#include <array>
#include <cassert>

namespace fabricost {

struct Candidates {
  static constexpr int capacity = 32;  // of an operation on one fabric; 25 as of now
  int count = 0;
  std::array<Candidate, capacity> items{};

  constexpr void add(Algorithm algorithm, Protocol protocol) {
    assert(count < capacity && "raise capacity");
    if (count < capacity) items[static_cast<std::size_t>(count++)] = {algorithm, protocol};
  }
  [[nodiscard]] constexpr const Candidate* begin() const { return items.data(); }
  [[nodiscard]] constexpr const Candidate* end() const { return items.data() + count; }
};

/// LL128 needs stores that arrive in order: NVLink inside, and between nodes a GPU-NIC path that stays off the host bridge.
/// Slingshot, EFA v1 and Volta have been seen to go without it (public multi-node logs); that efa-host does as EFA v1 and Pascal as Volta
/// is assumed.
[[nodiscard]] inline bool has_ll128(const Fabric& f) {
  if (f.over_pcie || f.library == Library::oneccl) return false;
  if (f.domains() <= 1) return true;
  return !f.host_bridge && f.transport != Transport::slingshot && f.transport != Transport::efa_v1 && f.transport != Transport::efa_host &&
         f.generation != Generation::volta && f.generation != Generation::pascal;
}

/// Why a pair cannot run here, or nullptr when it can.
[[nodiscard]] inline const char* why_not(Candidate c, Collective op, const Fabric& f, bool byte_wide) {
  const bool gather_or_scatter = op == Collective::all_gather || op == Collective::reduce_scatter;
  const bool ring_like = op == Collective::all_reduce || gather_or_scatter;
  const bool exchange = is_exchange(op);
  const bool simple = c.protocol == Protocol::simple;
  if (c.protocol == Protocol::ll128 && (exchange || !has_ll128(f))) return "LL128 does not run on this path";
  if (f.neighbours_only && f.local() > 2 && f.domains() <= 1 && c.algorithm != Algorithm::ring && c.algorithm != Algorithm::hierarchical &&
      c.algorithm != Algorithm::torus_bucket && op != Collective::send_recv)
    return "chips of a torus reach only their neighbours directly";
  switch (c.algorithm) {
    case Algorithm::ring: return exchange ? "a ring cannot exchange point to point" : nullptr;
    case Algorithm::tree:
      return op == Collective::all_reduce || op == Collective::broadcast || op == Collective::reduce
                 ? nullptr
                 : "trees exist for all_reduce, broadcast and reduce";
    case Algorithm::nvls:
      if (!ring_like) return "in-switch reduction exists for all_reduce, all_gather and reduce_scatter";
      if (!f.in_switch) return "the switches of this domain do not reduce";
      if (f.domains() > 1) return "between domains in-switch reduction is called nvls_tree";
      if (byte_wide && reduces(op)) return "in-switch reduction exists for 16- and 32-bit types";
      return simple ? nullptr : "in-switch reduction runs Simple only";
    case Algorithm::nvls_tree:
      if (op != Collective::all_reduce) return "nvls_tree exists for all_reduce";
      if (!f.in_switch) return "the switches of this domain do not reduce";
      if (f.domains() <= 1) return "nvls_tree needs more than one domain";
      if (byte_wide) return "in-switch reduction exists for 16- and 32-bit types";
      return simple ? nullptr : "in-switch reduction runs Simple only";
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      if (!ring_like || (gather_or_scatter && c.algorithm == Algorithm::collnet_chain)) return "CollNet does not offer this operation";
      if (f.domains() <= 1) return "CollNet needs more than one domain";
      if (!f.sharp) return "this network offers no in-network reduction (nic.sharp is false)";
      return simple ? nullptr : "CollNet runs Simple only";
    case Algorithm::pat:
      if (!gather_or_scatter) return "PAT exists for all_gather and reduce_scatter";
      if (f.local() > 1 || f.domains() <= 1) return "PAT needs one rank per node";
      return simple ? nullptr : "PAT runs Simple only";
    case Algorithm::halving_doubling:
    case Algorithm::rabenseifner: return ring_like ? nullptr : "halving and doubling exist for all_reduce, all_gather and reduce_scatter";
    case Algorithm::bruck:
      return op == Collective::all_to_all || op == Collective::all_gather ? nullptr : "Bruck exists for all_to_all and all_gather";
    case Algorithm::pairwise: return op == Collective::all_to_all ? nullptr : "pairwise exists for all_to_all";
    case Algorithm::direct:
      return exchange || gather_or_scatter ? nullptr : "direct exists for all_to_all, send_recv, all_gather and reduce_scatter";
    case Algorithm::torus_bucket:
      if (f.torus_axes < 2) return "this is no whole 2-D or 3-D torus (a slice needs a spec with its own dims)";
      if (f.domains() > 1) return "the bucket algorithm stays inside one torus";
      return ring_like || op == Collective::all_to_all ? nullptr : "the bucket algorithm exists for collectives over all chips";
    case Algorithm::one_shot:
    case Algorithm::two_shot:
      if (op != Collective::all_reduce) return "one_shot and two_shot exist for all_reduce";
      return f.domains() > 1 ? "peers' memory is only in reach inside one domain" : nullptr;
    case Algorithm::hierarchical:
      if (op == Collective::all_to_all) {
        if (f.domains() <= 1 || f.local() <= 1) return "an all_to_all in two levels needs several domains of several ranks";
        if (f.neighbours_only) return "chips of a torus reach only their neighbours directly";
        return simple ? nullptr : "an all_to_all in two levels runs Simple only";
      }
      return ring_like ? nullptr : "hierarchical exists for all_reduce, all_gather, reduce_scatter and all_to_all";
    case Algorithm::recursive_doubling: return op == Collective::all_reduce ? nullptr : "recursive doubling exists for all_reduce";
  }
  return "unknown algorithm";
}

/// Every pair that can run.
[[nodiscard]] inline Candidates possible_candidates(Collective op, const Fabric& f, bool byte_wide) {
  Candidates out;
  for (int a = 0; a < algorithm_count; ++a)
    for (const Protocol p : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      const Candidate c{static_cast<Algorithm>(a), p};
      if (why_not(c, op, f, byte_wide) == nullptr) out.add(c.algorithm, c.protocol);
    }
  return out;
}

}  // namespace fabricost
