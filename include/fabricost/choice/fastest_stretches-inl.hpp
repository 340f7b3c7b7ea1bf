#pragma once
/// \file fastest_stretches-inl.hpp
/// Bodies of fastest_stretches.hpp.

#include <fabricost/choice/fastest_stretches.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core::detail {

FABRICOST_BODY double towards_size(double from, double at, double next) {
  if (!(at < from)) return next;
  const double before = std::nextafter(from, 0);
  return std::min(next, at < before ? before : from);
}

FABRICOST_BODY double towards_jumps(const Line& line, double at, double next) {
  for (const Jump& jump : line.jumps) next = towards_size(jump.until, at, towards_size(jump.from, at, next));
  return next;
}

}  // namespace fabricost::core::detail
