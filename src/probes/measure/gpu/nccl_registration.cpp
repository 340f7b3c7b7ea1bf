/// \file nccl_registration.cpp
/// Calls the allocator and the registration of NCCL, as far as the header at compile time and the library at run time have them.

#include "measure/gpu/nccl_registration.hpp"

#include <algorithm>

namespace fabricost::probes::measure::gpu {

#if FABRICOST_HAS_NCCL && NCCL_VERSION_CODE >= 21900
namespace {

void demand(const NcclLibrary& library, Registration how) {
  if (library.ncclMemAlloc == nullptr || library.ncclMemFree == nullptr || library.ncclCommRegister == nullptr ||
      library.ncclCommDeregister == nullptr)
    throw Unsupported(library.file + " does not register buffers; NCCL does from 2.19 on");
  if (how != Registration::symmetric) return;
#if NCCL_VERSION_CODE >= 22700
  if (library.ncclCommWindowRegister != nullptr && library.ncclCommWindowDeregister != nullptr) return;
#endif
  throw Unsupported(library.file + ", or the header of these probes, does not register symmetric buffers; NCCL does from 2.27 on");
}

}  // namespace

Buffer library_buffer(const NcclLibrary& library, int ordinal, std::uint64_t bytes, Registration how) {
  demand(library, how);
  use(ordinal);
  void* at = nullptr;
  library.check(library.ncclMemAlloc(&at, std::max<std::uint64_t>(bytes, 16)),
                std::to_string(bytes) + " bytes of NCCL on GPU " + std::to_string(ordinal));
  return {ordinal, bytes, at, [free = library.ncclMemFree](void* memory) { static_cast<void>(free(memory)); }};
}

RegisteredBuffers::RegisteredBuffers(std::shared_ptr<Communicators> of, Registration how, const std::vector<Part>& parts)
    : of_(std::move(of)), how_(how) {
  const NcclLibrary& library = of_->library();
  demand(library, how);
  for (const Part& part : parts) kept_.push_back({part.local});
  ncclResult_t status = ncclSuccess;
  if (how == Registration::own) {
    for (std::size_t i = 0; i < parts.size() && status == ncclSuccess; ++i)
      status = library.ncclCommRegister(of_->communicator(parts[i].local), parts[i].at, parts[i].bytes, &kept_[i].handle);
    if (status != ncclSuccess) release();
  }
#if NCCL_VERSION_CODE >= 22700
  if (how == Registration::symmetric) {
    library.check(library.ncclGroupStart(), "opening a group");
    for (std::size_t i = 0; i < parts.size() && status == ncclSuccess; ++i)
      status = library.ncclCommWindowRegister(of_->communicator(parts[i].local), parts[i].at, parts[i].bytes,
                                              reinterpret_cast<ncclWindow_t*>(&kept_[i].handle), NCCL_WIN_COLL_SYMMETRIC);
    const ncclResult_t ended = library.ncclGroupEnd();
    if (status == ncclSuccess) status = ended;
    if (status != ncclSuccess) of_->abort();  // ranks that registered would wait for those that did not
  }
#endif
  library.check(status, "registering buffers");
}

RegisteredBuffers::~RegisteredBuffers() { release(); }

// A communicator that was aborted has forgotten its buffers.
void RegisteredBuffers::release() {
  const NcclLibrary& library = of_->library();
  for (const Kept& kept : kept_) {
    const ncclComm_t communicator = of_->communicator(kept.local);
    if (communicator == nullptr || kept.handle == nullptr) continue;
    ignore(cudaSetDevice(of_->ordinals()[kept.local]));
#if NCCL_VERSION_CODE >= 22700
    if (how_ == Registration::symmetric) {
      static_cast<void>(library.ncclCommWindowDeregister(communicator, static_cast<ncclWindow_t>(kept.handle)));
      continue;
    }
#endif
    static_cast<void>(library.ncclCommDeregister(communicator, kept.handle));
  }
}

#else

Buffer library_buffer(const NcclLibrary&, int, std::uint64_t, Registration) {
  throw Unsupported(std::string("these probes were built with a header of ") + collectives_name + " that does not register buffers");
}
RegisteredBuffers::RegisteredBuffers(std::shared_ptr<Communicators> of, Registration how, const std::vector<Part>&)
    : of_(std::move(of)), how_(how) {}
RegisteredBuffers::~RegisteredBuffers() = default;
void RegisteredBuffers::release() {}

#endif

}  // namespace fabricost::probes::measure::gpu
