#pragma once
/// Everything that does not depend on the message size, computed once: which pair runs in which range of
/// sizes, and its price. A fixed-size value; evaluation never allocates.

#include <fabricost/choice/choice.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/predict/curve_table.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>

#include <algorithm>
#include <array>

namespace fabricost::core {

class Curve {
 public:
  static constexpr int max_lines = 16;
  static constexpr int max_pieces = 32;

  /// The time at a size, within 1e-9 of the line there. \param size at least 0
  [[nodiscard]] Time operator()(Bytes size) const { return Time::from_value(seconds(size.value())); }
  /// The pair that runs at a size.
  [[nodiscard]] Candidate ran(Bytes size) const { return ran_at(size.value()); }
  /// The time that the bytes of the pair that runs need at the links' full rate, whatever the constants (price/lower_bound.hpp).
  [[nodiscard]] Time min(Bytes size) const { return Time::from_value(min_seconds(size.value())); }
  /// First size of piece i.
  [[nodiscard]] Bytes threshold(int i) const { return Bytes::from_value(threshold_bytes(i)); }
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  [[nodiscard]] int pieces() const { return pieces_; }

  /// The same in plain numbers of bytes and seconds, for inner loops.
  [[nodiscard]] double seconds(double bytes) const {
    const double known = table_(bytes);
    return known == known ? known : lines_[piece(bytes)](bytes);
  }
  [[nodiscard]] Candidate ran_at(double bytes) const { return candidates_[piece(bytes)]; }
  [[nodiscard]] const Line& line(double bytes) const { return lines_[piece(bytes)]; }
  [[nodiscard]] double min_seconds(double bytes) const { return line(bytes).min * bytes; }
  [[nodiscard]] double threshold_bytes(int i) const { return i == 0 ? 0 : until_[static_cast<std::size_t>(i - 1)]; }

  /// The piece a size lies in.
  [[nodiscard]] int piece_at(double bytes) const {
    int i = 0;
    while (i + 1 < pieces_ && bytes >= until_[static_cast<std::size_t>(i)]) ++i;
    return i;
  }
  /// Index of the line of piece i; pieces share lines.
  [[nodiscard]] int line_index(int i) const { return index_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const CurveTable& table() const { return table_; }
  [[nodiscard]] const Line& line_at(int line) const { return lines_[static_cast<std::size_t>(line)]; }

  explicit Curve(const Fabric& fabric) : fabric_(fabric) {}
  /// change(candidate, line) of every line, before tabulate().
  template <class Change>
  void change_lines(Change&& change) {
    for (int i = 0; i < count_; ++i) change(candidates_[static_cast<std::size_t>(i)], lines_[static_cast<std::size_t>(i)]);
  }
  /// Adds a piece: from the end of the previous one up to (not including) `until` this pair runs.
  void append(Candidate candidate, const Line& line, double until) {
    int at = 0;
    const auto same = [&](std::size_t i) { return candidates_[i] == candidate && lines_[i].rate == line.rate; };  // relays change the rate
    while (at < count_ && !same(static_cast<std::size_t>(at))) ++at;
    if (at == count_) {
      if (count_ == max_lines) {  // extend the last pair instead of losing the tail
        extend(until);
        return;
      }
      candidates_[static_cast<std::size_t>(count_)] = candidate;
      lines_[static_cast<std::size_t>(count_)] = line;
      ++count_;
    }
    const bool goes_on = pieces_ > 0 && index_[static_cast<std::size_t>(pieces_ - 1)] == at;
    if (goes_on || pieces_ == max_pieces) {
      extend(until);
    } else {
      index_[static_cast<std::size_t>(pieces_)] = static_cast<unsigned char>(at);
      until_[static_cast<std::size_t>(pieces_)] = until;
      ++pieces_;
    }
  }
  /// Builds the table of a curve with overlapping terms; other curves are as fast without.
  void tabulate() {
    const auto overlaps = [](const Line& line) { return line.overlap != 1; };
    if (std::none_of(lines_.begin(), lines_.begin() + count_, overlaps)) return;
    table_.fill([this](double min, double max) {
      const int at = piece_at(min);
      return at + 1 == pieces_ || until_[static_cast<std::size_t>(at)] >= max ? &line_at(line_index(at)) : nullptr;
    });
  }

 private:
  void extend(double until) { until_[static_cast<std::size_t>(pieces_ - 1)] = until; }
  [[nodiscard]] std::size_t piece(double bytes) const { return index_[static_cast<std::size_t>(piece_at(bytes))]; }

  Fabric fabric_;
  int count_ = 0;
  int pieces_ = 0;
  std::array<double, max_pieces> until_{};
  std::array<unsigned char, max_pieces> index_{};
  std::array<Candidate, max_lines> candidates_{};
  std::array<Line, max_lines> lines_{};
  CurveTable table_;
};

/// compile(system, operation, choice): the operation's size does not matter. Excludes the time that a call from Python or
/// the host's launches add (`predict` and `sweep` add it). \throws RequestError when the ranks do not fit the machine, nothing
/// the choice allows can run, or a number of the machine is out of range (check)
[[nodiscard]] Curve compile(const System& system, const Operation& operation, const Choice& choice = {});

}  // namespace fabricost::core

namespace fabricost {
using core::compile;
using core::Curve;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/predict/curve-inl.hpp>
#endif
