/// kernel_launch, kernel_sync, graph_launch, graph_node, event_record, stream_wait: launch overheads.
///
/// These are not held behind the gate, since the host's enqueueing is timed. Device and host time cover the
/// same repetitions.

#include "measure/gpu/probes/probes.hpp"

namespace fabricost::probes::measure::gpu {
namespace {

GraphExec graph_of_empty_kernels(cudaStream_t stream, int kernels) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing a graph");
  cudaError_t status = cudaSuccess;
  for (int i = 0; i < kernels && status == cudaSuccess; ++i) status = empty_kernel(stream);
  Graph graph;
  const cudaError_t ended = cudaStreamEndCapture(stream, graph.place());
  check(status, "capturing an empty kernel");
  check(ended, "capturing a graph");
  GraphExec exec;
  check(instantiate(exec.place(), graph.handle()), "instantiating a graph");
  check(cudaGraphLaunch(exec.handle(), stream), "launching a graph");  // uploads it
  check(cudaStreamSynchronize(stream), "launching a graph");
  return exec;
}

// t(1 + more nodes) - t(1 node), over `more`.
class ExtraNode : public Job {
 public:
  ExtraNode(std::unique_ptr<Job> one, std::unique_ptr<Job> many, int more) : one_(std::move(one)), many_(std::move(many)), more_(more) {}
  Timing run(int repetitions) override {
    const int graphs = std::max(8, repetitions / more_);
    const Timing one = one_->run(graphs), many = many_->run(graphs);
    return {(many.device - one.device) / more_, (many.host - one.host) / more_};
  }

 private:
  std::unique_ptr<Job> one_, many_;
  int more_;
};

Work on_one_stream(const Gpus& gpus, int gpu) {
  Work work;
  work.lanes.push_back(make_lane(gpus, gpu));
  work.graph = false;
  work.gated = false;
  return work;
}

std::unique_ptr<Job> graphs(Gpus& gpus, int gpu, int kernels) {
  Work work = on_one_stream(gpus, gpu);
  const cudaStream_t stream = work.lanes[0].stream.handle();
  auto exec = std::make_shared<GraphExec>(graph_of_empty_kernels(stream, kernels));
  work.keeps.push_back(exec);
  work.enqueue = [exec = exec.get(), stream] { check(cudaGraphLaunch(exec->handle(), stream), "launching a graph"); };
  return std::make_unique<Batch>(gpus, std::move(work));
}

}  // namespace

static std::unique_ptr<Job> prepare_launch(Gpus& gpus, const Case& what) {
  const int gpu = what.gpu;
  constexpr int more_nodes = 128;
  if (what.kind == ProbeKind::graph_launch) return graphs(gpus, gpu, 1);
  if (what.kind == ProbeKind::graph_node)
    return std::make_unique<ExtraNode>(graphs(gpus, gpu, 1), graphs(gpus, gpu, 1 + more_nodes), more_nodes);

  Work work = on_one_stream(gpus, gpu);
  const cudaStream_t stream = work.lanes[0].stream.handle();
  switch (what.kind) {
    case ProbeKind::kernel_launch: work.enqueue = [stream] { check(empty_kernel(stream), "launching a kernel"); }; break;
    case ProbeKind::kernel_sync:
      work.enqueue = [stream] {
        check(empty_kernel(stream), "launching a kernel");
        check(cudaStreamSynchronize(stream), "waiting for a kernel");
      };
      break;
    case ProbeKind::event_record: {
      auto event = std::make_shared<Event>(make_event(true));
      work.keeps.push_back(event);
      work.enqueue = [event = event.get(), stream] { check(cudaEventRecord(event->handle(), stream), "recording an event"); };
      break;
    }
    case ProbeKind::stream_wait: {
      // alternates between the streams, so that each wait needs the previous record: a repetition is one hop
      struct Turns {
        Event events[2];
        std::size_t next = 0;
      };
      auto turns = std::make_shared<Turns>();
      turns->events[0] = make_event(false);
      turns->events[1] = make_event(false);
      work.lanes.push_back(make_lane(gpus, gpu));
      const cudaStream_t streams[2] = {stream, work.lanes[1].stream.handle()};
      work.keeps.push_back(turns);
      work.enqueue = [turns = turns.get(), streams = std::vector<cudaStream_t>(streams, streams + 2)] {
        const std::size_t from = turns->next;
        turns->next = 1 - from;
        check(cudaEventRecord(turns->events[from].handle(), streams[from]), "recording an event");
        check(cudaStreamWaitEvent(streams[1 - from], turns->events[from].handle(), 0), "waiting for an event");
      };
      break;
    }
    default: throw Unsupported("not a probe of launches");
  }
  work.enqueue();
  check(cudaDeviceSynchronize(), "trying");
  return std::make_unique<Batch>(gpus, std::move(work));
}

namespace {
const Prepares launch_probes{{ProbeKind::kernel_launch, ProbeKind::kernel_sync, ProbeKind::graph_launch, ProbeKind::graph_node,
                              ProbeKind::event_record, ProbeKind::stream_wait},
                             prepare_launch};
}  // namespace

}  // namespace fabricost::probes::measure::gpu
