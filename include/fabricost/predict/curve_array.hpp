#pragma once
/// A compiled Curve at many sizes, in any order, block by block. A block inside one piece of the curve, the usual case for sorted sizes, uses
/// that piece's line (price/line_array.hpp); others pick the sizes of each piece. A curve with overlapping terms is read from its table
/// (curve_table.hpp); only sizes outside the table are computed.

#include <fabricost/predict/curve.hpp>
#include <fabricost/price/line_array.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

namespace fabricost::core {

namespace detail {

inline constexpr int block_groups = 32;
inline constexpr std::size_t block_size = static_cast<std::size_t>(block_groups) * group_size;
using Block = std::array<double, block_size>;

struct Extent {
  double min = 0, max = 0;
};
/// The smallest and the largest size of a block, both NaN if one is.
FABRICOST_CLONES inline Extent extent_of(const double* bytes, int groups) {
  Group min, max, sum;
  for (std::size_t i = 0; i < group_size; ++i) min[i] = max[i] = bytes[i];
  for (std::size_t i = 0; i < group_size; ++i) sum[i] = 0;
  for (; groups > 0; --groups, bytes += group_size) {
    for (std::size_t i = 0; i < group_size; ++i) min[i] = bytes[i] < min[i] ? bytes[i] : min[i];
    for (std::size_t i = 0; i < group_size; ++i) max[i] = bytes[i] > max[i] ? bytes[i] : max[i];
    for (std::size_t i = 0; i < group_size; ++i) sum[i] += bytes[i];
  }
  Extent out{min[0], max[0]};
  double all = 0;
  for (std::size_t i = 0; i < group_size; ++i) {
    if (min[i] < out.min) out.min = min[i];
    if (max[i] > out.max) out.max = max[i];
    all += sum[i];
  }
  if (all != all) out.min = out.max = all;  // comparisons do not detect a NaN, a sum does
  return out;
}

/// Copies the sizes at some places of a block and fills the last group with the last size. \return number of
/// sizes including that
[[nodiscard]] inline std::size_t gather(const double* bytes, const std::uint16_t* place, std::size_t count, Block& into) {
  for (std::size_t i = 0; i < count; ++i) into[i] = bytes[place[i]];
  const std::size_t padded = (count + group_size - 1) / group_size * group_size;
  for (std::size_t i = count; i < padded; ++i) into[i] = into[count - 1];
  return padded;
}

/// Seconds of a line at some places of a block.
inline void evaluate_at(const Line& line, const double* bytes, const std::uint16_t* place, std::size_t count, double* seconds) {
  Block own, times;
  const std::size_t padded = gather(bytes, place, count, own);
  evaluate_groups(line, own.data(), times.data(), static_cast<int>(padded / group_size));
  for (std::size_t i = 0; i < count; ++i) seconds[place[i]] = times[i];
}

/// Seconds of a block whose sizes lie in the pieces `first` to `last`: picks the sizes of each, evaluates and scatters.
inline void evaluate_pieces(const Curve& curve, int first, int last, const double* bytes, double* seconds, int groups) {
  const auto size = static_cast<std::size_t>(groups * group_size);
  std::array<std::uint16_t, block_size + 1> place;  // the place of a size outside the piece is written, then overwritten
  for (int piece = first; piece <= last; ++piece) {
    const double from = curve.threshold_bytes(piece), until = piece < last ? curve.threshold_bytes(piece + 1) : 1e18;
    std::size_t count = 0;
    for (std::size_t i = 0; i < size; ++i) {
      place[count] = static_cast<std::uint16_t>(i);
      count += static_cast<std::size_t>(bytes[i] >= from) & static_cast<std::size_t>(bytes[i] < until);
    }
    if (count > 0) evaluate_at(curve.line_at(curve.line_index(piece)), bytes, place.data(), count, seconds);
  }
}

/// Seconds of one block by the lines of the curve. \param first, last pieces of its extreme sizes
inline void evaluate_lines(const Curve& curve, int first, int last, const double* bytes, double* seconds, int groups) {
  if (first == last)
    evaluate_groups(curve.line_at(curve.line_index(first)), bytes, seconds, groups);
  else
    evaluate_pieces(curve, first, last, bytes, seconds, groups);
}

/// Seconds of one block by the table of the curve, and by its lines outside the table.
inline void evaluate_table(const Curve& curve, const double* bytes, double* seconds, int groups) {
  const auto size = static_cast<std::size_t>(groups * group_size);
  std::array<std::uint16_t, block_size + 1> place;
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double known = curve.table()(bytes[i]);
    seconds[i] = known;
    place[count] = static_cast<std::uint16_t>(i);
    count += known == known ? 0U : 1U;
  }
  if (count == 0) return;
  Block rest, times;
  const std::size_t padded = gather(bytes, place.data(), count, rest);
  const int rest_groups = static_cast<int>(padded / group_size);
  const Extent extent = extent_of(rest.data(), rest_groups);
  evaluate_lines(curve, curve.piece_at(extent.min), curve.piece_at(extent.max), rest.data(), times.data(), rest_groups);
  for (std::size_t i = 0; i < count; ++i) seconds[place[i]] = times[i];
}

/// Seconds of one block. \return false when a size is negative, not a number or 10^18 and more; nothing is written then
[[nodiscard]] inline bool evaluate_block(const Curve& curve, const double* bytes, double* seconds, int groups) {
  const Extent extent = extent_of(bytes, groups);
  if (!(extent.min >= 0 && extent.max < 1e18)) return false;
  const int first = curve.piece_at(extent.min), last = curve.piece_at(extent.max);
  const bool plain = first == last && curve.line_at(curve.line_index(first)).overlap == 1;
  if (plain || curve.table().empty())
    evaluate_lines(curve, first, last, bytes, seconds, groups);
  else
    evaluate_table(curve, bytes, seconds, groups);
  return true;
}

inline constexpr std::size_t few_sizes = 12;  ///< up to this many are as fast one by one

}  // namespace detail

