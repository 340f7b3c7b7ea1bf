#pragma once
/// \file watch.hpp
/// Ends a process that waits for another one that will never answer.
///
/// A blocking call of MPI cannot be interrupted from outside. A thread therefore watches the clock; when a
/// repetition exceeds the limit, it prints a message and ends the process with status 2. mpirun then ends the
/// others, each of which has its own watch.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace fabricost::probes::measure::mpi {

class Watch {
 public:
  explicit Watch(double limit);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Seconds after which the process gives up waiting.
  [[nodiscard]] double limit() const { return limit_; }
  /// Sets the current task, for the message.
  void name(std::string what);
  void start();
  void stop() { deadline_.store(0, std::memory_order_relaxed); }

 private:
  void look();

  double limit_;
  std::atomic<double> deadline_{0};  ///< 0: not waiting
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::string what_;
  std::thread thread_;
};

/// Watches from here to the end of the scope.
class Watched {
 public:
  explicit Watched(Watch& watch) : watch_(watch) { watch_.start(); }
  ~Watched() { watch_.stop(); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  Watch& watch_;
};

}  // namespace fabricost::probes::measure::mpi
