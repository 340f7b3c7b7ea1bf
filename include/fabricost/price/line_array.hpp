#pragma once
/// A Line at many sizes: the formula of line.hpp for groups of sizes, in loops that compilers vectorise.
/// Branches on the line's parts (ramps, chunks, overlap) are taken once per group. Within 2e-14 of evaluating
/// each size alone.

#include <fabricost/elementary.hpp>
#include <fabricost/price/line.hpp>

#include <array>

namespace fabricost::core {

namespace detail {

inline constexpr int group_size = 32;  ///< sizes per group; a constant, so that -O2 vectorises too
using Group = std::array<double, group_size>;

/// Adds a ramp to the times of a group of sizes.
FABRICOST_INLINE void add_ramp(const Ramp& r, const double* bytes, Group& into) {
  Group x;
  for (std::size_t i = 0; i < group_size; ++i) x[i] = bytes[i] * r.per_byte;
  const double a = r.amplitude, limit = r.limit;
  switch (r.shape) {
    case Ramp::Shape::none: break;
    case Ramp::Shape::linear:
      for (std::size_t i = 0; i < group_size; ++i) into[i] += a * (x[i] < 1 ? x[i] : 1.0);
      break;
    case Ramp::Shape::square:
      for (std::size_t i = 0; i < group_size; ++i) into[i] += a * (x[i] < 1 ? x[i] * x[i] : 1.0);
      break;
    case Ramp::Shape::saturating:
      for (std::size_t i = 0; i < group_size; ++i) into[i] += a * (x[i] / (1 + x[i]));
      break;
    case Ramp::Shape::saturating_square:
      for (std::size_t i = 0; i < group_size; ++i) into[i] += a * (x[i] * x[i] / (1 + x[i] * x[i]));
      break;
    case Ramp::Shape::exponential:  // two loops: a limit inside the second would be threaded into a branch
      for (std::size_t i = 0; i < group_size; ++i) x[i] = x[i] < 690 ? x[i] : 690.0;
      for (std::size_t i = 0; i < group_size; ++i) into[i] += a * (1 - fast_decay(x[i]));
      break;
    case Ramp::Shape::step:
      for (std::size_t i = 0; i < group_size; ++i) into[i] += x[i] > 1 ? a : 0.0;
      break;
    case Ramp::Shape::until:
      for (std::size_t i = 0; i < group_size; ++i) into[i] += x[i] < 1 ? a : 0.0;
      break;
    case Ramp::Shape::channels:
      for (std::size_t i = 0; i < group_size; ++i) x[i] = x[i] < 1 ? 1.0 : x[i];
      for (std::size_t i = 0; i < group_size; ++i) into[i] += a * (1 - 1 / (x[i] < limit ? x[i] : limit));
      break;
    case Ramp::Shape::unbounded:
      for (std::size_t i = 0; i < group_size; ++i) into[i] += a * x[i];
      break;
    case Ramp::Shape::blocks:
      for (std::size_t i = 0; i < group_size; ++i) into[i] += r(bytes[i]);
      break;
  }
}

/// Rounds of whole chunks after the first, as Line::chunks.
FABRICOST_INLINE void add_chunks(const Line& line, const double* bytes, Group& into) {
  constexpr double round = 6755399441055744.0;  // 1.5 x 2^52: adding and subtracting it rounds to a whole number
  const double whole = line.chunk_seconds * line.chunk_share, parts = line.chunk_seconds * (1 - line.chunk_share), chunk = line.chunk;
  Group rounds;
  for (std::size_t i = 0; i < group_size; ++i) rounds[i] = bytes[i] / chunk;
  for (std::size_t i = 0; i < group_size; ++i) {
    const double nearest = (rounds[i] + round) - round;
    const double up = nearest + (nearest < rounds[i] ? 1.0 : 0.0);
    into[i] += bytes[i] > chunk ? whole * (up - 1) + parts * (rounds[i] - 1) : 0.0;
  }
}

/// Seconds of `groups` groups of sizes. \param bytes from 0 to 10^18 each \param seconds equally many, not
/// overlapping `bytes`
FABRICOST_CLONES inline void evaluate_groups(const Line& line, const double* bytes, double* __restrict seconds, int groups) {
  const double base = line.base, latency = line.latency, rate = line.rate, early_rate = line.early_rate, early = line.early;
  const double q = line.overlap, inverse = 1 / q;
  for (; groups > 0; --groups, bytes += group_size, seconds += group_size) {
    Group outer, hidden, volume;
    for (std::size_t i = 0; i < group_size; ++i) outer[i] = base;
    for (std::size_t i = 0; i < group_size; ++i) hidden[i] = latency;
    for (std::size_t i = 0; i < group_size; ++i) volume[i] = rate * bytes[i];
    for (const Ramp& ramp : line.ramps) add_ramp(ramp, bytes, ramp.moves() ? volume : ramp.inside ? hidden : outer);
    if (early_rate != 0)
      for (std::size_t i = 0; i < group_size; ++i) volume[i] += early_rate * (bytes[i] < early ? bytes[i] : early);
    if (line.chunk < 1e18) add_chunks(line, bytes, volume);
    for (const Jump& jump : line.jumps) {
      const double from = jump.from, until = jump.until, held = jump.held, more = jump.seconds, each = jump.rate;
      for (std::size_t i = 0; i < group_size; ++i) {
        const double after = bytes[i] < until ? held * (from - bytes[i]) : more + each * bytes[i];
        volume[i] += bytes[i] >= from ? after : 0.0;
      }
    }
    if (q == 1)
      for (std::size_t i = 0; i < group_size; ++i) seconds[i] = outer[i] + (hidden[i] + volume[i]);
    else if (q <= max_fast_overlap)
      for (std::size_t i = 0; i < group_size; ++i) seconds[i] = outer[i] + fast_norm(hidden[i], volume[i], q, inverse);
    else
      for (std::size_t i = 0; i < group_size; ++i) seconds[i] = outer[i] + norm(hidden[i], volume[i], q);
  }
}

}  // namespace detail

}  // namespace fabricost::core
