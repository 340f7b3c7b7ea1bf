#pragma once
/// \file in_network-inl.hpp
/// Bodies of in_network.hpp.

#include <fabricost/algorithms/in_network.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core::algorithms {

FABRICOST_BODY const char* Nvls::why_not(const Case& p) {
  if (const char* why = not_for(p.collective)) return why;
  if (!p.at.in_switch) return "the switches of this domain do not reduce";
  if (p.at.domains() > 1) return "between domains in-switch reduction is called nvls_tree";
  if (p.byte_wide && reduces(p.collective)) return "in-switch reduction exists for 16- and 32-bit types";
  return p.simple ? nullptr : "in-switch reduction runs Simple only";
}

FABRICOST_BODY void Nvls::add_phases(Schedule& out, const Connectivity& at) {
  const double n = at.levels.size(0);
  const bool both = out.collective == Collective::all_reduce;
  // one direction carries a rank's own part up, the other the result down; the busier one counts
  out.add({.level = 0,
           .steps = both ? 2.0 : 1.0,
           .bytes = both ? 1 + 1 / n : 1,
           .message = 1 / n,
           .reduces = reduces(out.collective) ? 1.0 : 0.0});
}

FABRICOST_BODY const char* NvlsTree::why_not(const Case& p) {
  if (const char* why = not_for(p.collective)) return why;
  if (!p.at.in_switch) return "the switches of this domain do not reduce";
  if (p.at.domains() <= 1) return "nvls_tree needs more than one domain";
  if (p.byte_wide) return "in-switch reduction exists for 16- and 32-bit types";
  return p.simple ? nullptr : "in-switch reduction runs Simple only";
}

FABRICOST_BODY void NvlsTree::add_phases(Schedule& out, const Connectivity& at) {
  const Levels& levels = at.levels;
  const double g = levels.size(0);
  const double N = levels.ranks() / g;
  out.add({.level = 0, .steps = 2, .bytes = 1 + 1 / g, .message = 1 / g, .reduces = 1});
  for (int level = 1; level < levels.count; ++level) {
    const double hops = std::log2(levels.size(level));
    out.add({.level = level, .steps = 2 * hops, .bytes = fullest_of_two_trees(N), .message = 1 / g, .forwards = hops, .reduces = hops});
  }
}

}  // namespace fabricost::core::algorithms
