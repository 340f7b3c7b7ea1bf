#pragma once
/// Bodies of nccl.hpp.

#include <fabricost/choice/nccl.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core {

FABRICOST_BODY TunerTable tuner_table(Collective op, const Fabric& f, bool byte_wide) {
  TunerTable table;
  detail::make_tuner_rows(table, op, f, byte_wide);
  return table;
}

FABRICOST_BODY double TunerTable::believed(const TunerRow& row, double bytes) const {
  return row.latency + believed_volume(row, bytes, detail::octave_of(bytes));
}

FABRICOST_BODY Candidate TunerTable::pick(double bytes) const {
  if (exchange_limit > 0) return {Algorithm::direct, bytes / peers <= exchange_limit ? Protocol::ll : Protocol::simple};
  const std::size_t octave = detail::octave_of(bytes);
  const TunerRow* best = nullptr;
  double min = 0;
  for (const TunerRow& row : rows) {
    const double t = row.latency + believed_volume(row, bytes, octave);
    if (best == nullptr || t < min) {
      min = t;
      best = &row;
    }
  }
  return best != nullptr ? best->candidate : Candidate{};
}

}  // namespace fabricost::core
