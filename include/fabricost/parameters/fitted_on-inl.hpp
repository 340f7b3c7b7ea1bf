#pragma once
/// \file fitted_on-inl.hpp
/// Bodies of fitted_on.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/parameters/fitted_on.hpp>

namespace fabricost::core {

FABRICOST_BODY void add_measured(std::vector<FittedOn>& all, std::string_view system, int domain, std::size_t place) {
  for (FittedOn& one : all)
    if (one.system == system) {
      one.measured |= 1U << place;
      return;
    }
  all.push_back({std::string{system}, domain, 1U << place});
}

FABRICOST_BODY MeasuredOperations measured_operations_of(std::span<const FittedOn> all, std::string_view system, int domain, bool named) {
  if (all.empty()) return {};
  MeasuredOperations out{0, 0, 0};
  for (const FittedOn& one : all) {
    out.anywhere |= one.measured;
    if (one.domain == domain) out.alike |= one.measured;
    if (one.system == system || (named && all.size() == 1)) out.here |= one.measured;
  }
  return out;
}

FABRICOST_BODY MeasuredOperations with_earlier_measurements(MeasuredOperations own, std::size_t machines, const MeasuredOperations& before, Basis basis_before) {
  if (machines != 1 || basis_before == Basis::datasheet) return own;
  own.alike |= before.alike;
  own.anywhere |= before.anywhere;
  return own;
}

}  // namespace fabricost::core
