#pragma once
/// The launch of a collective: who launches it on which GPUs, and the host's time for it. The host works beside the GPUs, so that a call
/// takes nearly the larger of the two times:
///
///   t = norm_4( GPU , host )      host = share g ( l + p sends and receives of a rank )      l = host_gpu or rccl_host_gpu, p = host_peer
///
///   graph        a graph's replay, or work queued far ahead: no host                       the GPU's time (default)
///   queued       the same, one call after the other
///   process      a process per GPU, as under mpirun: g = 1
///   threads      a thread per GPU of one process: g its GPUs, share = host_threads, as they wait for each other's locks
///   one_process  a thread for all GPUs, as `-g 8` of nccl-tests: g its GPUs, share = 1
///   eager        called from Python: engines' kernels and NCCL in price/custom_reduce.hpp; with RCCL the GPU's time + rccl_call + p
///                sends and receives, of each call between two events, for which the GPUs wait
///   xla          a module of XLA around the collective: the GPU's time + host_module; with RCCL norm_4( GPU , rccl_module + n
///                rccl_module_rank + p rccl_module_peer ), as its kernels wait for the ranks' threads to meet
///
/// Fitted to nccl-tests of five machines and to RCCL on MI350X (data/priors/scale-up.yaml). Launches follow from the library and the host,
/// so that all machines of AMD have RCCL's. Between domains a process per GPU adds nothing: every run that the constants of transports were
/// fitted to and that says how it was launched had one.

#include <fabricost/hardware/constant_sets.hpp>
#include <fabricost/price/fabric.hpp>

#include <array>
#include <string_view>

namespace fabricost::core {

enum class LaunchMode : unsigned char { graph, eager, queued, process, threads, one_process, xla };
inline constexpr std::array<std::string_view, 7> launch_mode_names{"graph", "eager", "queued", "process", "threads", "one_process",
                                                                   "xla"};
[[nodiscard]] constexpr std::string_view name(LaunchMode m) { return launch_mode_names[static_cast<std::size_t>(m)]; }

struct CallLaunch {
  LaunchMode mode = LaunchMode::graph;
  unsigned short gpus = 0;  ///< that one process drives; 0: all of a node that take part
  friend constexpr bool operator==(const CallLaunch&, const CallLaunch&) = default;
};

/// A host launches each call, on GPUs that do not wait for its end.
[[nodiscard]] constexpr bool is_launched_by_host(CallLaunch l) {
  return l.mode == LaunchMode::process || l.mode == LaunchMode::threads || l.mode == LaunchMode::one_process;
}
/// Calls follow each other without waiting for the last to end on all ranks (nccl-tests' way).
[[nodiscard]] constexpr bool is_back_to_back(CallLaunch l) { return l.mode == LaunchMode::queued || is_launched_by_host(l); }
/// The launch takes time beside the GPUs', or after it.
[[nodiscard]] constexpr bool adds_to_gpus(CallLaunch l) {
  return is_launched_by_host(l) || l.mode == LaunchMode::xla || l.mode == LaunchMode::eager;
}

/// The time the host needs to launch one call.
struct HostTime {
  double gpus = 0;      ///< GPUs that one process launches on
  double per_gpu = 0;   ///< seconds per GPU
  double messages = 0;  ///< sends and receives of a rank
  double share = 0;     ///< factor on that time: host_threads where threads of one process launch, else 1
  [[nodiscard]] double seconds() const { return gpus * per_gpu * share; }
};
/// Sends and receives that a rank adds to an exchange.
[[nodiscard]] double messages_of(const Fabric& f, Collective op);

/// All zero where the host takes no part, or is not modelled. \param own seconds the machine's processor takes for one GPU; 0: not known
[[nodiscard]] HostTime host_time(const ScaleUpForm& form, double own, const Fabric& f, Collective op, CallLaunch launch);

/// Seconds that a call of RCCL adds to its kernel where each is timed by itself; 0 for other libraries, whose calls from Python are priced
/// with engines' kernels.
[[nodiscard]] double rccl_call(const ScaleUpForm& form, const Fabric& f, Collective op, CallLaunch launch);

/// Seconds that a module of XLA adds to a collective of RCCL; 0 for other libraries.
[[nodiscard]] double rccl_module(const ScaleUpForm& form, const Fabric& f, Collective op);

}  // namespace fabricost::core

namespace fabricost {
using core::LaunchMode;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/choice/launch-inl.hpp>
#endif
