#pragma once
/// Decomposition of a price: the contribution of each part at one size; the contributions sum to the time.
///
/// Inside norm_q(a, b) the shares are a (a/t)^(q-1) and b (b/t)^(q-1), the first-order effect of each
/// argument (Euler's theorem for a function homogeneous of degree 1): shrinking a part by one percent saves
/// one percent of its share. The transfer has at least what its bytes need at the links' full rate, and the
/// latency that much less: no share says that a link carried more than it can.

#include <fabricost/price/line.hpp>

namespace fabricost::core {

/// One contribution in seconds, on a level of the fabric.
struct Contribution {
  TermKind kind = TermKind::launch;
  int level = 0;
  double seconds = 0;
};

struct Contributions {
  FixedList<Contribution, 12> items;  ///< at most one of each kind and level, of the eight kinds: a line's transfer is wire or kernels, never both

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

/// What remains of latency and volume where the two overlap: factors, 1 where nothing does.
struct Remaining {
  double latency = 1, volume = 1;
};
[[nodiscard]] Remaining remaining(const Line& line, double bytes);

/// Contributions of `line` at `bytes`; they sum to line(bytes) up to rounding.
[[nodiscard]] Contributions take_apart(const Line& line, double bytes);

/// Share of the time at `bytes` spent on the wire: the wire contributions of take_apart and ramps that grow
/// with every byte. The rest is latency and local copies. 0 if nothing takes time.
[[nodiscard]] double wire_share(const Line& line, double bytes);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/terms-inl.hpp>
#endif
