#pragma once
/// \file nccl_registration.hpp
/// Buffers that NCCL knows before a collective uses them, as `nccl-tests -R` has them: allocated by ncclMemAlloc and registered with the
/// communicators, by each rank for itself (ncclCommRegister, since 2.19) or by all at the same offset (ncclCommWindowRegister, since 2.27).
/// NCCL may then move data without copies through buffers of its own.

#include "measure/gpu/nccl_library.hpp"

#include <memory>
#include <vector>

namespace fabricost::probes::measure::gpu {

/// Memory from the library's allocator, on a device. \throws Unsupported where the library is too old; as NcclLibrary::check
[[nodiscard]] Buffer library_buffer(const NcclLibrary& library, int ordinal, std::uint64_t bytes, Registration how);

/// Registers the buffers of this process's ranks, until its end.
class RegisteredBuffers {
 public:
  struct Part {
    std::size_t local = 0;  ///< number of the communicator in this process
    void* at = nullptr;
    std::uint64_t bytes = 0;
  };
  /// Symmetric registration is done by all processes together. \throws as NcclLibrary::check
  RegisteredBuffers(std::shared_ptr<Communicators> of, Registration how, const std::vector<Part>& parts);
  ~RegisteredBuffers();
  RegisteredBuffers(const RegisteredBuffers&) = delete;
  RegisteredBuffers& operator=(const RegisteredBuffers&) = delete;

 private:
  struct Kept {
    std::size_t local = 0;
    void* handle = nullptr;  ///< null: the library had no use for it
  };
  void release();

  std::shared_ptr<Communicators> of_;
  Registration how_;
  std::vector<Kept> kept_{};
};

}  // namespace fabricost::probes::measure::gpu
