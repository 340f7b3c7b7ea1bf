#pragma once
/// Buffers registered with communicators. Stricter than NCCL: each must come from ncclMemAlloc on the communicator's device, and must not
/// be released while it is registered.

#include "nccl_ranks.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace stand_in {

class Registrations {
 public:
  /// A handle; nullptr: refused.
  static void* add(const State& of, void* at, std::size_t bytes, bool symmetric) {
    if (!is_library_memory(at, bytes) || owner_of(at, bytes) != of.device) return nullptr;
    const std::lock_guard lock(mutex());
    all().push_back(std::make_unique<One>(One{&of, at, symmetric}));
    return all().back().get();
  }
  /// False if there is none like it.
  static bool remove(const State& of, const void* handle, bool symmetric) {
    return erase([&](const One& one) { return &one == handle && one.of == &of && one.symmetric == symmetric; }) == 1;
  }
  /// Those of a communicator that is aborted.
  static void forget(const State& of) {
    erase([&](const One& one) { return one.of == &of; });
  }
  [[nodiscard]] static bool holds(const void* at) {
    const std::lock_guard lock(mutex());
    for (const auto& one : all())
      if (one->at == at) return true;
    return false;
  }

 private:
  struct One {
    const State* of;
    void* at;
    bool symmetric;
  };
  template <class Which>
  static std::size_t erase(Which which) {
    const std::lock_guard lock(mutex());
    return std::erase_if(all(), [&](const auto& one) { return which(*one); });
  }
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::vector<std::unique_ptr<One>>& all() {
    static std::vector<std::unique_ptr<One>> every;
    return every;
  }
};

}  // namespace stand_in
