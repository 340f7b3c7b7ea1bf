#pragma once
/// \file process_place.hpp
/// Which process of how many this is, read from what launchers put into the environment: torchrun, Open MPI, MPICH, SLURM.

#include <functional>
#include <optional>
#include <string>

namespace fabricost::measure::gpu {

struct ProcessPlace {
  int rank = 0, processes = 1;
  int local_rank = 0, local_processes = 1;  ///< of this node: its GPUs are dealt out to them
  std::string address{};                    ///< of the first process; empty when alone
  int port = 0;
  std::string secret{};    ///< FABRICOST_SECRET: what all processes of the job know and nobody else does
  std::string launcher{};  ///< "torchrun", "SLURM", ...; empty when alone
};

/// Reads a variable: nothing when it is not set.
using ReadVariable = std::function<std::optional<std::string>(const std::string&)>;

/// The first host of a SLURM list: node[003-004,007],other -> node003.
[[nodiscard]] std::string first_host(const std::string& list);

/// The first launcher found. Processes of one node meet at its loopback address. The port is FABRICOST_PORT, else one above MASTER_PORT
/// (torchrun listens on that itself), else 29555.
/// \throws std::invalid_argument naming the variable and its value when what is set makes no sense
[[nodiscard]] ProcessPlace process_place(const ReadVariable& read);
/// Of this process's environment.
[[nodiscard]] ProcessPlace process_place();

}  // namespace fabricost::measure::gpu
