/// Streams, events, graphs, copies and launches. A stream is a thread with a queue; a graph is a list of work.

#include "stand_in.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

using stand_in::Failure;
using SharedWork = std::shared_ptr<const stand_in::Work>;

// When and whether the work before an event was done.
struct Moment {
  std::mutex mutex;
  std::condition_variable reached;
  bool done = false;
  std::chrono::nanoseconds at{};
};
struct CUevent_st {
  int device = 0;
  bool timing = false;
  std::shared_ptr<Moment> last{};  // of the latest record
};
struct CUstream_st {
  int device = 0;
  std::mutex mutex{};
  std::condition_variable more{}, idle{};
  std::deque<SharedWork> queue{};
  bool busy = false, ends = false;
  bool captures = false, invalid = false;
  std::vector<SharedWork> captured{};
  std::thread worker{};
};
struct CUgraph_st {
  int device = 0;
  std::vector<SharedWork> work{};
};
struct CUgraphExec_st : CUgraph_st {};

namespace stand_in {

namespace {

std::mutex mutex;
std::set<CUstream_st*> streams;
std::map<int, CUstream_st*> default_streams;
thread_local std::set<CUstream_st*> captured_here;

// The work of all devices, in pieces. A piece counts less than any takes, as no device's clock may run ahead of the host's.
std::atomic<long> pieces{0};
constexpr std::chrono::nanoseconds of_a_piece{100};

std::chrono::nanoseconds device_clock() {
  if (settings().counted_clock) return pieces.load() * of_a_piece;
  return std::chrono::steady_clock::now().time_since_epoch();
}

void work_through(CUstream_st* stream) {
  set_current_device(stream->device);
  for (;;) {
    SharedWork work;
    {
      std::unique_lock lock(stream->mutex);
      stream->busy = false;
      if (stream->queue.empty()) stream->idle.notify_all();
      stream->more.wait(lock, [&] { return stream->ends || !stream->queue.empty(); });
      if (stream->queue.empty()) return;
      work = stream->queue.front();
      stream->queue.pop_front();
      stream->busy = true;
    }
    // a lost device does nothing more, but its events are reached, or other devices would wait for it
    if (is_lost(stream->device) && std::strcmp(work->name, "record") != 0) continue;
    work->run();
    ++pieces;
    turn_byte_of(work->name, work->pointers);
  }
}

CUstream_st* new_stream(int device) {
  auto* const made = new CUstream_st{.device = device};
  made->worker = std::thread(work_through, made);
  return made;
}

CUstream_st* or_default(cudaStream_t stream) {
  if (stream != nullptr) return stream;
  const std::lock_guard lock(mutex);
  CUstream_st*& ours = default_streams[current_device()];
  if (ours == nullptr) ours = new_stream(current_device());
  return ours;
}

void drain_stream(CUstream_st* stream) {
  std::unique_lock lock(stream->mutex);
  stream->idle.wait(lock, [&] { return stream->queue.empty() && !stream->busy; });
}

cudaError_t refuse_capture(CUstream_st* stream) {
  stream->invalid = true;
  return said(cudaErrorStreamCaptureUnsupported);
}

bool is_idle(CUstream_st* stream) {
  const std::lock_guard lock(stream->mutex);
  return stream->queue.empty() && !stream->busy;
}
bool is_done(Moment& moment) {
  const std::lock_guard lock(moment.mutex);
  return moment.done;
}

// The caller polls; the threads of the streams need the processor more.
cudaError_t not_ready() {
  std::this_thread::sleep_for(std::chrono::microseconds(20));
  return said(cudaErrorNotReady);
}
cudaError_t lost_or_fine(int device) { return is_lost(device) ? said(status_of(Failure::lost)) : cudaSuccess; }

// Work that can fail while it runs, when its device is lost.
std::function<void()> running(const char* kind, const char* name, int device, std::function<void()> run) {
  return [=] {
    if (failure_of_work(kind, name, device) == Failure::none) run();
  };
}

cudaError_t copy(const char* name, void* to, const void* from, std::size_t bytes, cudaStream_t on, bool staged) {
  CUstream_st* const stream = or_default(on);
  for (const void* side : {static_cast<const void*>(to), from}) {
    const int owner = owner_of(side, bytes);
    if (owner == no_memory && owner_of(side, 1) != no_memory) return misused(cudaErrorInvalidValue, "a copy goes beyond its memory");
    staged = staged || owner == no_memory;  // pageable
  }
  if (stream->captures && staged) return refuse_capture(stream);
  enqueue(stream, {name, {to}, running("running_copy", name, stream->device, [=] { std::memcpy(to, from, bytes); })});
  if (staged) drain_stream(stream);
  return cudaSuccess;
}

}  // namespace

void drain(int device) {
  std::vector<CUstream_st*> all;
  {
    const std::lock_guard lock(mutex);
    for (CUstream_st* const stream : streams)
      if (stream->device == device) all.push_back(stream);
    if (const auto found = default_streams.find(device); found != default_streams.end()) all.push_back(found->second);
  }
  for (CUstream_st* const stream : all) drain_stream(stream);
}

bool forbidden_by_capture() {
  for (CUstream_st* const stream : captured_here) stream->invalid = true;
  return !captured_here.empty();
}

void enqueue(cudaStream_t on, Work work) {
  CUstream_st* const stream = or_default(on);
  auto shared = std::make_shared<const Work>(std::move(work));
  const std::lock_guard lock(stream->mutex);
  if (stream->captures) {
    stream->captured.push_back(std::move(shared));
  } else {
    stream->queue.push_back(std::move(shared));
    stream->more.notify_one();
  }
}

int device_of(cudaStream_t stream) { return or_default(stream)->device; }

cudaError_t launch(const char* name, bool syncs, dim3 grid, dim3 block, cudaStream_t on, std::vector<void*> pointers, Threads threads) {
  CUstream_st* const stream = or_default(on);
  const int device = stream->device;
  if (const Failure planned = failure_of("launch", device); planned != Failure::none) return said(status_of(planned));
  if (device != current_device()) return misused(cudaErrorInvalidResourceHandle, "a kernel on the stream of a device that is not current");
  if (grid.x == 0 || block.x == 0 || block.x > 1024 || grid.y != 1 || block.y != 1) return said(cudaErrorInvalidConfiguration);
  const auto run = [=] {
    for (const void* const pointer : pointers) {
      const int owner = owner_of(pointer, 1);
      if (owner != no_memory && reaches(device, owner)) continue;
      static_cast<void>(misused(cudaErrorIllegalAddress, std::string{name} + " touches memory that its device does not reach"));
      lose(device);
      return;
    }
    run_grid(threads, syncs, grid, block);
  };
  enqueue(stream, {name, pointers, running("running_kernel", name, device, run)});
  return cudaSuccess;
}

}  // namespace stand_in

