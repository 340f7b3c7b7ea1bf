/// The gate, graphs and events around timed repetitions.

#include "measure/gpu/batch.hpp"

#include "measure/gpu/probes/work_shape.hpp"

#include <algorithm>

namespace fabricost::probes::measure::gpu {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double seconds_between(cudaEvent_t start, cudaEvent_t stop) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start, stop), "reading the time between events");
  return 1e-3 * static_cast<double>(milliseconds);
}

// Launches that may be enqueued while the gate is closed: with a full queue the host would wait for the
// device and the device for the host. Queues have about a thousand entries, streams share them, and a launch
// may use several.
constexpr int held_launches = 128;
constexpr double look_after = 10e-3;  // seconds between looks at what may have failed
int launches_in_a_graph(std::size_t lanes) { return std::clamp(1024 / static_cast<int>(lanes), 16, 256); }

// Streams that are being captured. Every capture is ended, whatever is thrown meanwhile.
class Captures {
 public:
  Captures() = default;
  ~Captures() {
    for (const cudaStream_t stream : streams_) {
      Graph graph;
      ignore(cudaStreamEndCapture(stream, graph.place()));
    }
  }
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  void begin(cudaStream_t stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing a graph");
    streams_.push_back(stream);
  }
  /// Ends the capture of the stream that began first.
  [[nodiscard]] GraphExec end_first() {
    Graph graph;
    const cudaStream_t stream = streams_.front();
    streams_.erase(streams_.begin());
    check(cudaStreamEndCapture(stream, graph.place()), "capturing a graph");
    GraphExec made;
    check(instantiate(made.place(), graph.handle()), "instantiating a graph");
    return made;
  }

 private:
  std::vector<cudaStream_t> streams_{};
};

}  // namespace

Lane make_lane(const Gpus& gpus, int gpu, bool urgent) {
  use(gpus.ordinal(gpu));
  return {gpu, make_stream(urgent)};
}

Batch::Batch(Gpus& gpus, Work work) : gpus_(gpus), work_(std::move(work)) {
  on(0);
  start_ = make_event(true);
  stop_ = make_event(true);
  for (std::size_t lane = 1; lane < work_.lanes.size(); ++lane) {
    on(lane);
    done_.push_back(make_event(false));
  }
}

Batch::~Batch() {
  gpus_.gate().open();
  close_run();
  graphs_.clear();
}

Timing Batch::run(int repetitions) {
  const int launches = launches_for(repetitions, work_.repetitions_per_launch);
  Timing timing;
  bool graphs = false;
  const auto ready = [&] {
    graphs = !work_.cold && work_.graph && make_graphs(launches);
    on(0);  // another job may have selected another device
    if (work_.before) work_.before();
    finish();
  };
  const auto measured = [&] { timing = work_.cold ? run_cold(launches) : run_warm(launches, graphs); };
  if (work_.all_processes) {
    gpus_.together(ready);  // and none starts before all are
    gpus_.together(measured);
    timing = {gpus_.highest(timing.device), gpus_.highest(timing.host)};
  } else {
    ready();
    measured();
  }
  const double per = static_cast<double>(launches) * static_cast<double>(work_.repetitions_per_launch);
  return {timing.device / per, timing.host / per};
}

// All other lanes wait for the start event, which the first lane reaches when the gate opens.
void Batch::begin_together() {
  on(0);
  check(cudaEventRecord(start_.handle(), stream(0)), "recording the start");
  for (std::size_t lane = 1; lane < work_.lanes.size(); ++lane) {
    on(lane);
    check(cudaStreamWaitEvent(stream(lane), start_.handle(), 0), "waiting for the start");
  }
}

// The first lane continues when all are done.
void Batch::join() {
  for (std::size_t lane = 1; lane < work_.lanes.size(); ++lane) {
    on(lane);
    check(cudaEventRecord(done_[lane - 1].handle(), stream(lane)), "recording an end");
    on(0);
    check(cudaStreamWaitEvent(stream(0), done_[lane - 1].handle(), 0), "waiting for all streams");
  }
}

