#pragma once
/// Cost of one (schedule, fabric, constants, protocol) as a function of the size S alone:
///
///   t(S) = base + outer ramps + norm_q( latency + inner ramps , volume )
///   volume = rate S + early_rate min(S, early) + whole chunks + jumps + ramps of blocks
///   norm_q(a, b) = (a^q + b^q)^(1/q)      q = 1: nothing overlaps; q large: the larger term hides the other
///
/// Compiled once, evaluated without allocating. The parts of base, latency and rate are stored beside their
/// sums, so that a price can be decomposed again.

#include <fabricost/fixed_list.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace fabricost::core {

/// The purpose that a part of the time is spent on.
/// kernels: the transfer, where the channels of the library's kernels carry less than the links.
enum class TermKind : unsigned char { launch, steps, floor, growth, wire, copy, peers, kernels };
inline constexpr std::array<const char*, 8> term_names{"launch", "serial steps", "protocol floor", "latency growth",
                                                       "wire",   "local copies", "sends to peers", "kernels"};
[[nodiscard]] constexpr const char* name(TermKind kind) { return term_names[static_cast<std::size_t>(kind)]; }
[[nodiscard]] constexpr bool is_transfer(std::string_view term) { return term == name(TermKind::wire) || term == name(TermKind::kernels); }

/// count x each: seconds in base and latency, seconds per byte of S in rate.
struct Part {
  TermKind kind = TermKind::launch;
  int level = 0;  ///< of the fabric
  double count = 0;
  double each = 0;
  [[nodiscard]] constexpr double value() const { return count * each; }
};

/// A cost that changes with the message: amplitude x shape(S / scale). Shapes grow from 0 to 1, except that
/// `until` falls from 1 to 0, `unbounded` keeps growing, and `blocks` rises while the first of `limit` NICs takes a block of x = 1 alone,
/// then falls to 0 while the others take theirs, over and over.
struct Ramp {
  enum class Shape : unsigned char {
    none,
    linear,
    square,
    saturating,
    saturating_square,
    exponential,
    step,
    until,
    channels,
    unbounded,
    blocks
  };
  Shape shape = Shape::none;
  bool inside = false;  ///< part of the latency that volume can hide
  bool of_peers = false;  ///< a cost of each send to a peer
  int level = 0;
  double amplitude = 0;
  double per_byte = 0;  ///< 1 / scale
  double limit = 1;     ///< maximum channels; NICs

  /// Part of the volume.
  [[nodiscard]] bool moves() const { return shape == Shape::blocks; }
  /// What it counts as where it does not move.
  [[nodiscard]] TermKind kind() const { return of_peers ? TermKind::peers : TermKind::growth; }
  [[nodiscard]] double operator()(double bytes) const {
    const double x = bytes * per_byte;
    switch (shape) {
      case Shape::none: return 0;
      case Shape::linear: return amplitude * std::min(1.0, x);
      case Shape::square: return amplitude * (x < 1 ? x * x : 1);
      case Shape::saturating: return amplitude * (x / (1 + x));
      case Shape::saturating_square: return amplitude * (x * x / (1 + x * x));
      case Shape::exponential: return amplitude * (1 - std::exp(-x));
      case Shape::step: return x > 1 ? amplitude : 0;
      case Shape::until: return x < 1 ? amplitude : 0;
      case Shape::channels: return amplitude * (1 - 1 / std::clamp(x, 1.0, limit));
      case Shape::unbounded: return amplitude * x;
      case Shape::blocks: {
        const double round = x - limit * std::floor(x / limit);
        return amplitude * std::min((limit - 1) * round, limit - round);
      }
    }
    return 0;
  }
};

