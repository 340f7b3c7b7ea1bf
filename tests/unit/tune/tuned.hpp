#pragma once
// The advice of tune for a machine in memory, and what its rows name.
#include <fabricost/algorithms/registry.hpp>
#include <fabricost/plan/answers/tune.hpp>
#include <fabricost/price/protocol.hpp>

#include <memory>

namespace tuned {

namespace core = fabricost::core;
namespace plan = fabricost::plan;

inline plan::TuneAnswer tune(const core::System& system, plan::TuneRequest request = {}) {
  request.system = system;
  return answer(request);
}

inline core::Candidate now(const plan::SlowChoice& r) { return {*core::parse_algorithm(r.algorithm), *core::parse_protocol(r.protocol)}; }
inline core::Candidate better(const plan::SlowChoice& r) {
  return {*core::parse_algorithm(r.better_algorithm), *core::parse_protocol(r.better_protocol)};
}
inline core::Collective collective(const plan::SlowChoice& r) { return *core::parse_collective(r.operation); }
inline core::DataType dtype(const plan::TuneAnswer& found) { return *core::parse_data_type(found.dtype); }

/// The range of an operation that a size lies in; nullptr: none.
inline const plan::SlowChoice* range_at(const plan::TuneAnswer& found, core::Collective c, double bytes) {
  for (const plan::SlowChoice& r : found.ranges)
    if (r.operation == name(c) && r.smallest.value() <= bytes && bytes <= r.largest.value()) return &r;
  return nullptr;
}

}  // namespace tuned
