#pragma once
/// \file progress.hpp
/// What a long command is doing, on stderr: a bar that is drawn over on a terminal, elsewhere a plain line now and then.

#include <chrono>
#include <string>

namespace fabricost::cli {

class ProgressLine {
 public:
  /// \param quiet says nothing at all
  explicit ProgressLine(bool quiet);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  /// \param done 0 to 1 \param left seconds, at most
  void show(const std::string& now, double done, double left);
  /// Clears the bar.
  void end();

 private:
  bool quiet_, terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace fabricost::cli
