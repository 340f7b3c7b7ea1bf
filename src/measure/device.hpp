#pragma once
/// \file device.hpp
/// What a probe asks of a machine, and nothing of how it answers: GPUs through CUDA or HIP (src/measure/gpu, a plugin), processes through
/// MPI (src/measure/mpi, a plugin), or a machine made up by a test. What to time, how often, when to stop and what to believe is decided on
/// this side (measure.hpp); a Device only prepares one case at a time, checks its result, and times it.
///
/// Several processes (MPI, many nodes) run the same code in step: every decision that hangs on a clock or a time goes through `agreed`.

#include "readings/probe_table.hpp"

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/collective.hpp>
#include <fabricost/price/protocol.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::measure {

/// Changes with this file (thousands) and with the table of probes: a plugin of another interface is refused.
inline constexpr int device_interface = 4000 + static_cast<int>(probe_table.size());

/// One thing to time. Fields a kind does not name are ignored.
struct Case {
  ProbeKind kind = ProbeKind::memory_copy;
  std::uint64_t bytes = 0;                   ///< of a transfer or working set; of a collective the nccl-tests size
  int gpu = 0;                               ///< of the kinds that take one
  std::vector<std::pair<int, int>> pairs{};  ///< of the peer kinds: from, to
  std::vector<int> gpus{};                   ///< of a collective: the GPUs of this process that take part
  bool both_ways = false;
  bool pinned = true;
  bool cold = false;  ///< L2 flushed before every repetition
  Collective operation = Collective::all_reduce;
  DataType dtype = DataType::half;
  std::optional<Algorithm> algorithm{};  ///< forced
  std::optional<Protocol> protocol{};    ///< forced
  std::optional<bool> nvls{};            ///< in-switch reduction allowed or not; nothing: as the library has it
  bool in_place = false;
  bool graph = true;  ///< repetitions replayed from a graph where the runtime can, else launched one by one
};

/// Seconds of one repetition, averaged over those of one run.
struct Timing {
  double device = 0;  ///< between events on the device; of the slowest participant
  double host = 0;    ///< by the host's monotonic clock around the same repetitions, waiting included
};

/// A case made ready: memory allocated, peers enabled, run once and its result checked bit by bit.
class Job {
 public:
  virtual ~Job() = default;
  /// Times `repetitions` of it, one after the other without a gap. \throws DeviceLost, DeviceFault
  [[nodiscard]] virtual Timing run(int repetitions) = 0;
};

/// One GPU, or one process of an MPI run. Zero and empty: unknown.
struct Unit {
  std::string name{}, uuid{}, bus{}, vbios{};
  int compute = 0;  ///< NVIDIA: 90 for 9.0; AMD: gfx number
  int multiprocessors = 0;
  std::uint64_t memory = 0, free_memory = 0, l2 = 0;  ///< bytes
  int numa_node = -1;
  int pcie_generation = 0, pcie_lanes = 0;            ///< of the link as it is now (under load)
  int pcie_generation_max = 0, pcie_lanes_max = 0;    ///< of what both ends can do
  int nvlinks = 0;                                    ///< active
  double clock = 0, clock_max = 0, memory_clock = 0;  ///< Hz
  double power_limit = 0;                             ///< W
  std::optional<bool> ecc{}, mig{};
  bool mig_instance = false;  ///< what we see is a slice
  std::string host{};         ///< of a process
};

/// The machine as the probes find it.
struct Machine {
  std::string runtime{};          ///< "CUDA", "HIP", "MPI"
  std::string runtime_version{};  ///< "13.0"
  std::string driver{};           ///< "580.95.05"
  std::string library{};          ///< of the collectives: "nccl", "rccl", "openmpi", "mpich"; empty: none was found
  std::string library_version{};
  std::string host{}, processor{}, kernel{};  ///< the first process's
  int sockets = 0;
  std::vector<Unit> units{};                     ///< of this process (GPUs), of all (MPI)
  std::vector<std::vector<bool>> peer_access{};  ///< [from][to]
  std::vector<std::string> remarks{};            ///< what a reader of the numbers should know: libraries that were not found and why
  std::vector<std::pair<Collective, Algorithm>> forced{};  ///< what the library's environment makes it run, whatever a case asks
  int nodes = 0;  ///< hosts of all processes; 0: counted from the hosts of `units` (MPI), else one for each process
};

/// What could explain a bad time, at this moment.
struct State {
  double clock = 0, memory_clock = 0;  ///< Hz; 0: unknown
  double temperature = 0, power = 0;   ///< degrees C, W
  std::string throttled{};             ///< "power cap, thermal"; empty: no
};

/// A case that this machine cannot run (no peer access, type not supported): a reason, not a failure.
class Unsupported : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};
/// Too little memory for this case; a smaller one may do.
class OutOfMemory : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};
/// The result of a probe was wrong: its times would mean nothing.
class WrongResult : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};
/// A call failed; the device may still do other cases.
class DeviceFault : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};
/// A GPU or a process is gone: nothing more can be measured.
class DeviceLost : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual Machine describe() = 0;
  [[nodiscard]] virtual State state(int unit) = 0;
  /// \throws Unsupported, OutOfMemory, WrongResult, DeviceFault, DeviceLost
  [[nodiscard]] virtual std::unique_ptr<Job> prepare(const Case& what) = 0;

  // several processes; alone unless overridden
  [[nodiscard]] virtual int process() const { return 0; }
  [[nodiscard]] virtual int processes() const { return 1; }
  /// The first process's value, in every process.
  [[nodiscard]] virtual double agreed(double value) { return value; }
  /// True in every process when it is in one: a fault of one must stop all.
  [[nodiscard]] virtual bool any(bool value) { return value; }
};

/// Every plugin exports this under the name `fabricost_device`: a device, or nothing and a reason (no driver, no GPU) in `why`.
/// \param interface what the caller was built with; another than the plugin's is a reason
using OpenDevice = Device* (*)(int interface, std::string& why);

}  // namespace fabricost::measure
