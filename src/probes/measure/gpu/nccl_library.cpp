/// Finds NCCL, loads further copies, creates communicators; calls its allocator and registration, as far as the header at compile time and
/// the library at run time have them.

#include "measure/gpu/nccl_library.hpp"

#include "measure/gpu/scoped_environment.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace fabricost::probes::measure::gpu {

#if FABRICOST_HAS_NCCL
namespace {

constexpr std::array<const char*, 2> file_names{FABRICOST_HIP ? "librccl.so.1" : "libnccl.so.2",
                                                FABRICOST_HIP ? "librccl.so" : "libnccl.so"};

void* loaded_by_name(std::string& why_not) {
  for (const char* name : file_names) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
    why_not += (why_not.empty() ? "" : "; ") + std::string(dlerror());
  }
  return nullptr;
}

std::string file_of(void* handle) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

// The loader identifies a library by its inode and the requested name, so a copy in memory is another
// library. The descriptor stays open, since its number is that name.
void* loaded_again(const std::string& file, std::string& why_not) {
  std::ifstream from(file, std::ios::binary);
  const int copy = memfd_create("nccl", MFD_CLOEXEC);
  std::vector<char> block(std::size_t{4} << 20U);
  bool whole = from.good() && copy >= 0;
  while (whole && from) {
    from.read(block.data(), static_cast<std::streamsize>(block.size()));
    const char* at = block.data();
    for (std::streamsize left = from.gcount(); whole && left > 0;) {
      const ssize_t written = write(copy, at, static_cast<std::size_t>(left));
      whole = written > 0;
      at += written;
      left -= written;
    }
  }
  void* handle = whole ? dlopen(("/proc/self/fd/" + std::to_string(copy)).c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (handle != nullptr) return handle;
  const char* said = whole ? dlerror() : std::strerror(errno);
  why_not = "a second copy of " + file + " could not be loaded: " + (said != nullptr ? said : "unknown");
  if (copy >= 0) close(copy);
  return nullptr;
}

template <class Function>
void find(void* handle, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function == nullptr) missing += std::string(missing.empty() ? "" : ", ") + name;
}

}  // namespace

void NcclLibrary::check(ncclResult_t status, const std::string& attempted) const {
  if (status == ncclSuccess || status == ncclInProgress) return;
  std::string said = attempted + ": " + ncclGetErrorString(status);
  if (ncclGetLastError != nullptr)
    if (const char* more = ncclGetLastError(nullptr); more != nullptr && *more != '\0') said += " (" + std::string(more) + ")";
  // NCCL reports a failed allocation as a "CUDA error"; the text is more specific
  if (said.find("out of memory") != std::string::npos) throw OutOfMemory(said);
  if (said.find("no algorithm/protocol available") != std::string::npos) throw Unsupported(said);
  switch (status) {
    case ncclInvalidArgument:
    case ncclInvalidUsage: throw Unsupported(said);
    case ncclRemoteError: throw DeviceLost(said);
    default: throw DeviceFault(said);
  }
}

const NcclLibrary& NcclLibraries::library(std::optional<bool> nvls) {
  const char* users = std::getenv("NCCL_NVLS_ENABLE");
  const std::string as_it_is = users != nullptr ? users : "2";  // 2, NCCL's default: where the machine supports it
  std::string wanted = as_it_is;
  if (nvls == false) wanted = "0";
  if (nvls == true && as_it_is == "0") wanted = "2";
  if (const auto found = loaded_.find(wanted); found != loaded_.end()) return found->second;
  if (!why_not_.empty()) throw Unsupported(why_not_);

  NcclLibrary made;
  std::string why_not;
  const std::string family = FABRICOST_HIP ? "RCCL" : "NCCL";
  if (wanted == as_it_is) {
    made.handle = loaded_by_name(why_not);
    if (made.handle == nullptr) {
      why_not_ = family + " was not found: " + why_not + "; install it or add its folder to LD_LIBRARY_PATH";
      throw Unsupported(why_not_);
    }
  } else {
    made.handle = loaded_again(library(std::nullopt).file, why_not);
    if (made.handle == nullptr) throw Unsupported(why_not);
    made.environment.emplace_back("NCCL_NVLS_ENABLE", wanted);
  }
  std::string missing;
#define FABRICOST_FIND(function) find(made.handle, #function, made.function, missing);
  FABRICOST_NCCL_FUNCTIONS(FABRICOST_FIND)
#undef FABRICOST_FIND
  std::string may_be_missing;
#define FABRICOST_FIND(function) find(made.handle, #function, made.function, may_be_missing);
  FABRICOST_NCCL_REGISTRATION(FABRICOST_FIND)
  FABRICOST_NCCL_WINDOWS(FABRICOST_FIND)
#undef FABRICOST_FIND
  find(made.handle, "ncclGetLastError", made.ncclGetLastError, may_be_missing);
  made.file = file_of(made.handle);
  if (!missing.empty()) {
    why_not_ = made.file + " is too old for this fabricost: it lacks " + missing;
    dlclose(made.handle);
    throw Unsupported(why_not_);
  }
  try {
    made.check(made.ncclGetVersion(&made.version), "asking " + family + " for its version");
  } catch (...) {
    dlclose(made.handle);
    throw;
  }
  return loaded_.emplace(wanted, std::move(made)).first->second;
}

