#pragma once
/// Loads NCCL (RCCL with HIP) for the first collective, so that the probes do not link to libraries that a
/// machine may lack.
///
/// NCCL reads NCCL_NVLS_ENABLE once per process (src/misc/param.cc). Case::nvls therefore uses a second copy
/// of the library, loaded from memory under another name, with its own state.

#include "measure/gpu/resources.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#if FABRICOST_HIP && __has_include(<rccl/rccl.h>)
#include <rccl/rccl.h>
#define FABRICOST_HAS_NCCL 1
#elif !FABRICOST_HIP && __has_include(<nccl.h>)
#include <nccl.h>
#define FABRICOST_HAS_NCCL 1
#else
#define FABRICOST_HAS_NCCL 0
#endif

namespace fabricost::probes::measure::gpu {

inline constexpr const char* collectives_name = FABRICOST_HIP ? "rccl" : "nccl";

#if FABRICOST_HAS_NCCL
#define FABRICOST_NCCL_FUNCTIONS(of)                                                                                          \
  of(ncclGetVersion) of(ncclGetUniqueId) of(ncclCommInitRank) of(ncclCommDestroy) of(ncclCommAbort) of(ncclCommGetAsyncError) \
      of(ncclGetErrorString) of(ncclGroupStart) of(ncclGroupEnd) of(ncclAllReduce) of(ncclAllGather) of(ncclReduceScatter)    \
          of(ncclBroadcast) of(ncclReduce) of(ncclSend) of(ncclRecv)
// Those of later releases, which may be missing: ours, the header's or the machine's may be older.
#if NCCL_VERSION_CODE >= 21900
#define FABRICOST_NCCL_REGISTRATION(of) of(ncclMemAlloc) of(ncclMemFree) of(ncclCommRegister) of(ncclCommDeregister)
#else
#define FABRICOST_NCCL_REGISTRATION(of)
#endif
#if NCCL_VERSION_CODE >= 22700
#define FABRICOST_NCCL_WINDOWS(of) of(ncclCommWindowRegister) of(ncclCommWindowDeregister)
#else
#define FABRICOST_NCCL_WINDOWS(of)
#endif
#endif

/// One loaded copy.
struct NcclLibrary {
  void* handle = nullptr;
  std::string file{};                                              ///< where it was found
  int version = 0;                                                 ///< 22809 for 2.28.9
  std::vector<std::pair<std::string, std::string>> environment{};  ///< set during the initialisation of a communicator
#if FABRICOST_HAS_NCCL
#define FABRICOST_POINTER(function) decltype(&::function) function = nullptr;
  FABRICOST_NCCL_FUNCTIONS(FABRICOST_POINTER)
  FABRICOST_NCCL_REGISTRATION(FABRICOST_POINTER)
  FABRICOST_NCCL_WINDOWS(FABRICOST_POINTER)
#undef FABRICOST_POINTER
  const char* (*ncclGetLastError)(ncclComm_t) = nullptr;  ///< since 2.13; may be missing
  /// \throws Unsupported for unsupported operations, DeviceLost if another rank failed, DeviceFault otherwise
  void check(ncclResult_t status, const std::string& attempted) const;
#endif
};

class NcclLibraries {
 public:
  NcclLibraries() = default;
  ~NcclLibraries();
  NcclLibraries(const NcclLibraries&) = delete;
  NcclLibraries& operator=(const NcclLibraries&) = delete;

  /// The copy for in-switch reduction by default, allowed or forbidden. \throws Unsupported with the files
  /// tried
  [[nodiscard]] const NcclLibrary& library(std::optional<bool> nvls);

 private:
  std::map<std::string, NcclLibrary> loaded_{};  ///< by value of NCCL_NVLS_ENABLE
  std::string why_not_{};                        ///< set after a failed search
};

/// One rank per GPU, of all processes.
class Communicators {
 public:
  using Broadcast = std::function<void(void*, std::size_t)>;
  /// \throws Unsupported, OutOfMemory, DeviceFault, DeviceLost
  Communicators(const NcclLibrary& library, std::vector<int> ordinals, int process, int processes,
                std::vector<std::pair<std::string, std::string>> environment, const Broadcast& broadcast);
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  [[nodiscard]] const NcclLibrary& library() const { return library_; }
  [[nodiscard]] int ranks() const { return processes_ * static_cast<int>(ordinals_.size()); }
  [[nodiscard]] int rank(std::size_t local) const { return process_ * static_cast<int>(ordinals_.size()) + static_cast<int>(local); }
  [[nodiscard]] const std::vector<int>& ordinals() const { return ordinals_; }
  /// True after a failure, when the communicators were aborted.
  [[nodiscard]] bool broken() const { return broken_; }
  /// The error of a collective in flight; empty if there is none.
  [[nodiscard]] std::string asynchronous_fault() const;
  /// Ends collectives that would wait forever.
  void abort();
#if FABRICOST_HAS_NCCL
  [[nodiscard]] ncclComm_t communicator(std::size_t local) const { return communicators_[local]; }
#endif

 private:
  const NcclLibrary& library_;
  std::vector<int> ordinals_;
  int process_, processes_;
  bool broken_ = false;
#if FABRICOST_HAS_NCCL
  std::vector<ncclComm_t> communicators_{};
#endif
};

// Buffers that NCCL knows before a collective uses them, as `nccl-tests -R` has them: allocated by ncclMemAlloc and registered with the
// communicators, by each rank for itself (ncclCommRegister, since 2.19) or by all at the same offset (ncclCommWindowRegister, since 2.27).
// NCCL may then move data without copies through buffers of its own.

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
