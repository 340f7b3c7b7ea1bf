#pragma once
/// Adaptive routes of a dragonfly: what the wires between two groups do not carry crosses a third group, two wires instead of one (Valiant's
/// way; Kim, Dally, Scott, Abts, ISCA 2008), each other group of the machine with an even part of it.
///
///   on the way over others    e D, of what a pair of groups sends: D less what its own wires carry beside the ways of other pairs
///   on each wire              of those ways at most c, what it carries; a wire leads from a group to each other one
///
/// So two halves that send each other all they have move what the wires between them carry, and an all-to-all of the whole machine fits
/// its wires.

#include <fabricost/plan/network/traffic.hpp>

#include <vector>

namespace fabricost::plan::detail {

class Detours {
 public:
  explicit Detours(const Topology& t);
  /// The links that a flow crosses, each with its load over `unit`; of the wires between groups those of its ways over others.
  [[nodiscard]] std::vector<LinkUse> uses(const Traffic& one, double unit) const;
  /// Counts what a flow sends between groups at `rate` a byte of its size.
  void send(const Traffic& one, double rate);
  /// Sets what goes over third groups by what all flows have sent since. \return whether it has moved, so that the flows share anew
  [[nodiscard]] bool follow();
  /// Share of all bytes between groups that cross a third one.
  [[nodiscard]] double share() const { return share_; }

 private:
  [[nodiscard]] bool possible() const { return top_ != nullptr; }

  const Topology& t_;
  const NetworkLevel* top_ = nullptr;     ///< null: there is no third group
  double wires_ = 0;                      ///< bytes a second between two groups
  std::vector<double> detoured_, loads_;  ///< of each pair
  double share_ = 0;
  int rounds_ = 0;
};

}  // namespace fabricost::plan::detail