/// Index of the first size that is negative, not a number or 10^18 and more; the number of sizes if there is none.
[[nodiscard]] inline std::size_t first_bad_size(std::span<const double> bytes) {
  std::size_t i = 0;
  while (i < bytes.size() && bytes[i] >= 0 && bytes[i] < 1e18) ++i;
  return i;
}

[[noreturn]] inline void throw_bad_size(std::span<const double> bytes) {
  throw RequestError("size " + std::to_string(first_bad_size(bytes)) + ": a size must be between 0 and 10^18 bytes");
}

/// Seconds of some sizes. \return how many were computed: all, or the blocks before the first invalid size
[[nodiscard]] inline std::size_t evaluate_some(const Curve& curve, std::span<const double> bytes, double* seconds) {
  std::size_t at = 0;
  for (; at + detail::block_size <= bytes.size(); at += detail::block_size)
    if (!detail::evaluate_block(curve, bytes.data() + at, seconds + at, detail::block_groups)) return at;
  const std::size_t rest = bytes.size() - at;
  if (rest <= detail::few_sizes) {
    for (; at < bytes.size() && bytes[at] >= 0 && bytes[at] < 1e18; ++at) seconds[at] = curve.seconds(bytes[at]);
    return at;
  }
  // the last group is filled up with the last size
  const std::size_t groups = (rest + detail::group_size - 1) / detail::group_size;
  detail::Block full, times;
  std::memcpy(full.data(), bytes.data() + at, rest * sizeof(double));
  for (std::size_t i = rest; i < groups * detail::group_size; ++i) full[i] = bytes.back();
  if (!detail::evaluate_block(curve, full.data(), times.data(), static_cast<int>(groups))) return at;
  std::memcpy(seconds + at, times.data(), rest * sizeof(double));
  return bytes.size();
}

/// Seconds for every size, in their order; within 1e-9 of curve(size), and 2e-14 where no terms overlap.
/// \param seconds as long as `bytes`, not overlapping it \throws RequestError for sizes that are negative,
/// not a number or at least 10^18, and for spans of different length
inline void evaluate(const Curve& curve, std::span<const double> bytes, std::span<double> seconds) {
  if (bytes.size() != seconds.size()) throw RequestError("as many times as sizes are wanted: the two spans differ in length");
  if (evaluate_some(curve, bytes, seconds.data()) != bytes.size()) throw_bad_size(bytes);
}

}  // namespace fabricost::core

namespace fabricost {
using core::evaluate;
}  // namespace fabricost
