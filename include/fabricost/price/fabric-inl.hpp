#pragma once
/// \file fabric-inl.hpp
/// Bodies of fabric.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/fabric.hpp>

namespace fabricost::core {

FABRICOST_BODY bool changes_to_two_shot(Collective op, const Fabric& f) {
  return op == Collective::all_reduce && changes_by_size(f) && f.ring_until > 0;
}

}  // namespace fabricost::core
