#pragma once
/// Progress of a long command on stderr: a bar redrawn in place on a terminal, occasional lines elsewhere.

#include <fabricost/namespaces.hpp>

#include <fabricost/progress.hpp>

#include <chrono>
#include <string>

namespace fabricost::cli {

class ProgressLine {
 public:
  /// \param quiet prints nothing
  explicit ProgressLine(bool quiet);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  /// \param done 0 to 1; negative: not known \param left upper bound, s; of what is not known the time so far
  void show(const std::string& now, double done, double left);
  /// Clears the bar.
  void end();

 private:
  bool quiet_, terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

/// During its lifetime, searches of this thread that last longer than half a second draw a bar on a terminal.
class SearchProgress {
 public:
  SearchProgress();
  SearchProgress(const SearchProgress&) = delete;
  SearchProgress& operator=(const SearchProgress&) = delete;
  ~SearchProgress();

 private:
  core::ProgressTo counted_;
  core::InterruptWith ticks_;
};

}  // namespace fabricost::cli
