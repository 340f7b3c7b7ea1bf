#pragma once
/// \file terms.hpp
/// Decomposition of a price: the contribution of each part at one size; the contributions sum to the time.
///
/// Inside norm_q(a, b) the shares are a (a/t)^(q-1) and b (b/t)^(q-1), the first-order effect of each
/// argument (Euler's theorem for a function homogeneous of degree 1): shrinking a part by one percent saves
/// one percent of its share.

#include <fabricost/price/line.hpp>

namespace fabricost {

/// One contribution in seconds, on a level of the fabric.
struct Contribution {
  TermKind kind = TermKind::launch;
  int level = 0;
  double seconds = 0;
};

struct Contributions {
  FixedList<Contribution, 12> items;  ///< of seven kinds: an exchange has sends to peers, but no steps, between domains

  /// Adds to the entry of the same kind and level, or creates one.
  void add(TermKind kind, int level, double seconds) {
    if (seconds == 0) return;
    const std::size_t pair = 2 * static_cast<std::size_t>(kind) + (level > 0 ? 1 : 0);
    if ((seen_ >> pair & 1U) != 0) {
      items[place_[pair]].seconds += seconds;
      return;
    }
    seen_ |= 1U << pair;
    place_[pair] = static_cast<unsigned char>(items.size());
    items.emplace(kind, level, seconds);
  }
  [[nodiscard]] constexpr const Contribution* begin() const { return items.begin(); }
  [[nodiscard]] constexpr const Contribution* end() const { return items.end(); }

 private:
  unsigned seen_ = 0;  ///< one bit per pair of kind and level that has an entry
  std::array<unsigned char, 2 * term_names.size()> place_{};
};

/// Contributions of `line` at `bytes`; they sum to line(bytes) up to rounding.
[[nodiscard]] inline Contributions take_apart(const Line& line, double bytes) {
  Contributions out;
  double hidden = line.latency;
  for (const Ramp& ramp : line.ramps)
    if (ramp.inside && !ramp.moves()) hidden += ramp(bytes);
  const double volume = line.volume(bytes);
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
    out.add(ramp.moves() ? TermKind::wire : TermKind::growth, ramp.level,
            ramp(bytes) * (ramp.moves() ? keep_volume : ramp.inside ? keep_hidden : 1));
  for (const Part& p : line.rate_parts) out.add(p.kind, p.level, p.value() * bytes * keep_volume);
  // a faster start (below zero) counts as wire time, an extra copy as copies
  const double early = line.early_rate * std::min(bytes, line.early) * keep_volume;
  out.add(early < 0 ? TermKind::wire : TermKind::copy, line.wire_level, early);
  out.add(TermKind::wire, line.wire_level, (line.chunks(bytes) + line.jumped(bytes)) * keep_volume);
  return out;
}

/// Share of the time at `bytes` spent on the wire: the wire contributions of take_apart and ramps that grow
/// with every byte. The rest is latency and local copies. 0 if nothing takes time.
[[nodiscard]] inline double wire_share(const Line& line, double bytes) {
  double outer = line.base, hidden = line.latency, moving = 0;
  for (const Ramp& ramp : line.ramps)
    if (!ramp.moves()) (ramp.shape == Ramp::Shape::unbounded ? moving : ramp.inside ? hidden : outer) += ramp(bytes);
  double wire = line.blocks(bytes) + line.chunks(bytes) + line.jumped(bytes) + std::min(0.0, line.early_rate) * std::min(bytes, line.early);
  for (const Part& p : line.rate_parts)
    if (p.kind == TermKind::wire) wire += p.value() * bytes;
  const double volume = line.volume(bytes), together = norm(hidden, volume, line.overlap), all = outer + moving + together;
  if (!(all > 0)) return 0;
  const double visible = volume > 0 ? wire * std::pow(volume / together, line.overlap - 1) : 0;
  return std::clamp((visible + moving) / all, 0.0, 1.0);
}

}  // namespace fabricost
