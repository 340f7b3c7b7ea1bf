#pragma once
/// Bodies of terms.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/terms.hpp>

namespace fabricost::core {

FABRICOST_BODY Contributions take_apart(const Line& line, double bytes) {
  Contributions out;
  double hidden = line.latency;
  for (const Ramp& ramp : line.ramps)
    if (ramp.inside && !ramp.moves()) hidden += ramp(bytes);
  const double volume = line.volume(bytes);
  const TermKind transfer = line.transfer(bytes);
  // shares of norm_q(hidden, volume)
  double keep_hidden = 1;
  double keep_volume = 1;
  if (line.overlap != 1 && hidden > 0 && volume > 0) {
    const double together = norm(hidden, volume, line.overlap);
    const double ratio = std::pow(hidden / volume, line.overlap);
    keep_hidden = together / hidden * (ratio / (1 + ratio));
    keep_volume = together / volume / (1 + ratio);
    if (std::isinf(ratio)) {
      keep_hidden = together / hidden;
      keep_volume = 0;
    }
  }
  for (const Part& p : line.base_parts) out.add(p.kind, p.level, p.value());
  for (const Part& p : line.latency_parts) out.add(p.kind, p.level, p.value() * keep_hidden);
  for (const Ramp& ramp : line.ramps)
    out.add(ramp.moves() ? transfer : TermKind::growth, ramp.level,
            ramp(bytes) * (ramp.moves()  ? keep_volume
                           : ramp.inside ? keep_hidden
                                         : 1));
  for (const Part& p : line.rate_parts) out.add(p.kind == TermKind::wire ? transfer : p.kind, p.level, p.value() * bytes * keep_volume);
  // a faster start (below zero) and a first round of chunks count as wire time, an extra copy as copies
  const double early = line.early_rate * std::min(bytes, line.early) * keep_volume;
  out.add(early < 0 || line.chunk <= line.early ? transfer : TermKind::copy, line.wire_level, early);
  out.add(transfer, line.wire_level, (line.chunks(bytes) + line.jumped(bytes)) * keep_volume);
  return out;
}

FABRICOST_BODY double wire_share(const Line& line, double bytes) {
  double outer = line.base, hidden = line.latency, moving = 0;
  for (const Ramp& ramp : line.ramps)
    if (!ramp.moves()) (ramp.shape == Ramp::Shape::unbounded ? moving : ramp.inside ? hidden : outer) += ramp(bytes);
  double wire = line.blocks(bytes) + line.chunks(bytes) + line.jumped(bytes) +
                (line.chunk <= line.early ? line.early_rate : std::min(0.0, line.early_rate)) * std::min(bytes, line.early);
  for (const Part& p : line.rate_parts)
    if (p.kind == TermKind::wire) wire += p.value() * bytes;
  const double volume = line.volume(bytes), together = norm(hidden, volume, line.overlap), all = outer + moving + together;
  if (!(all > 0)) return 0;
  const double visible = volume > 0 ? wire * std::pow(volume / together, line.overlap - 1) : 0;
  return std::clamp((visible + moving) / all, 0.0, 1.0);
}

}  // namespace fabricost::core
