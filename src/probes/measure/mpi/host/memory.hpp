#pragma once
/// \file memory.hpp
/// Host memory for messages: checks that there is enough before it is touched (Linux overcommits and then
/// kills a process), and allocates page-aligned buffers.

#include <cstddef>
#include <cstdint>
#include <memory>

namespace fabricost::probes::measure::mpi {

/// Available bytes of this process's host or container. 0: unknown.
[[nodiscard]] std::uint64_t available_memory();

/// Bytes of the host. 0: unknown.
[[nodiscard]] std::uint64_t total_memory();

class Buffer {
 public:
  Buffer() = default;
  /// \throws OutOfMemory
  explicit Buffer(std::uint64_t bytes);
  [[nodiscard]] std::byte* data() const { return bytes_.get(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], Free> bytes_;
  std::uint64_t size_ = 0;
};

}  // namespace fabricost::probes::measure::mpi
