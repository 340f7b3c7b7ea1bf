#pragma once
/// An oracle for schedules: ranks that send tagged blocks to each other, step by step. It shares no code with
/// the model.
///
/// A rank has slots. A slot holds the set of ranks that contributed to it, as a mask (at most 64 ranks);
/// all_to_all has one slot for each (from, to), filled or not. A step is a set of simultaneous sends of what
/// the sender held before the step. Adding a contribution twice, sending an empty slot or overwriting other
/// data is an error. An algorithm that ends with the right masks has therefore performed the collective, and
/// the counters say what it moved.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace oracle {

using Mask = std::uint64_t;
inline Mask only(int rank) { return Mask{1} << rank; }
inline Mask all(int ranks) { return ranks == 64 ? ~Mask{0} : only(ranks) - 1; }

struct Send {
  int from = 0, to = 0;
  std::vector<int> slots;
  bool adds = false;  ///< the receiver combines; otherwise it stores
};
using Step = std::vector<Send>;

class World {
 public:
  /// \param sizes       grouping of ranks, innermost first: {8, 4} is 4 groups of 8
  /// \param slot_bytes  of one slot, as a share of the operation's size S
  World(std::vector<int> sizes, int slots, double slot_bytes) : sizes_(std::move(sizes)), slots_(slots), slot_bytes_(slot_bytes) {
    ranks_ = 1;
    for (const int s : sizes_) ranks_ *= s;
    if (ranks_ > 64) throw std::invalid_argument("the oracle has masks for 64 ranks");
    cells_.assign(static_cast<std::size_t>(ranks_) * static_cast<std::size_t>(slots_), 0);
    totals_.assign(sizes_.size(), std::vector<double>(static_cast<std::size_t>(ranks_), 0.0));
    own_ = totals_;
    serial_.assign(sizes_.size(), 0.0);
    crossed_.assign(sizes_.size(), 0);
  }

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int slots() const { return slots_; }
  [[nodiscard]] Mask& at(int rank, int slot) { return cells_[index(rank, slot)]; }
  [[nodiscard]] Mask at(int rank, int slot) const { return cells_[index(rank, slot)]; }

  /// All sends at once.
  void run(const Step& step) {
    if (step.empty()) return;
    std::vector<Mask> before = cells_;
    std::vector<std::vector<double>> leaving(sizes_.size(), std::vector<double>(static_cast<std::size_t>(ranks_), 0.0));
    std::vector<bool> crosses(sizes_.size(), false);
    for (const Send& send : step) {
      if (send.from == send.to) throw std::logic_error("a rank sends to itself");
      for (const int slot : send.slots) {
        const Mask sent = before[index(send.from, slot)];
        Mask& kept = at(send.to, slot);
        if (sent == 0)
          throw std::logic_error("rank " + std::to_string(send.from) + " sends slot " + std::to_string(slot) + ", which it does not have");
        if (send.adds) {
          if ((kept & sent) != 0) throw std::logic_error("a contribution to slot " + std::to_string(slot) + " is added twice");
          kept |= sent;
        } else {
          if ((kept & ~sent) != 0) throw std::logic_error("slot " + std::to_string(slot) + " is overwritten with less");
          kept = sent;
        }
      }
      count(send, leaving, crosses);
    }
    ++steps_;
    for (std::size_t level = 0; level < sizes_.size(); ++level) {
      serial_[level] += *std::max_element(leaving[level].begin(), leaving[level].end());
      crossed_[level] += crosses[level] ? 1 : 0;
    }
  }
  /// A slot leaves its holder (all_to_all) once sent.
  void drop(int rank, int slot) { at(rank, slot) = 0; }

  [[nodiscard]] int steps() const { return steps_; }
  /// Steps whose furthest send crosses exactly this level.
  [[nodiscard]] int steps(int level) const { return crossed_[static_cast<std::size_t>(level)]; }
  /// Bytes that left the busiest endpoint of a level: a rank's to its own group (level 0), a group's to other groups (above).
  [[nodiscard]] double bytes(int level) const {
    return *std::max_element(totals_[static_cast<std::size_t>(level)].begin(), totals_[static_cast<std::size_t>(level)].end());
  }
  /// The same without traffic to ranks beyond a neighbour of this level.
  [[nodiscard]] double own_bytes(int level) const {
    return *std::max_element(own_[static_cast<std::size_t>(level)].begin(), own_[static_cast<std::size_t>(level)].end());
  }
  /// bytes(), averaged over the endpoints.
  [[nodiscard]] double mean_bytes(int level) const {
    double sum = 0;
    for (const double b : totals_[static_cast<std::size_t>(level)]) sum += b;
    return sum / (ranks_ / below(level));
  }
  /// own_bytes() if every step waits for its busiest endpoint: the sum over steps of the maximum.
  [[nodiscard]] double serial_bytes(int level) const { return serial_[static_cast<std::size_t>(level)]; }

  /// Ranks below one endpoint of a level.
  [[nodiscard]] int below(int level) const {
    int n = 1;
    for (int i = 0; i < level; ++i) n *= sizes_[static_cast<std::size_t>(i)];
    return n;
  }
  /// The outermost level at which two ranks sit in different endpoints.
  [[nodiscard]] int distance(int a, int b) const {
    int furthest = 0;
    for (int level = 0; level < static_cast<int>(sizes_.size()); ++level)
      if (a / below(level) != b / below(level)) furthest = level;
    return furthest;
  }

 private:
  [[nodiscard]] std::size_t index(int rank, int slot) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(slots_) + static_cast<std::size_t>(slot);
  }
  void count(const Send& send, std::vector<std::vector<double>>& leaving, std::vector<bool>& crosses) {
    const double bytes = slot_bytes_ * static_cast<double>(send.slots.size());
    const int furthest = distance(send.from, send.to);
    crosses[static_cast<std::size_t>(furthest)] = true;
    // outer levels also carry traffic bound further out; a rank's own links only what stays in its group
    const int first = furthest == 0 ? 0 : 1;
    for (int level = first; level <= furthest; ++level)
      totals_[static_cast<std::size_t>(level)][static_cast<std::size_t>(send.from / below(level))] += bytes;
    const auto endpoint = static_cast<std::size_t>(send.from / below(furthest));
    own_[static_cast<std::size_t>(furthest)][endpoint] += bytes;
    leaving[static_cast<std::size_t>(furthest)][endpoint] += bytes;
  }

  std::vector<int> sizes_;
  int ranks_ = 1;
  int slots_ = 0;
  double slot_bytes_ = 0;
  std::vector<Mask> cells_;
  int steps_ = 0;
  std::vector<std::vector<double>> totals_, own_;
  std::vector<double> serial_;
  std::vector<int> crossed_;
};

inline std::vector<int> every_slot(const World& w) {
  std::vector<int> out(static_cast<std::size_t>(w.slots()));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

inline int wrapped(int i, int n) { return ((i % n) + n) % n; }

}  // namespace oracle