using namespace stand_in;

namespace {
/// The end of an event or a graph, also where the call is to fail.
template <class Thing>
cudaError_t destroyed(const char* call, Thing* thing) {
  const Failure planned = failure_of(call, thing->device);
  delete thing;
  return said(status_of(planned));
}
}  // namespace

extern "C" {

STAND_IN_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  STAND_IN_CALL(current_device());
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  STAND_IN_CALL(current_device());
  *stream = new_stream(current_device());
  const std::lock_guard lock(mutex);
  streams.insert(*stream);
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Failure planned = failure_of(__func__, stream->device);
  captured_here.erase(stream);
  drain_stream(stream);
  {
    const std::lock_guard lock(mutex);
    streams.erase(stream);
  }
  {
    const std::lock_guard lock(stream->mutex);
    stream->ends = true;
    stream->more.notify_one();
  }
  stream->worker.join();
  delete stream;
  return said(status_of(planned));
}
STAND_IN_API cudaError_t cudaStreamSynchronize(cudaStream_t on) {
  CUstream_st* const stream = or_default(on);
  STAND_IN_CALL(stream->device);
  if (stream->captures) return refuse_capture(stream);
  STAND_IN_MAY_WAIT();
  drain_stream(stream);
  return lost_or_fine(stream->device);
}
STAND_IN_API cudaError_t cudaStreamQuery(cudaStream_t on) {
  CUstream_st* const stream = or_default(on);
  STAND_IN_CALL(stream->device);
  if (stream->captures) return refuse_capture(stream);
  return is_idle(stream) ? cudaSuccess : not_ready();
}
STAND_IN_API cudaError_t cudaDeviceSynchronize() {
  STAND_IN_CALL(current_device());
  STAND_IN_MAY_WAIT();
  drain(current_device());
  return lost_or_fine(current_device());
}

