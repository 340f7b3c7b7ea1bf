#pragma once
/// \file gpus.hpp
/// The GPUs of this process and what the probes share: which can reach which, buffers that flush L2, the gate, communicators, the other
/// processes.

#include "measure/device.hpp"
#include "measure/gpu/gate.hpp"
#include "measure/gpu/management.hpp"
#include "measure/gpu/nccl_library.hpp"
#include "measure/gpu/processes/rendezvous.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fabricost::measure::gpu {

class Gpus {
 public:
  /// GPUs `first` to `first + count - 1` of those the runtime shows; alone without a rendezvous.
  Gpus(int first, int count, int nodes, std::unique_ptr<Rendezvous> others);

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int nodes() const { return nodes_; }
  /// The runtime's number of our GPU `gpu`. \throws Unsupported when there is none
  [[nodiscard]] int ordinal(int gpu) const;
  [[nodiscard]] int attribute(int gpu, int which) const;
  [[nodiscard]] int multiprocessors(int gpu) const;
  [[nodiscard]] std::uint64_t l2_bytes(int gpu) const;
  [[nodiscard]] int compute(int gpu) const;

  [[nodiscard]] bool can_reach(int from, int to) const;
  /// Loads, stores and copies of `from` reach memory of `to` directly from here on; the runtime enables each pair once. \throws
  /// Unsupported
  void reach(int from, int to);

  /// Twice L2 of this GPU, written to push everything else out.
  [[nodiscard]] const Buffer& flusher(int gpu);
  [[nodiscard]] Gate& gate() { return gate_; }
  [[nodiscard]] const Management& management() const { return management_; }
  [[nodiscard]] NcclLibraries& nccl() { return nccl_; }
  /// Communicators by communicator_key; only the last used are kept, since each takes memory of every GPU.
  [[nodiscard]] std::shared_ptr<Communicators> communicators(const Case& what);
  /// Rounds of arithmetic that take as long as a collective; by what it is compared with.
  [[nodiscard]] std::map<std::string, std::uint64_t>& arithmetic_rounds() { return arithmetic_rounds_; }

  [[nodiscard]] const Rendezvous* others() const { return others_.get(); }
  [[nodiscard]] int process() const { return others_ ? others_->rank() : 0; }
  [[nodiscard]] int processes() const { return others_ ? others_->processes() : 1; }
  void broadcast(void* bytes, std::size_t size);
  /// The highest of all processes. \throws DeviceLost when one is gone
  [[nodiscard]] double highest(double value);
  /// The first process's value, in every process.
  [[nodiscard]] double agreed(double value) {
    broadcast(&value, sizeof value);
    return value;
  }
  /// Runs a step that all processes take; when it failed in one, all throw, the others the same kind.
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
  } catch (const Unsupported&) {
    mine = std::current_exception(), severity = 1;
  } catch (const OutOfMemory&) {
    mine = std::current_exception(), severity = 2;
  } catch (const WrongResult&) {
    mine = std::current_exception(), severity = 3;
  } catch (const DeviceFault&) {
    mine = std::current_exception(), severity = 4;
  } catch (const DeviceLost&) {
    mine = std::current_exception(), severity = 5;
  }
  const int worst = static_cast<int>(highest(severity));
  if (mine && severity == worst) std::rethrow_exception(mine);
  if (worst > 0) rethrow_as(worst);
}

}  // namespace fabricost::measure::gpu
