#pragma once
/// The interface between probes and a machine: GPUs through CUDA or HIP (src/measure/gpu, a plugin) or a simulated machine of the tests.
/// The engine (measure.hpp) decides what to time, how often, when to stop and which times are valid; a Device only prepares one case at a
/// time, checks its result, and times it.
///
/// Several processes (of many nodes) run the same code in step: every decision that depends on a clock or a
/// time goes through `agreed`.

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

namespace fabricost::probes::measure {

/// Changes with this file (thousands) and with the table of probes; plugins with another value are refused.
inline constexpr int device_interface = 6000 + static_cast<int>(probe_table.size());

/// Whether the buffers of a collective are known to the library beforehand: not, by each rank for itself (nccl-tests -R 1), or by all
/// ranks together at the same offset (nccl-tests -R 2).
enum class Registration : unsigned char { none, own, symmetric };

/// One thing to time. Fields that a kind does not use are ignored.
struct Case {
  ProbeKind kind = ProbeKind::memory_copy;
  std::uint64_t bytes = 0;                   ///< of a transfer or working set; of a collective the nccl-tests size
  int gpu = 0;                               ///< for kinds with a single GPU
  std::vector<std::pair<int, int>> pairs{};  ///< for peer kinds: from, to
  std::vector<int> gpus{};                   ///< for a collective: the participating GPUs of this process; for host kinds: all at once
  bool both_ways = false;
  bool pinned = true;
  bool cold = false;  ///< L2 is flushed before every repetition
  Collective operation = Collective::all_reduce;
  DataType dtype = DataType::half;
  std::optional<Algorithm> algorithm{};  ///< forced
  std::optional<Protocol> protocol{};    ///< forced
  std::optional<bool> nvls{};            ///< in-switch reduction allowed or not; empty: the library's default
  bool in_place = false;
  Registration registered = Registration::none;
  bool graph = true;  ///< repetitions are replayed from a graph where the runtime supports it, else launched one by one
};

/// Seconds of one repetition, averaged over those of one run.
struct Timing {
  double device = 0;  ///< between events on the device, of the slowest participant
  double host = 0;    ///< by the host's monotonic clock for the same repetitions, including the wait
};

/// A prepared case: memory allocated, peers enabled, and one run done with its result checked bit by bit.
class Job {
 public:
  virtual ~Job() = default;
  /// Times `repetitions` back-to-back runs. \throws DeviceLost, DeviceFault
  [[nodiscard]] virtual Timing run(int repetitions) = 0;
  /// False where repetitions were to be replayed from a graph, and the runtime could not capture them.
  [[nodiscard]] virtual bool in_graphs() const { return true; }
};

/// One GPU. Zero and empty: unknown.
struct Unit {
  std::string name{}, uuid{}, bus{}, vbios{};
  int compute = 0;  ///< NVIDIA: 90 for 9.0; AMD: gfx number
  int multiprocessors = 0;
  std::uint64_t memory = 0, free_memory = 0, l2 = 0;  ///< bytes
  int numa_node = -1;
  int pcie_generation = 0, pcie_lanes = 0;            ///< of the link in its present state (under load)
  int pcie_generation_max = 0, pcie_lanes_max = 0;    ///< supported by both ends
  int nvlinks = 0;                                    ///< active
  double clock = 0, clock_max = 0, memory_clock = 0;  ///< Hz
  double power_limit = 0;                             ///< W
  std::optional<bool> ecc{}, mig{};
  bool mig_instance = false;  ///< the visible device is a slice
  std::string host{};
};

/// The machine as the probes see it.
struct Machine {
  std::string runtime{};          ///< "CUDA", "HIP"
  std::string runtime_version{};  ///< "13.0"
  std::string driver{};           ///< "580.95.05"
  std::string library{};          ///< of the collectives: "nccl", "rccl"; empty: not found
  std::string library_version{};
  std::string host{}, processor{}, kernel{};  ///< of the first process
  int sockets = 0;
  std::vector<Unit> units{};                     ///< GPUs of this process
  std::vector<std::vector<bool>> peer_access{};  ///< [from][to]
  std::vector<std::string> remarks{};            ///< notes for readers of the results: libraries that were not found, with the reason
  int nodes = 0;                                 ///< of all processes; 0: one per process
};

/// Conditions at one moment that could explain an outlier.
struct State {
  double clock = 0, memory_clock = 0;  ///< Hz; 0: unknown
  double temperature = 0, power = 0;   ///< degrees C, W
  std::string throttled{};             ///< "power cap, thermal"; empty: not throttled
};

/// A case that this machine does not support (no peer access, unsupported type): a reason, not a failure.
class Unsupported : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};
/// Too little memory for this case; a smaller one may fit.
class OutOfMemory : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};
/// The result of a probe was wrong, so its times are meaningless.
class WrongResult : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};
/// A call failed; the device may still run other cases.
class DeviceFault : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};
/// A GPU or process is lost: nothing more can be measured.
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

  // for several processes; the defaults are those of a single one
  [[nodiscard]] virtual int process() const { return 0; }
  [[nodiscard]] virtual int processes() const { return 1; }
  /// The first process's value, in every process.
  [[nodiscard]] virtual double agreed(double value) { return value; }
  /// True in every process if it is true in one, since a failure of one must stop all.
  [[nodiscard]] virtual bool any(bool value) { return value; }
};

/// The function that every plugin exports as `fabricost_device`: returns a device, or nullptr with a reason
/// (no driver, no GPU) in `why`.
/// \param interface device_interface of the caller; if it differs from the plugin's, that is the reason
using OpenDevice = Device* (*)(int interface, std::string& why);

}  // namespace fabricost::probes::measure
