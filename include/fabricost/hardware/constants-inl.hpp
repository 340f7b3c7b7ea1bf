#pragma once
/// Bodies of constants.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/hardware/constants.hpp>

namespace fabricost::core::detail {

FABRICOST_BODY std::byte* block_of(Constants& c, ConstantSet set) {
  switch (set) {
    case ConstantSet::scale_up: return reinterpret_cast<std::byte*>(&c.scale_up);
    case ConstantSet::pcie: return reinterpret_cast<std::byte*>(&c.pcie);
    case ConstantSet::transport: return reinterpret_cast<std::byte*>(&c.transport);
    case ConstantSet::compute: return reinterpret_cast<std::byte*>(&c.compute);
    case ConstantSet::custom: return reinterpret_cast<std::byte*>(&c.custom);
    case ConstantSet::moe: break;
  }
  return reinterpret_cast<std::byte*>(&c.moe);
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY double& Parameter::of(Constants& c) const { return *reinterpret_cast<double*>(detail::block_of(c, set) + offset); }

// NOLINT: read only
FABRICOST_BODY double Parameter::value(const Constants& c) const { return of(const_cast<Constants&>(c)); }

FABRICOST_BODY TransportConstants TransportConstants::from_tree_step(double tree_step) {
  TransportConstants t = transport_prior;
  const double r = tree_step / t.tree_step;
  for (const Parameter& p : transport_parameters)
    if (p.follows > 0) *reinterpret_cast<double*>(reinterpret_cast<std::byte*>(&t) + p.offset) *= std::pow(r, p.follows);
  t.tree_step = tree_step;
  return t;
}

}  // namespace fabricost::core
