#pragma once
/// \file watch.hpp
/// What ends a process that waits for one that will never answer.
///
/// A blocking call of MPI cannot be left from outside. So a thread looks at the clock, and when a repetition has taken longer than the
/// limit it says so and ends the process with status 2; mpirun then ends the others, and each of them has a watch of its own.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace fabricost::measure::mpi {

class Watch {
 public:
  explicit Watch(double limit);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Seconds after which nobody is waited for any more.
  [[nodiscard]] double limit() const { return limit_; }
  /// What the process is about to do, for the message.
  void name(std::string what);
  void start();
  void stop() { deadline_.store(0, std::memory_order_relaxed); }

 private:
  void look();

  double limit_;
  std::atomic<double> deadline_{0};  ///< 0: nothing is waited for
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::string what_;
  std::thread thread_;
};

/// Watched from here to the end of the block.
class Watched {
 public:
  explicit Watched(Watch& watch) : watch_(watch) { watch_.start(); }
  ~Watched() { watch_.stop(); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  Watch& watch_;
};

}  // namespace fabricost::measure::mpi
