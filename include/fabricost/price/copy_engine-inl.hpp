#pragma once
/// \file copy_engine-inl.hpp
/// Bodies of copy_engine.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/copy_engine.hpp>

namespace fabricost::core {

FABRICOST_BODY Line price_copy_engine(const Fabric& f, bool multicast, bool captured) {
  const double n = f.ranks(), others = (n - 1) / n;
  const CopyStart own = copy_start(f.generation, multicast, captured);
  Line line;
  line.add_base_part(TermKind::launch, 0, 1, own.start);
  line.add_base_part(TermKind::peers, 0, n, own.rank);
  line.add_rate_part(TermKind::wire, 0, multicast ? 1 : others, 1 / (prior::ways::ce_share * f.full_rate));
  line.min = others / f.full_rate;
  return line;
}

}  // namespace fabricost::core