// The first lane's GPU does not report errors of the others.
void Batch::check_lanes() {
  for (std::size_t lane = 1; lane < work_.lanes.size(); ++lane) {
    on(lane);
    if (const cudaError_t status = cudaStreamQuery(stream(lane)); status != cudaErrorNotReady) check(status, "waiting for all streams");
  }
  on(0);
}

Timing Batch::run_warm(int launches, bool graphs) {
  on(0);
  const OpensGate opens{gpus_.gate()};
  Clock::time_point begin = Clock::now();
  if (work_.gated) gpus_.gate().close(stream(0));
  begin_together();
  int left = launches;
  const auto enqueue = [&] {
    left -= graphs ? launch_graph(left) : 1;
    if (!graphs) work_.enqueue();
  };
  if (work_.gated) {
    // a graph fills queues at once: one is enqueued behind the gate, the others follow while it runs
    for (int held = graphs ? 1 : std::max(1, held_launches / static_cast<int>(work_.lanes.size())); held > 0 && left > 0; --held) enqueue();
    begin = Clock::now();
    gpus_.gate().open();
  }
  while (left > 0) enqueue();
  join();
  on(0);
  check(cudaEventRecord(stop_.handle(), stream(0)), "recording the stop");
  wait(stop_.handle());
  const double host = seconds_since(begin);
  check_lanes();
  return {seconds_between(start_.handle(), stop_.handle()), host};
}

Timing Batch::run_cold(int launches) {
  constexpr int at_once = 128;
  on(0);
  std::vector<Event> events(static_cast<std::size_t>(3 * std::min(launches, at_once)));
  for (Event& event : events) event = make_event(true);
  const Clock::time_point begin = Clock::now();
  double timed = 0, flushed = 0;
  for (int done = 0; done < launches; done += at_once) {
    const auto now = static_cast<std::size_t>(std::min(at_once, launches - done));
    for (std::size_t i = 0; i < now; ++i) {
      on(0);
      check(cudaEventRecord(events[3 * i].handle(), stream(0)), "recording before the flush");
      for (std::size_t lane = 0; lane < work_.lanes.size(); ++lane) {
        on(lane);
        const int gpu = work_.lanes[lane].gpu;
        const Buffer& flusher = gpus_.flusher(gpu);
        const unsigned blocks = blocks_for(flusher.bytes(), gpus_.multiprocessors(gpu), 2);
        check(write_memory(flusher.as<void>(), flusher.bytes(), 1, static_cast<std::uint32_t>(i), blocks, stream(lane)), "flushing L2");
      }
      join();
      on(0);
      check(cudaEventRecord(events[3 * i + 1].handle(), stream(0)), "recording a start");
      for (std::size_t lane = 1; lane < work_.lanes.size(); ++lane) {
        on(lane);
        check(cudaStreamWaitEvent(stream(lane), events[3 * i + 1].handle(), 0), "waiting for the start");
      }
      work_.enqueue();
      join();
      on(0);
      check(cudaEventRecord(events[3 * i + 2].handle(), stream(0)), "recording a stop");
    }
    wait(events[3 * now - 1].handle());
    check_lanes();
    for (std::size_t i = 0; i < now; ++i) {
      flushed += seconds_between(events[3 * i].handle(), events[3 * i + 1].handle());
      timed += seconds_between(events[3 * i + 1].handle(), events[3 * i + 2].handle());
    }
  }
  return {timed, seconds_since(begin) - flushed};
}

