#pragma once
/// The rank of this process and the number of processes, from torchrun, Open MPI, MPICH or SLURM.

#include <functional>
#include <optional>
#include <string>

namespace fabricost::probes::measure::gpu {

struct ProcessPlace {
  int rank = 0, processes = 1;
  int local_rank = 0, local_processes = 1;  ///< on this node, whose GPUs are divided among them
  std::string address{};                    ///< of the first process; empty for a single process
  int port = 0;
  std::string secret{};    ///< FABRICOST_SECRET: shared by all processes of the job and nobody else
  std::string launcher{};  ///< "torchrun", "SLURM", ...; empty for a single process
};

/// Reads a variable; empty if it is not set.
using ReadVariable = std::function<std::optional<std::string>(const std::string&)>;

/// The first host of a SLURM list: node[003-004,007],other -> node003.
[[nodiscard]] std::string first_host(const std::string& list);

/// The place according to the first launcher found. Processes of one node use its loopback address. The port
/// is FABRICOST_PORT, else MASTER_PORT + 1 (torchrun itself listens on MASTER_PORT), else 29555.
/// \throws std::invalid_argument naming an invalid variable and its value
[[nodiscard]] ProcessPlace process_place(const ReadVariable& read);
/// The same for this process's environment.
[[nodiscard]] ProcessPlace process_place();

}  // namespace fabricost::probes::measure::gpu
