#pragma once
/// \file related-inl.hpp
/// Bodies of related.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/parameters/related.hpp>

namespace fabricost::core {

FABRICOST_BODY void stretch_prior(ConstantSet set, Constants& c) {
  const Constants prior;
  for (const Parameter& p : parameters_of(set))
    if (p.fitted != FitTreatment::form) p.of(c) = p.value(prior) * detail::stretch(p, c) / detail::stretch(p, prior);
}

}  // namespace fabricost::core
