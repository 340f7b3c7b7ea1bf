#pragma once
/// \file prediction-inl.hpp
/// Bodies of prediction.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/predict/prediction.hpp>

namespace fabricost::core {

FABRICOST_BODY const Term& largest(const Terms& terms) {
  static constexpr Term none{};
  const Term* out = &none;
  for (const Term& term : terms)
    if (term.time > out->time) out = &term;
  return *out;
}

}  // namespace fabricost::core
