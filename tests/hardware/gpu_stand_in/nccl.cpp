/// NCCL's calls over host memory. Each rank writes what it sends to a file in memory, waits for all others, and computes from their files
/// what it must receive; so ranks may be threads of one process or of several. Groups are as strict as NCCL's, buffers stricter.

#include "nccl_buffers.hpp"
#include "nccl_numbers.hpp"
#include "nccl_ranks.hpp"

#include <unistd.h>

#include <cstdio>
#include <memory>

namespace {

using stand_in::Failure;
using stand_in::Shared;
using stand_in::State;

}  // namespace

struct ncclComm {
  std::shared_ptr<State> state;  // shared with the work that uses it
};

namespace {

enum class Kind : std::uint64_t { all_reduce, all_gather, reduce_scatter, broadcast, reduce, exchange };
struct Piece {
  bool sends = false;
  char* at = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
};
struct Call {
  Kind kind;
  const char* send = nullptr;
  char* receive = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclInt8;
  int root = 0;
  std::shared_ptr<State> of{};
  cudaStream_t stream{};
  std::vector<Piece> pieces{};  // of an exchange
};
struct Window {
  std::shared_ptr<State> of{};
  void* at = nullptr;
  std::size_t bytes = 0;
  ncclWindow_t* to = nullptr;
};
struct Birth {
  ncclComm_t* to = nullptr;
  int ranks = 0, rank = 0, device = 0;
  ncclUniqueId id{};
};

// The open group of this thread.
thread_local int depth = 0;
thread_local std::vector<Call> called;
thread_local std::vector<Birth> births;
thread_local std::vector<Window> windows;
thread_local ncclResult_t group_status = ncclSuccess;
thread_local std::string last_error;

ncclResult_t failed(ncclResult_t status, const std::string& why) {
  last_error = why;
  if (depth > 0) group_status = status;
  return status;
}
ncclResult_t misused(const std::string& why) {
  std::fprintf(stderr, "stand-in: %s\n", why.c_str());
  return failed(ncclInvalidArgument, why);
}
ncclResult_t planned(const char* call, int device = -1) {
  switch (stand_in::failure_of(call, device)) {
    case Failure::none: return ncclSuccess;
    case Failure::out_of_memory: return failed(ncclUnhandledCudaError, "Cuda failure 2 'out of memory'");
    case Failure::unsupported: return failed(ncclInvalidUsage, "not supported");
    case Failure::fault: return failed(ncclInternalError, "internal error");
    case Failure::lost: break;
  }
  return failed(ncclRemoteError, "remote process exited or there was a network error");
}
#define STAND_IN_NCCL_CALL() \
  if (const ncclResult_t status = planned(__func__); status != ncclSuccess) return status

// ---- what a rank sends, and what it must receive

std::size_t offered_bytes(const Call& call) {
  const std::size_t width = stand_in::format_of(call.type).bytes;
  if (call.kind == Kind::reduce_scatter) return call.count * width * static_cast<std::size_t>(call.of->ranks);
  if (call.kind != Kind::exchange) return call.count * width;
  std::size_t bytes = 0;
  for (const Piece& piece : call.pieces)
    if (piece.sends) bytes += sizeof(std::size_t) * 2 + piece.bytes;
  return bytes;
}

// Pieces of an exchange are written one after another, each behind its receiver and its size.
void offer(const Call& call, char* to) {
  if (call.kind != Kind::exchange) {
    std::memcpy(to, call.send, offered_bytes(call));
    return;
  }
  for (const Piece& piece : call.pieces) {
    if (!piece.sends) continue;
    const std::size_t head[2] = {static_cast<std::size_t>(piece.peer), piece.bytes};
    std::memcpy(to, head, sizeof head);
    std::memcpy(to + sizeof head, piece.at, piece.bytes);
    to += sizeof head + piece.bytes;
  }
}

void take(const Piece& piece, const char* from, std::size_t bytes, int me) {
  for (const char* const end = from + bytes; from < end;) {
    std::size_t head[2];
    std::memcpy(head, from, sizeof head);
    if (head[0] == static_cast<std::size_t>(me) && head[1] == piece.bytes) {
      std::memcpy(piece.at, from + sizeof head, piece.bytes);
      return;
    }
    from += sizeof head + head[1];
  }
  std::fprintf(stderr, "stand-in: a rank receives what nobody sends\n");
  std::abort();
}

void receive(const Call& call, const std::vector<Shared>& offered) {
  const auto format = stand_in::format_of(call.type);
  const auto me = static_cast<std::size_t>(call.of->rank);
  const auto add_up = [&](std::size_t first) {
    for (std::size_t i = 0; i < call.count; ++i) {
      double sum = 0;
      for (const Shared& of : offered) sum += stand_in::number_at(of.at() + (first + i) * format.bytes, format);
      stand_in::put_number(sum, call.receive + i * format.bytes, format);
    }
  };
  switch (call.kind) {
    case Kind::all_reduce: return add_up(0);
    case Kind::reduce: return call.of->rank == call.root ? add_up(0) : void();
    case Kind::reduce_scatter: return add_up(me * call.count);
    case Kind::broadcast: std::memcpy(call.receive, offered[static_cast<std::size_t>(call.root)].at(), call.count * format.bytes); return;
    case Kind::all_gather:
      for (std::size_t rank = 0; rank < offered.size(); ++rank)
        std::memcpy(call.receive + rank * call.count * format.bytes, offered[rank].at(), call.count * format.bytes);
      return;
    case Kind::exchange:
      for (const Piece& piece : call.pieces)
        if (!piece.sends)
          take(piece, offered[static_cast<std::size_t>(piece.peer)].at(), call.of->table().ranks[piece.peer].bytes, call.of->rank);
  }
}

void execute(const Call& call) {
  State& state = *call.of;
  if (state.aborted || stand_in::failure_of("running_collective", state.device) != Failure::none) return;  // the others wait
  const std::uint64_t step = ++state.step;
  if (!all_ranks(state, [&](const auto& rank) { return rank.finished >= step - 1; })) return;
  const std::size_t bytes = offered_bytes(call);
  if (const Shared mine = state.shared_file_of(state.rank, bytes); bytes > 0) offer(call, mine.at());
  auto& own = state.table().ranks[state.rank];
  own.bytes = bytes;
  own.call = static_cast<std::uint64_t>(call.kind) + 8 * (call.kind == Kind::exchange ? 0 : call.count);
  own.offered = step;
  if (!all_ranks(state, [&](const auto& rank) { return rank.offered >= step; })) return;
  std::this_thread::sleep_for(std::chrono::microseconds(stand_in::settings().collective_microseconds));
  std::vector<Shared> offered;
  for (int rank = 0; rank < state.ranks; ++rank) {
    const auto& other = state.table().ranks[rank];
    if (other.call != own.call) {
      std::fprintf(stderr, "stand-in: ranks call different collectives\n");
      std::abort();
    }
    offered.push_back(state.shared_file_of(rank, other.bytes));
    if (other.bytes > 0 && offered.back().at() == nullptr) return;  // that rank was aborted meanwhile
  }
  receive(call, offered);
  own.finished = step;
}

// ---- groups

ncclResult_t start(const Call& call) {
  const std::size_t bytes = call.count * stand_in::format_of(call.type).bytes, all = bytes * static_cast<std::size_t>(call.of->ranks);
  bool fine = stand_in::device_of(call.stream) == call.of->device;
  const auto holds = [&](const void* at, std::size_t size) { fine = fine && stand_in::owner_of(at, size) == call.of->device; };
  std::vector<void*> received{call.receive};
  if (call.kind == Kind::exchange) {
    received.clear();
    for (const Piece& piece : call.pieces) {
      holds(piece.at, piece.bytes);
      if (!piece.sends) received.push_back(piece.at);
    }
  } else {
    holds(call.send, call.kind == Kind::reduce_scatter ? all : bytes);
    holds(call.receive, call.kind == Kind::all_gather ? all : bytes);
  }
  if (!fine) return misused("a buffer or the stream of a collective is not of its communicator's device, or too small");
  const bool receives = call.kind != Kind::reduce || call.of->rank == call.root;
  stand_in::enqueue(call.stream, {receives ? "collective" : "collective without a result", received, [call] { execute(call); }});
  return ncclSuccess;
}

ncclResult_t add(Call call, ncclComm_t of) {
  call.of = of->state;
  if (depth == 0) return start(call);
  // sends and receives of one rank are one exchange
  if (call.kind == Kind::exchange)
    for (Call& other : called)
      if (other.kind == Kind::exchange && other.of == call.of && other.stream == call.stream) {
        other.pieces.push_back(call.pieces.front());
        return ncclSuccess;
      }
  called.push_back(std::move(call));
  return ncclSuccess;
}

void bear(const Birth& birth) {
  *birth.to = new ncclComm{std::make_shared<State>(birth.rank, birth.ranks, birth.device, birth.id.internal)};
}

// Waits for all ranks, as NCCL's bootstrap does.
ncclResult_t all_born(const State& state) {
  for (int waited = 0; state.table().born < state.ranks; ++waited) {
    if (waited > 30000) return failed(ncclSystemError, "not all ranks came");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (state.rank == 0) state.shared.forget();
  return ncclSuccess;
}

// All ranks of a communicator register together.
ncclResult_t register_windows(const std::vector<Window>& all) {
  for (const Window& window : all) {
    void* const handle = stand_in::Registrations::add(*window.of, window.at, window.bytes, true);
    if (handle == nullptr) return misused("a window is not memory that NCCL allocated on its communicator's device");
    *window.to = static_cast<ncclWindow_t>(handle);
    ++window.of->table().ranks[window.of->rank].windows;
  }
  for (const Window& window : all) {
    const std::uint64_t mine = window.of->table().ranks[window.of->rank].windows;
    if (!all_ranks(*window.of, [&](const auto& rank) { return rank.windows >= mine; })) return failed(ncclInternalError, "aborted");
  }
  return ncclSuccess;
}

ncclResult_t end_group() {
  const auto calls = std::exchange(called, {});
  const auto new_windows = std::exchange(windows, {});
  const auto new_ones = std::exchange(births, {});
  if (const ncclResult_t status = std::exchange(group_status, ncclSuccess); status != ncclSuccess) return status;
  if (const ncclResult_t status = planned("ncclGroupEnd"); status != ncclSuccess) return status;
  for (const Birth& birth : new_ones) bear(birth);
  for (const Birth& birth : new_ones)
    if (const ncclResult_t status = all_born(*(*birth.to)->state); status != ncclSuccess) return status;
  if (const ncclResult_t status = register_windows(new_windows); status != ncclSuccess) return status;
  for (const Call& call : calls)
    if (const ncclResult_t status = start(call); status != ncclSuccess) return status;
  return ncclSuccess;
}

const char* bytes_of(const void* at) { return static_cast<const char*>(at); }
char* bytes_of(void* at) { return static_cast<char*>(at); }
std::size_t width(ncclDataType_t type) { return stand_in::format_of(type).bytes; }

}  // namespace

extern "C" {

STAND_IN_API ncclResult_t ncclGetVersion(int* version) {
  STAND_IN_NCCL_CALL();
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
STAND_IN_API ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  STAND_IN_NCCL_CALL();
  static std::atomic<int> made{0};
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "%d.%d", getpid(), ++made);
  Shared(id->internal, 0, true).forget();  // of an earlier process of that number
  return ncclSuccess;
}
STAND_IN_API ncclResult_t ncclGroupStart() {
  STAND_IN_NCCL_CALL();
  ++depth;
  return ncclSuccess;
}
STAND_IN_API ncclResult_t ncclGroupEnd() {
  if (depth == 0) return failed(ncclInvalidUsage, "no group is open");
  return --depth > 0 ? ncclSuccess : end_group();
}
STAND_IN_API ncclResult_t ncclCommInitRank(ncclComm_t* to, int ranks, ncclUniqueId id, int rank) {
  STAND_IN_NCCL_CALL();
  Birth birth{to, ranks, rank, 0, id};
  static_cast<void>(cudaGetDevice(&birth.device));
  if (depth > 0) {
    births.push_back(birth);
    return ncclSuccess;
  }
  bear(birth);
  return all_born(*(*to)->state);
}
STAND_IN_API ncclResult_t ncclCommDestroy(ncclComm_t of) {
  const ncclResult_t status = planned(__func__);
  delete of;
  return status;
}
STAND_IN_API ncclResult_t ncclCommAbort(ncclComm_t of) {
  const ncclResult_t status = planned(__func__);
  of->state->aborted = true;
  stand_in::Registrations::forget(*of->state);
  delete of;
  return status;
}
STAND_IN_API ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* status) {
  *status = planned("asynchronous_error");
  STAND_IN_NCCL_CALL();
  return ncclSuccess;
}
STAND_IN_API ncclResult_t ncclMemAlloc(void** to, std::size_t bytes) {
  STAND_IN_NCCL_CALL();
  const bool made = stand_in::library_memory(to, bytes) == cudaSuccess;
  return made ? ncclSuccess : failed(ncclUnhandledCudaError, "Cuda failure 2 'out of memory'");
}
STAND_IN_API ncclResult_t ncclMemFree(void* memory) {
  const ncclResult_t status = planned(__func__);
  if (stand_in::Registrations::holds(memory)) return misused("memory is released that is registered");
  return stand_in::release_library_memory(memory) == cudaSuccess ? status : ncclInvalidArgument;
}
STAND_IN_API ncclResult_t ncclCommRegister(const ncclComm_t of, void* at, std::size_t bytes, void** handle) {
  STAND_IN_NCCL_CALL();
  *handle = stand_in::Registrations::add(*of->state, at, bytes, false);
  return *handle != nullptr ? ncclSuccess : misused("a buffer is not memory that NCCL allocated on its communicator's device");
}
STAND_IN_API ncclResult_t ncclCommDeregister(const ncclComm_t of, void* handle) {
  const ncclResult_t status = planned(__func__);
  return stand_in::Registrations::remove(*of->state, handle, false) ? status : misused("a buffer is deregistered that was not registered");
}
STAND_IN_API ncclResult_t ncclCommWindowRegister(ncclComm_t of, void* at, std::size_t bytes, ncclWindow_t* to, int) {
  STAND_IN_NCCL_CALL();
  windows.push_back({of->state, at, bytes, to});
  return depth > 0 ? ncclSuccess : register_windows(std::exchange(windows, {}));
}
STAND_IN_API ncclResult_t ncclCommWindowDeregister(ncclComm_t of, ncclWindow_t window) {
  const ncclResult_t status = planned(__func__);
  return stand_in::Registrations::remove(*of->state, window, true) ? status : misused("a window is deregistered that was not registered");
}
STAND_IN_API const char* ncclGetErrorString(ncclResult_t status) {
  switch (status) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error";
    case ncclRemoteError: return "remote process exited or there was a network error";
    default: return "an error of NCCL";
  }
}
STAND_IN_API const char* ncclGetLastError(ncclComm_t) { return last_error.c_str(); }

