#pragma once
/// \file nccl-inl.hpp
/// Bodies of nccl.hpp.

#include <fabricost/choice/nccl.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::detail {

FABRICOST_BODY std::size_t octave_of(double bytes) {
  if (bytes < 64) return 0;
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(bytes) >> 52) - 1023;
  return static_cast<std::size_t>(std::min(23, exponent - 6));
}

FABRICOST_BODY double correction_at(const double* correction, double bytes) {
  return correction == nullptr ? 1 : correction[octave_of(bytes)];
}

}  // namespace fabricost::detail

namespace fabricost {

FABRICOST_BODY double TunerTable::believed_volume(const TunerRow& row, double bytes, std::size_t octave) {
  const double volume = bytes * row.per_byte;
  return row.correction == nullptr ? volume : volume / row.correction[octave];
}

}  // namespace fabricost

namespace fabricost::detail {

FABRICOST_BODY void TunerPick::add(Candidate c, double latency, double algorithm_rate, const double* correction) {
  if (!(algorithm_rate > 0)) return;
  const TunerRow row{c, latency, 1 / algorithm_rate, correction};
  const double t = row.latency + TunerTable::believed_volume(row, bytes, octave);
  if (any && !(t < min)) return;
  any = true;
  min = t;
  best = c;
}

}  // namespace fabricost::detail

namespace fabricost {

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

}  // namespace fabricost
