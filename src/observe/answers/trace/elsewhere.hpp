#pragma once
/// \file elsewhere.hpp
/// The time of a trace's kernels and calls on another machine.

#include "answers/trace/machine.hpp"
#include "trace/replay.hpp"

namespace fabricost::observe::detail {

/// The place in its interval at which every kernel and call is taken.
enum class End : unsigned char { fast, middle, slow };

class Exchange {
 public:
  /// \param here the machine of the traces; nullptr: not known, which only the same machine does without
  /// \param there nullptr: the same machine
  Exchange(const timeline::Job& job, TraceMachine* here, TraceMachine* there);

  [[nodiscard]] timeline::Elsewhere at(End end);
  /// The assumptions made, a sentence each.
  [[nodiscard]] std::vector<std::string> assumed() const;

 private:
  /// Time there over time here of one kind of kernel.
  struct Ratio {
    double low = 1, middle = 1, high = 1;
    [[nodiscard]] double at(End end) const { return end == End::fast ? low : end == End::slow ? high : middle; }
  };
  [[nodiscard]] double kernel(Work work, double ns, End end) const;
  [[nodiscard]] timeline::Carried call(const timeline::Call& call, End end);
  [[nodiscard]] Ratio by_links(const timeline::Call& call) const;
  void compare(const System& here, const System& there);

  const timeline::Job& job_;
  TraceMachine *here_, *there_;
  std::array<Ratio, work_names.size()> ratios_{};
  double start_here_ = 0, start_there_ = 0;  ///< ns before a product begins
  Ratio all_;                                ///< of all the job's kernels
  double untold_ = 0, computed_ = 0;         ///< ns of kernels whose names tell nothing, and of all
  bool other_generation_ = false;
  std::size_t calls_ = 0, by_links_ = 0, outside_ = 0;
};

}  // namespace fabricost::observe::detail