// One graph per lane, as the streams of one NCCL group are captured. Graphs are kept, since the engine
// requests the same number repeatedly.
bool Batch::make_graphs(int launches) {
  if (!capturable_) return false;
  const int max = launches_in_a_graph(work_.lanes.size());
  for (const int wanted : {std::min(launches, max), launches % max}) {
    const auto known = [wanted](const Graphs& g) { return g.launches == wanted; };
    if (wanted == 0 || std::any_of(graphs_.begin(), graphs_.end(), known)) continue;
    finish();
    Graphs made{wanted, {}};
    try {
      Captures captures;
      for (std::size_t lane = 0; lane < work_.lanes.size(); ++lane) {
        on(lane);
        captures.begin(stream(lane));
      }
      for (int i = 0; i < wanted; ++i) work_.enqueue();
      for (std::size_t lane = 0; lane < work_.lanes.size(); ++lane) {
        on(lane);
        made.of_lanes.push_back(captures.end_first());
      }
    } catch (const Unsupported&) {
      capturable_ = false;  // this runtime or library cannot capture it: launched one by one, which the row says
      graphs_.clear();
      return false;
    }
    // while searching its number of repetitions the engine requests many; the largest graph is always needed
    if (graphs_.size() >= 4)
      graphs_.erase(std::find_if(graphs_.begin(), graphs_.end(), [max](const Graphs& g) { return g.launches != max; }));
    graphs_.push_back(std::move(made));
    static_cast<void>(launch_graph(wanted));  // the first launch uploads it
    finish();
  }
  return true;
}

int Batch::launch_graph(int left) {
  const int now = std::min(left, launches_in_a_graph(work_.lanes.size()));
  const auto found = std::find_if(graphs_.begin(), graphs_.end(), [now](const Graphs& g) { return g.launches == now; });
  if (found == graphs_.end()) throw DeviceFault("a graph of " + std::to_string(now) + " launches is missing");
  try {
    for (std::size_t lane = 0; lane < found->of_lanes.size(); ++lane) {
      on(lane);
      check(cudaGraphLaunch(found->of_lanes[lane].handle(), stream(lane)), "launching a graph");
    }
  } catch (...) {
    give_up();  // lanes that were launched may wait for those that were not
    throw;
  }
  return now;
}

void Batch::finish() {
  for (std::size_t lane = 0; lane < work_.lanes.size(); ++lane) {
    on(lane);
    const Event end = make_event(false);
    check(cudaEventRecord(end.handle(), stream(lane)), "recording an end");
    wait(end.handle());
  }
}

// Polls: waking from a blocking wait would add to the host's time.
void Batch::wait(cudaEvent_t event) {
  const Clock::time_point begin = Clock::now();
  Clock::time_point looked = begin;
  for (;;) {
    const cudaError_t status = cudaEventQuery(event);
    if (status == cudaSuccess) return;
    if (status != cudaErrorNotReady) check(status, "waiting for the device");
    static_cast<void>(cudaGetLastError());
    if (seconds_since(looked) < look_after) continue;
    looked = Clock::now();
    if (const cudaError_t failed = failed_lane(); failed != cudaSuccess) {
      give_up();
      check(failed, "waiting for the device");
    }
    if (const std::string why = never_finishes(seconds_since(begin)); !why.empty()) {
      give_up();
      throw DeviceLost(why);
    }
  }
}

cudaError_t Batch::failed_lane() const {
  for (const Lane& lane : work_.lanes) {
    const cudaError_t status = cudaStreamQuery(lane.stream.handle());
    ignore(status);
    if (status != cudaSuccess && status != cudaErrorNotReady) return status;
  }
  return cudaSuccess;
}

std::string Batch::never_finishes(double waited) const {
  const double patience = work_.all_processes ? 120 : 600;  // s; after a failed rank the others wait for this long
  const std::string why = work_.fault ? work_.fault() : "";
  if (!why.empty() || waited <= patience) return why;
  return "no end after " + std::to_string(static_cast<int>(patience)) + " s";
}

void Batch::close_run() {
  const Clock::time_point begin = Clock::now();
  Clock::time_point looked = begin;
  int looks_after_abort = 0;
  for (std::size_t lane = 0; lane < work_.lanes.size();) {
    const cudaError_t status = cudaStreamQuery(stream(lane));
    ignore(status);
    if (status != cudaErrorNotReady) {
      ++lane;
    } else if (seconds_since(looked) > look_after) {
      looked = Clock::now();
      if (failed_lane() == cudaSuccess && never_finishes(seconds_since(begin)).empty()) continue;
      if (!work_.give_up || ++looks_after_abort > 1000) return;  // what cannot be aborted is left to its stream
      give_up();
    }
  }
}

}  // namespace fabricost::probes::measure::gpu
