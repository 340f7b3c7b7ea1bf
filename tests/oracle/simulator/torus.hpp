#pragma once
/// The oracle for tori: chips that send blocks only to neighbours, with the load of every link.

#include "world.hpp"

#include <cmath>
#include <cstdlib>

namespace oracle {

class Torus {
 public:
  explicit Torus(std::vector<int> dims) : dims_(std::move(dims)) {
    for (const int a : dims_) chips_ *= a;
    load_.assign(static_cast<std::size_t>(chips_) * dims_.size() * 2, 0.0);
  }
  [[nodiscard]] int chips() const { return chips_; }
  [[nodiscard]] int axes() const { return static_cast<int>(dims_.size()); }
  [[nodiscard]] int length(int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] int stride(int axis) const {
    int s = 1;
    for (int i = 0; i < axis; ++i) s *= length(i);
    return s;
  }
  [[nodiscard]] int position(int chip, int axis) const { return chip / stride(axis) % length(axis); }
  /// The chip `by` positions further along an axis.
  [[nodiscard]] int moved(int chip, int axis, int by) const {
    return chip + (wrapped(position(chip, axis) + by, length(axis)) - position(chip, axis)) * stride(axis);
  }
  /// Bytes over the link that leaves a chip along an axis, forwards or backwards.
  double& load(int chip, int axis, bool backwards) {
    return load_[(static_cast<std::size_t>(chip) * dims_.size() + static_cast<std::size_t>(axis)) * 2 + (backwards ? 1 : 0)];
  }
  [[nodiscard]] double busiest_link() const { return *std::max_element(load_.begin(), load_.end()); }
  [[nodiscard]] double total() const {
    double sum = 0;
    for (const double l : load_) sum += l;
    return sum;
  }

 private:
  std::vector<int> dims_;
  int chips_ = 1;
  std::vector<double> load_;
};

/// The bucket algorithm: 2 d parts, part p begins along axis p mod d, forwards or backwards. `reduce` and
/// `gather` select the halves to run. The world has a slot for every (part, chip). Returns the serial steps.
inline int bucket(World& w, Torus& t, bool reduce, bool gather) {
  const int n = t.chips(), d = t.axes(), parts = 2 * d;
  const double slot_bytes = 1.0 / (parts * n);
  int steps = 0;
  // phase f of part p runs along this axis; settled axes are those of earlier phases
  const auto axis_of = [&](int part, int phase) { return (part + phase) % d; };
  const auto matches = [&](int part, int phases, int slot_chip, int chip) {
    for (int f = 0; f < phases; ++f)
      if (t.position(slot_chip, axis_of(part, f)) != t.position(chip, axis_of(part, f))) return false;
    return true;
  };
  // each part proceeds at its own pace: the list of its steps, (phase, step in phase)
  const auto plan = [&](int part) {
    std::vector<std::pair<int, int>> out;
    for (int f = 0; f < d; ++f)
      for (int s = 0; s < t.length(axis_of(part, f)) - 1; ++s) out.push_back({f, s});
    return out;
  };
  for (int half = 0; half < 2; ++half) {
    const bool reducing = half == 0;
    if (reducing ? !reduce : !gather) continue;
    std::vector<std::vector<std::pair<int, int>>> plans;
    for (int p = 0; p < parts; ++p) {
      auto list = plan(p);
      if (!reducing) {  // the phases in reverse
        std::vector<std::pair<int, int>> reversed;
        for (int f = d - 1; f >= 0; --f)
          for (const auto& item : list)
            if (item.first == f) reversed.push_back(item);
        list = reversed;
      }
      plans.push_back(list);
    }
    for (std::size_t now = 0; now < plans.front().size(); ++now, ++steps) {
      Step step;
      for (int p = 0; p < parts; ++p) {
        const auto [phase, s] = plans[static_cast<std::size_t>(p)][now];
        const int axis = axis_of(p, phase), m = t.length(axis);
        const int sign = p < d ? 1 : -1;
        for (int chip = 0; chip < n; ++chip) {
          // along a ring in direction `sign`, place i of the chip; it passes on the block of place i - s - 1 or i - s
          const int i = sign > 0 ? t.position(chip, axis) : wrapped(-t.position(chip, axis), m);
          const int place = wrapped(reducing ? i - s - 1 : i - s, m);
          const int wanted = sign > 0 ? place : wrapped(-place, m);
          Send send{chip, t.moved(chip, axis, sign), {}, reducing};
          for (int c = 0; c < n; ++c)
            if (t.position(c, axis) == wanted && matches(p, phase, c, chip)) send.slots.push_back(p * n + c);
          t.load(chip, axis, sign < 0) += slot_bytes * static_cast<double>(send.slots.size());
          step.push_back(send);
        }
      }
      w.run(step);
    }
  }
  return steps;
}

/// all_to_all along one axis after the other, the shorter way around; two equal ways share. Fills the torus' link loads.
inline void dimension_ordered_exchange(Torus& t, bool wrap) {
  const int n = t.chips();
  const double bytes = 1.0 / n;
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to) {
      int at = from;
      for (int axis = 0; axis < t.axes(); ++axis) {
        const int m = t.length(axis);
        const int ahead = t.position(to, axis) - t.position(at, axis);
        const int forwards = wrapped(ahead, m);
        const bool tie = wrap && 2 * forwards == m;
        const bool go_forwards = wrap ? 2 * forwards <= m : ahead >= 0;
        const int hops = wrap ? std::min(forwards, m - forwards) : std::abs(ahead);
        for (int way = 0; way < (tie ? 2 : 1); ++way) {
          const int sign = (way == 0) == go_forwards ? 1 : -1;
          int chip = at;
          for (int h = 0; h < hops; ++h) {
            t.load(chip, axis, sign < 0) += tie ? bytes / 2 : bytes;
            chip = t.moved(chip, axis, sign);
          }
        }
        at = t.moved(at, axis, ahead);
      }
    }
}

}  // namespace oracle
