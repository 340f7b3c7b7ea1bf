#pragma once
/// All (algorithm, protocol) pairs that exist for a collective on a fabric: those that can be forced, and
/// those `fastest` searches.

#include <fabricost/choice/releases.hpp>
#include <fabricost/fixed_list.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/protocol.hpp>

#include <array>

namespace fabricost::core {

struct Candidates {
  static constexpr int capacity = 3 * algorithm_count;  ///< each under each protocol
  int count = 0;
  std::array<Candidate, capacity> items{};

  constexpr void add(Algorithm algorithm, Protocol protocol) {
    if (count >= capacity) refuse_item(capacity);
    items[static_cast<std::size_t>(count++)] = {algorithm, protocol};
  }
  [[nodiscard]] constexpr const Candidate* begin() const { return items.data(); }
  [[nodiscard]] constexpr const Candidate* end() const { return items.data() + count; }
};

/// LL128 needs stores that arrive in order: NVLink inside, and between nodes a GPU-NIC path that avoids the
/// host bridge. The files of data/transports say which transports run without LL128; of GPUs, Volta runs it
/// (NCCL 2.8.4 on nodes of 4 V100 with EDR: no jump of ring LL between 64 KiB and 1 MiB) and Pascal is assumed to run without.
[[nodiscard]] bool has_ll128(const Fabric& f);

namespace detail {
template <class A>
[[nodiscard]] const char* why_not(Protocol protocol, Collective op, const Fabric& f, bool byte_wide) {
  if (protocol == Protocol::ll128 && (is_exchange(op) || !has_ll128(f))) return "LL128 does not run on this path";
  if (lacks(f, nccl_from(Algorithm{place_of<A>}))) return "a later release of NCCL brings it";
  if (!A::reaches_neighbours && f.neighbours_only && f.local() > 2 && f.domains() <= 1 && op != Collective::send_recv)
    return "chips of a torus reach only their neighbours directly";
  return algorithms::why_not<A>({.collective = op, .at = f, .simple = protocol == Protocol::simple, .byte_wide = byte_wide});
}
}  // namespace detail

/// Why a pair cannot run here; nullptr if it can.
[[nodiscard]] const char* why_not(Candidate c, Collective op, const Fabric& f, bool byte_wide);

/// Every pair that can run.
[[nodiscard]] Candidates possible_candidates(Collective op, const Fabric& f, bool byte_wide);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/choice/candidates-inl.hpp>
#endif
