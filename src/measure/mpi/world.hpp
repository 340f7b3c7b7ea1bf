#pragma once
/// \file world.hpp
/// The processes of this run: who they are, where they run, and how they agree.
///
/// What is said between measurements goes over a communicator of its own and never blocks for good: a process that does not answer within
/// the limit is taken for gone (DeviceLost), so that the first process can still write what was measured.

#include "measure/mpi/calls.hpp"
#include "measure/mpi/watch.hpp"

#include <span>
#include <string>
#include <vector>

namespace fabricost::measure::mpi {

class World {
 public:
  /// Starts MPI unless it runs. \param limit seconds after which nobody is waited for any more
  /// \param apart take the processes' clocks for different ones even where they are not
  World(double limit, bool apart);
  /// Ends MPI; after DeviceLost it does not, since that would wait for whoever is gone.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  /// What is measured runs on this one; ranks as the user placed them.
  [[nodiscard]] MPI_Comm measured() const { return measured_; }
  [[nodiscard]] Watch& watch() { return watch_; }

  /// By rank: the processor names.
  [[nodiscard]] const std::vector<std::string>& hosts() const { return hosts_; }
  [[nodiscard]] int ranks_here() const { return ranks_here_; }
  /// More processes than processors on some host, ours or others': who waits must sleep, or it holds up those who carry the data.
  [[nodiscard]] bool crowded() const { return crowded_; }
  /// All processes read one clock.
  [[nodiscard]] bool one_clock() const { return one_clock_; }

  // \throws DeviceLost, DeviceFault
  /// The largest over all processes, element by element, in all of them.
  void max(std::span<double> values);
  [[nodiscard]] bool any(bool value);
  /// Those of process `from`, in all of them.
  void share(std::span<double> values, int from = 0);
  [[nodiscard]] std::string share(const std::string& text, int from = 0);
  [[nodiscard]] std::vector<std::string> gather(const std::string& text);
  /// Blocks until everybody is there; watched.
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

}  // namespace fabricost::measure::mpi
