#pragma once
/// \file put-inl.hpp
/// Bodies of put.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/put.hpp>

namespace fabricost::core {

FABRICOST_BODY Line price_put(const Fabric& f, bool by_gpu, double messages, bool seen) {
  namespace k = prior::ways;
  const double rate = f.outer_rate / std::max(1.0, f.local());
  Line line;
  line.wire_level = 1;
  line.add_base_part(TermKind::launch, 1, 1, k::put_start - (seen ? 0 : k::put_local));
  if (!by_gpu) {
    line.add_base_part(TermKind::steps, 1, messages, k::put_post);
    line.early_rate = k::proxy_extra / rate;
    line.early = k::proxy_until;
  }
  line.add_rate_part(TermKind::wire, 1, 1, 1 / (k::put_share * rate));
  line.min = 1 / rate;
  return line;
}

}  // namespace fabricost::core
