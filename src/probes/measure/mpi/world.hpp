#pragma once
/// \file world.hpp
/// The processes of this run: their ranks, their hosts, and agreement between them.
///
/// Communication between measurements uses its own communicator and never blocks forever: a process that does
/// not answer within the limit counts as lost (DeviceLost), so that the first can still write the results.

#include "measure/mpi/calls.hpp"
#include "measure/mpi/watch.hpp"

#include <span>
#include <string>
#include <vector>

namespace fabricost::probes::measure::mpi {

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

}  // namespace fabricost::probes::measure::mpi