STAND_IN_API ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t, ncclComm_t of,
                                        cudaStream_t stream) {
  STAND_IN_NCCL_CALL();
  return add(
      {.kind = Kind::all_reduce, .send = bytes_of(send), .receive = bytes_of(receive), .count = count, .type = type, .stream = stream}, of);
}
STAND_IN_API ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclComm_t of,
                                        cudaStream_t stream) {
  STAND_IN_NCCL_CALL();
  return add(
      {.kind = Kind::all_gather, .send = bytes_of(send), .receive = bytes_of(receive), .count = count, .type = type, .stream = stream}, of);
}
STAND_IN_API ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t,
                                            ncclComm_t of, cudaStream_t stream) {
  STAND_IN_NCCL_CALL();
  return add(
      {.kind = Kind::reduce_scatter, .send = bytes_of(send), .receive = bytes_of(receive), .count = count, .type = type, .stream = stream},
      of);
}
STAND_IN_API ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root, ncclComm_t of,
                                        cudaStream_t stream) {
  STAND_IN_NCCL_CALL();
  return add({Kind::broadcast, bytes_of(send), bytes_of(receive), count, type, root, {}, stream, {}}, of);
}
STAND_IN_API ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t, int root,
                                     ncclComm_t of, cudaStream_t stream) {
  STAND_IN_NCCL_CALL();
  return add({Kind::reduce, bytes_of(send), bytes_of(receive), count, type, root, {}, stream, {}}, of);
}
STAND_IN_API ncclResult_t ncclSend(const void* send, std::size_t count, ncclDataType_t type, int peer, ncclComm_t of, cudaStream_t stream) {
  STAND_IN_NCCL_CALL();
  const Piece piece{true, const_cast<char*>(bytes_of(send)), count * width(type), peer};
  return add({.kind = Kind::exchange, .type = type, .stream = stream, .pieces = {piece}}, of);
}
STAND_IN_API ncclResult_t ncclRecv(void* receive, std::size_t count, ncclDataType_t type, int peer, ncclComm_t of, cudaStream_t stream) {
  STAND_IN_NCCL_CALL();
  const Piece piece{false, bytes_of(receive), count * width(type), peer};
  return add({.kind = Kind::exchange, .type = type, .stream = stream, .pieces = {piece}}, of);
}

}  // extern "C"
