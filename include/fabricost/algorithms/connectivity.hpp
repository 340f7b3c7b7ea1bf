#pragma once
/// The topology an algorithm may see of a machine: how the ranks of a collective are grouped and joined. It
/// holds no rates and no latencies.

#include <fabricost/algorithms/schedule.hpp>

#include <array>
#include <cassert>
#include <cstddef>
#include <span>

namespace fabricost::core {

struct Connectivity {
  Levels levels;                 ///< ranks of a domain, domains
  bool in_switch = false;        ///< the domain's switches reduce and multicast
  bool sharp = false;            ///< the network's switches reduce
  bool neighbours_only = false;  ///< a torus or ring: a message to a more distant rank uses the links in between
  bool wrap = true;              ///< of a torus
  unsigned char open_axes = 0;   ///< a bit for each axis that does not close though others do
  int torus_axes = 0;            ///< number of axes if the domain is a whole torus
  std::array<int, 3> torus{};

  // not constexpr: g++ 12 would then clear the whole object before it writes the members
  Connectivity() noexcept {}  // NOLINT(modernize-use-equals-default): defaulted, it would be constexpr
  Connectivity(const Levels& grouped) noexcept : levels(grouped) {}  // NOLINT(google-explicit-constructor): groups alone say how
  /// One torus. \param dims at most three axes
  Connectivity(const Levels& grouped, std::span<const int> dims, bool wraps, unsigned char open = 0) noexcept
      : levels(grouped), wrap(wraps), open_axes(open) {
    assert(dims.size() <= torus.size());
    for (const int a : dims) torus[static_cast<std::size_t>(torus_axes++)] = a;
  }

  [[nodiscard]] double ranks() const { return levels.ranks(); }
  [[nodiscard]] double local() const { return levels.size(0); }                           ///< g
  [[nodiscard]] double domains() const { return levels.count > 1 ? levels.size(1) : 1; }  ///< N
  [[nodiscard]] bool closes(std::size_t axis) const { return wrap && (open_axes >> axis & 1U) == 0; }
  [[nodiscard]] std::span<const int> dims() const { return {torus.data(), static_cast<std::size_t>(torus_axes)}; }
};

}  // namespace fabricost::core

namespace fabricost {
using core::Connectivity;
}  // namespace fabricost
