#pragma once
/// \file parameters-inl.hpp
/// Bodies of parameters.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/hardware/parameters.hpp>

namespace fabricost::core {

FABRICOST_BODY std::span<const Parameter> parameters_of(ConstantSet set) {
  switch (set) {
    case ConstantSet::scale_up: return scale_up_parameters;
    case ConstantSet::pcie: return pcie_parameters;
    case ConstantSet::transport: return transport_parameters;
    case ConstantSet::compute: return compute_parameters;
    case ConstantSet::custom: return custom_parameters;
    case ConstantSet::moe: return moe_parameters;
  }
  return {};
}

}  // namespace fabricost::core
