#pragma once
/// The GPUs of this process and the resources shared by probes: peer access, buffers that flush L2, the gate
/// (a kernel that holds the first stream, and with it all streams that wait for it, until the host has enqueued the timed work),
/// communicators, the other processes; and the description of the machine.

#include "measure/device.hpp"
#include "measure/gpu/management.hpp"
#include "measure/gpu/nccl_library.hpp"
#include "measure/gpu/probes/kernels.hpp"
#include "measure/gpu/processes/rendezvous.hpp"
#include "measure/gpu/resources.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

namespace fabricost::probes::measure::gpu {

class Gate {
 public:
  Gate() : flag_(pinned_memory(sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable)) { open(); }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Holds `stream`, of the current device, until open(). Calls that wait for the device (allocations, copies
  /// of pageable memory, the first launch of a kernel) must not come before open().
  void close(cudaStream_t stream) {
    set(0);
    void* seen = nullptr;
    check(cudaHostGetDevicePointer(&seen, flag_.as<void>(), 0), "mapping the gate");
    const cudaError_t status = hold(static_cast<const int*>(seen), stream);
    if (status != cudaSuccess) open();
    check(status, "holding a stream");
  }
  void open() { set(1); }

 private:
  void set(int value) {
    *flag_.as<volatile int>() = value;
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  Memory flag_;
};

/// Opens the gate at the end of a scope, since a held stream would block the clean-up after a failure.
struct OpensGate {
  Gate& gate;
  ~OpensGate() { gate.open(); }
};

class Gpus {
 public:
  /// GPUs `first` to `first + count - 1` of those visible to the runtime; one process without a rendezvous.
  Gpus(int first, int count, int nodes, std::unique_ptr<Rendezvous> others);

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int nodes() const { return nodes_; }
  /// The runtime's number of our GPU `gpu`. \throws Unsupported for an invalid index
  [[nodiscard]] int ordinal(int gpu) const;
  [[nodiscard]] int attribute(int gpu, int which) const;
  [[nodiscard]] int multiprocessors(int gpu) const;
  [[nodiscard]] std::uint64_t l2_bytes(int gpu) const;
  [[nodiscard]] int compute(int gpu) const;

  [[nodiscard]] bool can_reach(int from, int to) const;
  /// Enables direct access of `from` to memory of `to` (loads, stores, copies), once per pair.
  /// \throws Unsupported
  void reach(int from, int to);

  /// A buffer of twice this GPU's L2, written to evict everything else.
  [[nodiscard]] const Buffer& flusher(int gpu);
  [[nodiscard]] Gate& gate() { return gate_; }
  [[nodiscard]] const Management& management() const { return management_; }
  [[nodiscard]] NcclLibraries& nccl() { return nccl_; }
  /// Communicators by communicator_key. Only the most recent are kept, since each needs memory on every GPU.
  [[nodiscard]] std::shared_ptr<Communicators> communicators(const Case& what);
  /// Rounds of arithmetic that take as long as a collective, by a key of that collective.
  [[nodiscard]] std::map<std::string, std::uint64_t>& arithmetic_rounds() { return arithmetic_rounds_; }

  [[nodiscard]] const Rendezvous* others() const { return others_.get(); }
  [[nodiscard]] int process() const { return others_ ? others_->rank() : 0; }
  [[nodiscard]] int processes() const { return others_ ? others_->processes() : 1; }
  void broadcast(void* bytes, std::size_t size);
  /// The maximum over all processes. \throws DeviceLost when one is gone
  [[nodiscard]] double highest(double value);
  /// The first process's value, in every process.
  [[nodiscard]] double agreed(double value) {
    broadcast(&value, sizeof value);
    return value;
  }
  /// Runs a step in all processes. If it fails in one, all throw, with the same kind of exception.
  template <class Step>
  void together(Step step);

 private:
  [[noreturn]] static void rethrow_as(int severity);

  int first_, count_, nodes_;
  std::unique_ptr<Rendezvous> others_;
  Management management_;
  Gate gate_;
  std::set<std::pair<int, int>> reached_{};
  std::map<int, Buffer> flushers_{};
  NcclLibraries nccl_{};
  std::vector<std::pair<std::string, std::shared_ptr<Communicators>>> communicators_{};
  std::map<std::string, std::uint64_t> arithmetic_rounds_{};
};

template <class Step>
void Gpus::together(Step step) {
  std::exception_ptr mine;
  int severity = 0;
  try {
    step();
  } catch (const std::bad_alloc&) {
    mine = std::make_exception_ptr(OutOfMemory("host memory"));
    severity = 2;
  } catch (const Unsupported&) {
    mine = std::current_exception();
    severity = 1;
  } catch (const OutOfMemory&) {
    mine = std::current_exception();
    severity = 2;
  } catch (const WrongResult&) {
    mine = std::current_exception();
    severity = 3;
  } catch (const DeviceFault&) {
    mine = std::current_exception();
    severity = 4;
  } catch (const DeviceLost&) {
    mine = std::current_exception();
    severity = 5;
  }
  const int worst = static_cast<int>(highest(severity));
  if (mine && severity == worst) std::rethrow_exception(mine);
  if (worst > 0) rethrow_as(worst);
}

/// Loads each GPU's PCIe link while the driver is queried, since an idle link runs at a lower generation.
[[nodiscard]] Machine describe_machine(Gpus& gpus);
/// Bus address as the runtime and the driver write it. \throws DeviceFault
[[nodiscard]] std::string bus_of(const Gpus& gpus, int gpu);

}  // namespace fabricost::probes::measure::gpu
