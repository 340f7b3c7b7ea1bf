#pragma once
/// Ctrl-C, and the SIGTERM of a scheduler, as a question that long jobs ask.

#include <csignal>

namespace fabricost::cli {

/// During its lifetime a first signal is noted, for the job to end cleanly; a second one kills the process.
class Interrupts {
 public:
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();
  [[nodiscard]] static bool came();

 private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

}  // namespace fabricost::cli