// A library with running threads and device memory cannot be unloaded safely before the process ends.
NcclLibraries::~NcclLibraries() = default;

Communicators::Communicators(const NcclLibrary& library, std::vector<int> ordinals, int process, int processes,
                             std::vector<std::pair<std::string, std::string>> environment, const Broadcast& broadcast)
    : library_(library),
      ordinals_(std::move(ordinals)),
      process_(process),
      processes_(processes),
      communicators_(ordinals_.size(), nullptr) {
  environment.insert(environment.end(), library.environment.begin(), library.environment.end());
  const ScopedEnvironment set(environment);
  struct Invitation {
    ncclResult_t status = ncclSuccess;
    ncclUniqueId id{};
  } invitation;
  use(ordinals_.at(0));
  if (process == 0) invitation.status = library_.ncclGetUniqueId(&invitation.id);
  broadcast(&invitation, sizeof invitation);  // also a failure: the others would wait forever
  library_.check(invitation.status, "asking for a unique id");
  library_.check(library_.ncclGroupStart(), "opening a group");
  std::exception_ptr fault;
  try {
    for (std::size_t i = 0; i < ordinals_.size(); ++i) {
      use(ordinals_[i]);
      library_.check(library_.ncclCommInitRank(&communicators_[i], ranks(), invitation.id, rank(i)), "initialising a communicator");
    }
  } catch (...) {
    fault = std::current_exception();  // the group must be closed in any case
  }
  const ncclResult_t ended = library_.ncclGroupEnd();
  if (fault || ended != ncclSuccess) abort();
  if (fault) std::rethrow_exception(fault);
  library_.check(ended, "initialising communicators of " + std::to_string(ranks()) + " ranks");
}

Communicators::~Communicators() {
  if (broken_) return;  // already released by the abort
  for (std::size_t i = 0; i < communicators_.size(); ++i) {
    ignore(cudaSetDevice(ordinals_[i]));
    if (communicators_[i] != nullptr) static_cast<void>(library_.ncclCommDestroy(communicators_[i]));
  }
}

std::string Communicators::asynchronous_fault() const {
  for (const ncclComm_t communicator : communicators_) {
    ncclResult_t status = ncclSuccess;
    if (communicator == nullptr || library_.ncclCommGetAsyncError(communicator, &status) != ncclSuccess) continue;
    if (status != ncclSuccess && status != ncclInProgress) return library_.ncclGetErrorString(status);
  }
  return "";
}

void Communicators::abort() {
  broken_ = true;
  for (ncclComm_t& communicator : communicators_)
    if (communicator != nullptr) static_cast<void>(library_.ncclCommAbort(std::exchange(communicator, nullptr)));
}

#else

const NcclLibrary& NcclLibraries::library(std::optional<bool>) {
  throw Unsupported(std::string("these probes were built without the header of ") + collectives_name + "; install it and build them again");
}
NcclLibraries::~NcclLibraries() = default;
Communicators::Communicators(const NcclLibrary& library, std::vector<int> ordinals, int process, int processes,
                             std::vector<std::pair<std::string, std::string>>, const Broadcast&)
    : library_(library), ordinals_(std::move(ordinals)), process_(process), processes_(processes) {}
Communicators::~Communicators() = default;
std::string Communicators::asynchronous_fault() const { return ""; }
void Communicators::abort() { broken_ = true; }

#endif

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
  return {ordinal, Memory{at, bytes, [free = library.ncclMemFree](void* memory) { static_cast<void>(free(memory)); }}};
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