STAND_IN_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  STAND_IN_CALL(current_device());
  *event = new CUevent_st{.device = current_device(), .timing = (flags & cudaEventDisableTiming) == 0};
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaEventDestroy(cudaEvent_t event) { return destroyed(__func__, event); }
STAND_IN_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t on) {
  CUstream_st* const stream = or_default(on);
  STAND_IN_CALL(stream->device);
  if (event->device != stream->device) return misused(cudaErrorInvalidResourceHandle, "an event is recorded on another device's stream");
  if (stream->captures) return refuse_capture(stream);
  auto moment = std::make_shared<Moment>();
  event->last = moment;
  enqueue(stream, {"record", {}, [moment] {
                     const std::lock_guard lock(moment->mutex);
                     moment->at = device_clock();
                     moment->done = true;
                     moment->reached.notify_all();
                   }});
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaStreamWaitEvent(cudaStream_t on, cudaEvent_t event, unsigned) {
  CUstream_st* const stream = or_default(on);
  STAND_IN_CALL(stream->device);
  if (stream->captures) return refuse_capture(stream);
  if (const auto moment = event->last)
    enqueue(stream, {"wait", {}, [moment] {
                       std::unique_lock lock(moment->mutex);
                       moment->reached.wait(lock, [&] { return moment->done; });
                     }});
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaEventQuery(cudaEvent_t event) {
  STAND_IN_CALL(event->device);
  if (event->last == nullptr) return cudaSuccess;
  return is_done(*event->last) ? lost_or_fine(event->device) : not_ready();
}
STAND_IN_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  STAND_IN_CALL(begin->device);
  if (!begin->timing || !end->timing || begin->device != end->device || begin->last == nullptr || end->last == nullptr)
    return misused(cudaErrorInvalidResourceHandle, "the time between events that have none");
  const std::scoped_lock lock(begin->last->mutex, end->last->mutex);
  if (!begin->last->done || !end->last->done) return said(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(end->last->at - begin->last->at).count();
  return cudaSuccess;
}

STAND_IN_API cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  STAND_IN_CALL(or_default(stream)->device);
  return copy("copy", to, from, bytes, stream, false);
}
STAND_IN_API cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                             cudaStream_t stream) {
  STAND_IN_CALL(or_default(stream)->device);
  if (owner_of(to, bytes) != to_device || owner_of(from, bytes) != from_device)
    return misused(cudaErrorInvalidValue, "a copy between peers names other devices than those of its memory");
  return copy("copy", to, from, bytes, stream, !reaches(from_device, to_device) && !reaches(to_device, from_device));
}
STAND_IN_API cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  STAND_IN_CALL(current_device());
  STAND_IN_MAY_WAIT();
  if (const cudaError_t status = copy("copy of the host", to, from, bytes, nullptr, true); status != cudaSuccess) return status;
  return lost_or_fine(current_device());
}
STAND_IN_API cudaError_t cudaMemset(void* to, int byte, std::size_t bytes) {
  STAND_IN_CALL(current_device());
  STAND_IN_MAY_WAIT();
  if (const int owner = owner_of(to, bytes); owner == no_memory || !reaches(current_device(), owner))
    return misused(cudaErrorInvalidValue, "memory is set that the device does not reach");
  enqueue(nullptr, {"set", {to}, [=] { std::memset(to, byte, bytes); }});
  return cudaSuccess;
}

STAND_IN_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  STAND_IN_CALL(stream->device);
  const std::lock_guard lock(stream->mutex);
  if (stream->captures) return said(cudaErrorIllegalState);
  stream->captures = true;
  stream->invalid = false;
  stream->captured.clear();
  captured_here.insert(stream);
  return cudaSuccess;
}
// A capture is over even where the call reports an error.
STAND_IN_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Failure planned = failure_of(__func__, stream->device);
  const std::lock_guard lock(stream->mutex);
  if (!stream->captures) return said(cudaErrorIllegalState);
  stream->captures = false;
  captured_here.erase(stream);
  *graph = nullptr;
  if (planned != Failure::none) return said(status_of(planned));
  if (stream->invalid) return said(cudaErrorStreamCaptureInvalidated);
  *graph = new CUgraph_st{stream->device, std::move(stream->captured)};
  stream->captured.clear();
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  STAND_IN_CALL(graph->device);
  *made = new CUgraphExec_st{*graph};
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return destroyed(__func__, graph); }
STAND_IN_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return destroyed(__func__, graph); }
STAND_IN_API cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  STAND_IN_CALL(stream->device);
  if (stream->captures) return refuse_capture(stream);
  for (const SharedWork& work : graph->work) enqueue(stream, *work);
  return cudaSuccess;
}

}  // extern "C"
