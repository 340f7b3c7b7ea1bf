#pragma once
/// \file probes.hpp
/// Every source of this folder registers the probes it prepares: it allocates, runs once, checks the result,
/// and returns a job to time.

#include "measure/gpu/batch.hpp"

#include <array>
#include <initializer_list>
#include <memory>

namespace fabricost::probes::measure::gpu {

/// Makes a case ready. \throws Unsupported, OutOfMemory, WrongResult, DeviceFault, DeviceLost
using Prepare = std::unique_ptr<Job> (*)(Gpus& gpus, const Case& what);

/// Registers the kinds that a source prepares, when the plugin is loaded: `const Prepares
/// these{{ProbeKind::...}, function};`
class Prepares {
 public:
  Prepares(std::initializer_list<ProbeKind> kinds, Prepare prepare) {
    for (const ProbeKind kind : kinds) all()[static_cast<std::size_t>(kind)] = prepare;
  }
  /// nullptr if no source registered it.
  [[nodiscard]] static Prepare of(ProbeKind kind) { return all()[static_cast<std::size_t>(kind)]; }

 private:
  static std::array<Prepare, probe_table.size()>& all() {
    static std::array<Prepare, probe_table.size()> known{};
    return known;
  }
};

/// Also used by compute_overlap, which adds to it.
[[nodiscard]] std::unique_ptr<Job> prepare_collective(Gpus& gpus, const Case& what);
/// The work of a checked collective; compute_overlap adds to it.
[[nodiscard]] Work collective_work(Gpus& gpus, const Case& what);
/// Blocks of a kernel of memory.cu (numbered as in blocks_per_multiprocessor) that fill this GPU.
[[nodiscard]] unsigned blocks_on(const Gpus& gpus, int gpu, int kernel, std::uint64_t bytes);
/// A chase's ring and the loads of one launch.
struct Ring {
  std::uint64_t steps = 0;
  void* start = nullptr;
  void* end = nullptr;  ///< expected final address of a launch
};
/// The bytes of the lines that a ring of at most `bytes` consists of. \throws Unsupported for too few or too many
[[nodiscard]] std::uint64_t ring_bytes(std::uint64_t bytes);
/// Writes a ring into memory that the current device reaches, as many bytes as ring_bytes says.
[[nodiscard]] Ring write_ring(void* memory, std::uint64_t bytes);
/// The ring of a latency beyond caches, unless a case says its size.
inline constexpr std::uint64_t ring_unless_said = std::uint64_t{1} << 20U;
/// \throws WrongResult unless the chase on this stream ended where its ring leads to
void expect_arrival(const Ring& ring, const Buffer& end, cudaStream_t stream, const std::string& name);
/// The GPUs of a case between GPUs and their host: all at once, or one.
[[nodiscard]] inline std::vector<int> beside_host(const Case& what) { return what.gpus.empty() ? std::vector{what.gpu} : what.gpus; }
/// \throws Unsupported when a case does not name a pair of two GPUs
void check_pairs(const Case& what);

}  // namespace fabricost::probes::measure::gpu