/// A change in the way bytes move from a size on: larger chunks, more channels. Added to the volume before it. Where it makes the volume
/// fall, the volume stays as it is over a stretch: runs are of powers of two, and none shows that a larger message is the faster one.
struct Jump {
  double from = 0;     ///< bytes, the first that the change touches
  double seconds = 0;  ///< either sign
  double rate = 0;     ///< seconds per byte of S, either sign
  double until = 0;    ///< bytes, the end of the stretch; up to `from`: there is none
  double held = 0;     ///< seconds per byte that the volume would grow by in the stretch
  double rule = 0;     ///< bytes, the first that the library moves in the new way; in the stretch or at its end
  double copies = 0;   ///< part of it that changes the copies inside a GPU, not the transfer

  [[nodiscard]] double operator()(double bytes) const {
    if (bytes < from) return 0;
    return bytes < until ? held * (from - bytes) : seconds + rate * bytes;
  }
  /// Seconds added at a size if the library's rule held there, without the held stretch.
  [[nodiscard]] double by_rule(double bytes) const { return bytes < (until > from ? rule : from) ? 0 : seconds + rate * bytes; }
};

/// A part of the time that ends at a size between two measured ones: with `from` bytes it is there, with `until` it is not.
struct UnmeasuredEnd {
  double from = 0, at = 0, until = 0;  ///< bytes; at: where the price drops it
  double seconds = 0;
};

/// (a^q + b^q)^(1/q) for a, b >= 0, q >= 1.
[[nodiscard]] inline double norm(double a, double b, double q) {
  const double larger = std::max(a, b);
  if (q == 1) return a + b;
  if (larger <= 0) return 0;
  // log2 and exp2 take four fifths of the time of two pow(), whose extra digits are not needed here
  return larger * std::exp2(std::log2(1 + std::exp2(q * std::log2(std::min(a, b) / larger))) / q);
}

struct Line {
  static constexpr int max_parts = 4;
  static constexpr int max_ramps = 2;
  static constexpr int max_jumps = 5;

  double base = 0, latency = 0, rate = 0;  ///< sums of the parts
  double overlap = 1;                      ///< q
  double early_rate = 0;                   ///< seconds per byte of the first `early` bytes, added to rate (negative: they are faster)
  double early = 0;
  double chunk = std::numeric_limits<double>::infinity();  ///< bytes that move as one round of whole chunks; the first round is latency
  double chunk_seconds = 0;
  double chunk_share = 0;  ///< share of the volume beyond the first round that moves in whole chunks
  int wire_level = 0;      ///< the level whose rate limits
  double kernels_until = 0;  ///< bytes below which the channels of the library's kernels limit the transfer, not the links
  bool uneven = false;     ///< there are ramps of blocks
  double min = 0;          ///< seconds per byte that the links need at their full rate, whatever the constants (price/lower_bound.hpp)
  FixedList<Ramp, max_ramps> ramps;
  FixedList<Jump, max_jumps> jumps;  ///< by size
  UnmeasuredEnd unmeasured_end;
  FixedList<Part, max_parts> base_parts, latency_parts, rate_parts;

  [[nodiscard]] TermKind transfer(double bytes) const { return bytes < kernels_until ? TermKind::kernels : TermKind::wire; }

  /// Seconds for S bytes, S >= 0.
  [[nodiscard]] double operator()(double bytes) const { return with_volume(bytes, volume(bytes)); }
  /// Seconds for S bytes if the volume took `moved` seconds.
  [[nodiscard]] double with_volume(double bytes, double moved) const {
    double outer = base;
    double hidden = latency;
    for (const Ramp& ramp : ramps)
      if (!ramp.moves()) (ramp.inside ? hidden : outer) += ramp(bytes);
    return outer + norm(hidden, moved, overlap);
  }

  /// The second argument of the norm.
  [[nodiscard]] double volume(double bytes) const {
    return rate * bytes + early_rate * std::min(bytes, early) + chunks(bytes) + jumped(bytes) + (uneven ? blocks(bytes) : 0);
  }
  /// The jumps up to a size.
  [[nodiscard]] double jumped(double bytes) const {
    double out = 0;
    for (const Jump& jump : jumps) out += jump(bytes);
    return out;
  }

