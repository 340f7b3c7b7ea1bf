#pragma once
/// The processes of this run: MPI's C interface with errors as exceptions, ranks and hosts, and agreement between processes.
///
/// Communication between measurements uses its own communicator and never blocks forever: a process that does
/// not answer within the limit counts as lost (DeviceLost), so that the first can still write the results.
///
/// A blocking call of MPI cannot be interrupted from outside. A thread therefore watches the clock (Watch); when a
/// repetition exceeds the limit, it prints a message and ends the process with status 2. mpirun then ends the
/// others, each of which has its own watch.
///
/// If one process fails, all throw; otherwise the others would wait for it inside MPI.

#include "measure/device.hpp"

#include <atomic>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#define OMPI_SKIP_MPICXX 1  // the C++ bindings were removed from the standard and give warnings
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace fabricost::probes::measure::mpi {

/// \throws DeviceLost for a lost process (reported by fault-tolerant MPI), DeviceFault with the library's
/// message otherwise
void check(int code, const char* call);

// From MPI 4 on, every call has a variant with suffix _c and 64-bit counts.
#if MPI_VERSION >= 4
using Count = MPI_Count;
#define FABRICOST_MPI(call) call##_c
#else
using Count = int;
#define FABRICOST_MPI(call) call
#endif
inline constexpr Count widest_count = std::numeric_limits<Count>::max();

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

class World {
 public:
  /// Starts MPI unless it is running. \param limit seconds after which processes give up waiting
  /// \param apart assume different clocks, even if the processes share one
  World(double limit, bool apart);
  /// Ends MPI, except after DeviceLost, when that would wait for the lost process.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  /// The communicator of the measured calls, with ranks as the user placed them.
  [[nodiscard]] MPI_Comm measured() const { return measured_; }
  [[nodiscard]] Watch& watch() { return watch_; }

  /// Processor names by rank.
  [[nodiscard]] const std::vector<std::string>& hosts() const { return hosts_; }
  [[nodiscard]] int ranks_here() const { return ranks_here_; }
  /// More processes than processors on some host: waiting processes must then sleep, so that they do not
  /// delay those that carry the data.
  [[nodiscard]] bool crowded() const { return crowded_; }
  /// All processes read one clock.
  [[nodiscard]] bool one_clock() const { return one_clock_; }

  // \throws DeviceLost, DeviceFault
  /// The maximum over all processes, element by element, in every process.
  void max(std::span<double> values);
  [[nodiscard]] bool any(bool value);
  /// Copies the values of process `from` to every process.
  void share(std::span<double> values, int from = 0);
  [[nodiscard]] std::string share(const std::string& text, int from = 0);
  [[nodiscard]] std::vector<std::string> gather(const std::string& text);
  /// Blocks until all processes arrive; watched.
  void meet();

 private:
  void finish(MPI_Request request, const char* call);

  Watch watch_;
  bool ours_ = false, lost_ = false;
  MPI_Comm measured_ = MPI_COMM_NULL, control_ = MPI_COMM_NULL;
  int rank_ = 0, ranks_ = 1, ranks_here_ = 1;
  bool crowded_ = false, one_clock_ = false;
  std::vector<std::string> hosts_;
};

/// The failure of this process, in order of severity; all throw the most severe one.
struct Failure {
  enum class Kind : unsigned char { none, unsupported, out_of_memory, wrong_result, fault };
  Kind kind = Kind::none;
  std::string text{};
};

/// The exception of `work` as a Failure. DeviceLost is passed on, since lost processes cannot be asked.
template <class Work>
[[nodiscard]] Failure failure_of(Work&& work) {
  try {
    work();
  } catch (const Unsupported& e) {
    return {Failure::Kind::unsupported, e.what()};
  } catch (const OutOfMemory& e) {
    return {Failure::Kind::out_of_memory, e.what()};
  } catch (const WrongResult& e) {
    return {Failure::Kind::wrong_result, e.what()};
  } catch (const DeviceFault& e) {
    return {Failure::Kind::fault, e.what()};
  }
  return {};
}

/// Collects failures; either all processes throw the same exception or none throws.
/// \throws Unsupported, OutOfMemory, WrongResult, DeviceFault, DeviceLost
void fail_alike(World& world, const Failure& mine);

/// Checks that all processes are about to run the same case. \throws DeviceFault in all when one is not
void agree_on(World& world, const Case& what);

}  // namespace fabricost::probes::measure::mpi
