#pragma once
/// How a curve is compiled: the sizes at which the tuner, a plugin, an engine or the prices change the pair that runs.

#include <fabricost/choice/pick.hpp>
#include <fabricost/predict/curve.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fabricost::core {

/// Kernels an inference engine runs instead of NCCL's, by size; empty where prices decide.
[[nodiscard]] ReducePieces pieces_of(const System& system, const Fabric& f, const Operation& op, const Choice& choice);

/// compile() on a known fabric. \throws RequestError also for a number of the machine out of range (check)
[[nodiscard]] Curve compile_on(const Fabric& f, const System& system, const Operation& operation, const Choice& choice);

/// A curve without a table, for few sizes: takes 1 us instead of 7.
[[nodiscard]] Curve compile_lines(const System& system, const Operation& operation, const Choice& choice);

}  // namespace fabricost::core

namespace fabricost::core::detail {

/// Calls visit at the sizes where the tuner's choice changes. Inside an octave all of its rows are straight
/// lines, so the lower envelope is exact.
template <class Visit>
void walk_tuner(const TunerTable& table, Visit&& visit) {
  if (table.exchange_limit > 0) {
    const double limit = table.exchange_limit * table.peers;
    visit(table.pick(0), std::nextafter(limit, 2 * limit));
    visit(table.pick(2 * limit), std::numeric_limits<double>::infinity());
    return;
  }
  double at = 0;
  for (int octave = 0; octave < 25; ++octave) {
    const double end = octave == 24 ? std::numeric_limits<double>::infinity() : 64 * std::exp2(octave);
    while (at < end) {
      const Candidate now = table.pick(at);
      const TunerRow* row = nullptr;
      for (const TunerRow& each : table.rows)
        if (each.candidate == now) row = &each;
      double next = end;
      for (const TunerRow& other : table.rows) {
        const double steeper = row->per_byte / correction_at(row->correction, at) - other.per_byte / correction_at(other.correction, at);
        if (!(steeper > 0)) continue;
        const double cross = (other.latency - row->latency) / steeper;
        if (cross >= at) next = std::min(next, cross);  // at: a tie there goes to the row before it
      }
      if (next < end && next < 4e15) {
        next = std::ceil(next);
        while (next - 1 > at && !(table.pick(next - 1) == now)) --next;
        while (next < end && table.pick(next) == now) ++next;
      } else {
        next = std::max(next, at * (1 + 1e-9));  // sizes that cannot be counted one by one: a crossing may round to this one
      }
      visit(now, next);
      at = next;
    }
  }
}

/// The prices `fastest` compares: the library's pairs, and an engine's kernels up to the size at which it leaves them.
/// \throws RequestError when the choice leaves nothing that can run
[[nodiscard]] PriceTable prices_of(const System& system, const Fabric& f, const Operation& op, const Choice& choice, ChoiceInput in);

}  // namespace fabricost::core::detail

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/predict/compile-inl.hpp>
#endif
