#pragma once
/// Bodies of terms.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/terms.hpp>

namespace fabricost::core {

FABRICOST_BODY Remaining remaining(const Line& line, double bytes) {
  double hidden = line.latency;
  for (const Ramp& ramp : line.ramps)
    if (ramp.inside && !ramp.moves()) hidden += ramp(bytes);
  const double volume = line.volume(bytes);
  if (line.overlap == 1 || !(hidden > 0 && volume > 0)) return {};
  const double together = norm(hidden, volume, line.overlap);
  const double ratio = std::pow(hidden / volume, line.overlap), needed = line.min * bytes, wire = volume - line.copied(bytes);
  const Remaining shares = std::isinf(ratio) ? Remaining{together / hidden, 0}
                                             : Remaining{together / hidden * (ratio / (1 + ratio)), together / volume / (1 + ratio)};
  if (!(wire > 0) || shares.volume * wire >= needed) return shares;
  const double volumes = std::min(1.0, needed / wire);
  return {std::max(0.0, together - volumes * volume) / hidden, volumes};
}

FABRICOST_BODY Contributions take_apart(const Line& line, double bytes) {
  Contributions out;
  const TermKind transfer = line.transfer(bytes);
  const auto [keep_hidden, keep_volume] = remaining(line, bytes);
  for (const Part& p : line.base_parts) out.add(p.kind, p.level, p.value());
  for (const Part& p : line.latency_parts) out.add(p.kind, p.level, p.value() * keep_hidden);
  for (const Ramp& ramp : line.ramps)
    out.add(ramp.moves() ? transfer : ramp.kind(), ramp.level,
            ramp(bytes) * (ramp.moves()  ? keep_volume
                           : ramp.inside ? keep_hidden
                                         : 1));
  for (const Part& p : line.rate_parts) out.add(p.kind == TermKind::wire ? transfer : p.kind, p.level, p.value() * bytes * keep_volume);
  // a faster start (below zero) and a first round of chunks count as wire time, an extra copy as copies
  const double early = line.early_rate * std::min(bytes, line.early) * keep_volume;
  out.add(early < 0 || line.chunk <= line.early ? transfer : TermKind::copy, line.wire_level, early);
  double jumped = line.chunks(bytes), copied = 0;
  for (const Jump& jump : line.jumps) {
    jumped += (1 - jump.copies) * jump(bytes);
    copied += jump.copies * jump(bytes);
  }
  out.add(transfer, line.wire_level, jumped * keep_volume);
  out.add(TermKind::copy, line.wire_level, copied * keep_volume);
  return out;
}

FABRICOST_BODY double wire_share(const Line& line, double bytes) {
  double outer = line.base, hidden = line.latency, moving = 0;
  for (const Ramp& ramp : line.ramps)
    if (!ramp.moves()) (ramp.shape == Ramp::Shape::unbounded ? moving : ramp.inside ? hidden : outer) += ramp(bytes);
  const double volume = line.volume(bytes), all = outer + moving + norm(hidden, volume, line.overlap);
  if (!(all > 0)) return 0;
  return std::clamp((remaining(line, bytes).volume * (volume - line.copied(bytes)) + moving) / all, 0.0, 1.0);
}

}  // namespace fabricost::core