  /// Seconds of copies inside a GPU: those of the rate, of the first bytes, of jumps.
  [[nodiscard]] double copied(double bytes) const {
    double out = chunk <= early ? 0 : std::max(0.0, early_rate) * std::min(bytes, early);
    for (const Part& part : rate_parts) out += part.kind == TermKind::wire ? 0 : part.value() * bytes;
    for (const Jump& jump : jumps) out += jump.copies * jump(bytes);
    return out;
  }

  /// Seconds that the fullest NIC needs beyond those of its even share.
  [[nodiscard]] double blocks(double bytes) const {
    double out = 0;
    for (const Ramp& ramp : ramps) out += ramp.moves() ? ramp(bytes) : 0;
    return out;
  }

  /// Rounds of whole chunks after the first.
  [[nodiscard]] double chunks(double bytes) const {
    if (!(bytes > chunk)) return 0;
    const double rounds = bytes / chunk;
    return chunk_seconds * (chunk_share * (std::ceil(rounds) - 1) + (1 - chunk_share) * (rounds - 1));
  }

  Line& add_base_part(TermKind kind, int level, double count, double each) { return add(base_parts, base, kind, level, count, each); }
  Line& add_latency_part(TermKind kind, int level, double count, double each) { return add(latency_parts, latency, kind, level, count, each); }
  Line& add_rate_part(TermKind kind, int level, double count, double each) { return add(rate_parts, rate, kind, level, count, each); }
  Line& add_jump(const Jump& added) {
    if (added.seconds != 0 || added.rate != 0) jumps.add(added);
    return *this;
  }
  /// A jump, before which the volume is held where it would fall.
  /// \param slope seconds per byte that the volume grows by before it
  Line& add_jump_held_before(const Jump& jump, double slope) {
    const double fall = -(jump.seconds + jump.rate * jump.from);
    if (!(fall > 0 && slope > 0)) return add_jump(jump);
    return add_jump({jump.from - fall / slope, jump.seconds, jump.rate, jump.from, slope, jump.from});
  }
  /// Another rate beyond `last`. Where it is lower the volume is held until the new rate has caught up.
  /// \param copies part of the change that is of copies inside a GPU
  Line& add_jump_held_after(double last, double before, double after, double copies = 0) {
    const double from = last + last * std::numeric_limits<double>::epsilon();
    return add_jump({from, 0, after - before, from * before / after, before, from, copies});
  }
  /// What measured sizes leave open beside (*this)(bytes) = `seconds`: in a stretch that is held the time by the library's rule, and where a
  /// part of the time is in doubt the time with it or without.
  [[nodiscard]] double alternative_seconds(double bytes, double seconds) const {
    double moved = 0, outer = 0;
    for (const Jump& jump : jumps) moved += jump.by_rule(bytes) - jump(bytes);
    if (bytes > unmeasured_end.from && bytes < unmeasured_end.until) outer = bytes < unmeasured_end.at ? -unmeasured_end.seconds : unmeasured_end.seconds;
    return (moved != 0 ? with_volume(bytes, volume(bytes) + moved) : seconds) + outer;
  }
  Line& add_ramp(const Ramp& added) {
    if (!(added.amplitude > 0)) return *this;
    uneven |= added.moves();
    ramps.add(added);
    return *this;
  }

 private:
  Line& add(FixedList<Part, max_parts>& parts, double& sum, TermKind kind, int level, double count, double each) {
    if (count == 0 || each == 0) return *this;  // also if `each` is infinite: nothing crosses a level that does not exist
    const double value = count * each;
    sum += value;
    if (parts.size() < max_parts) {
      parts.emplace(kind, level, count, each);
    } else {  // no room: the last part absorbs the rest
      Part& last = parts[max_parts - 1];
      last.count += value / last.each;
    }
    return *this;
  }
};

}  // namespace fabricost::core

namespace fabricost {
using core::Line;
using core::Part;
using core::TermKind;
}  // namespace fabricost
