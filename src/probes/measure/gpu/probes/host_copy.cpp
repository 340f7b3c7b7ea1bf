/// host_to_device, device_to_host, host_both_ways: the copy engines, from page-locked or pageable memory.
///
/// For copies of pageable memory the host does work (the driver stages them), so they are neither held nor
/// captured, and copies in both directions need a thread each. Pinned memory may be copied by several GPUs at once.

#include "measure/gpu/gpus.hpp"
#include "measure/gpu/numa.hpp"
#include "measure/gpu/probes/probes.hpp"

#include <array>
#include <atomic>
#include <exception>
#include <thread>

namespace fabricost::probes::measure::gpu {
namespace {

constexpr std::uint32_t host_copy_seed = 11;

// One direction: its copy, and the copy back for the check.
struct Direction {
  bool to_device;
  Buffer device;
  Memory host;
  int ordinal;

  [[nodiscard]] cudaError_t copy(cudaStream_t stream) const {
    return to_device ? cudaMemcpyAsync(device.as<void>(), host.as<void>(), device.bytes(), cudaMemcpyHostToDevice, stream)
                     : cudaMemcpyAsync(host.as<void>(), device.as<void>(), device.bytes(), cudaMemcpyDeviceToHost, stream);
  }

  void try_and_check(cudaStream_t stream, const std::string& name) const {
    auto* const bytes = host.as<unsigned char>();
    const Words wrong(ordinal);
    if (to_device) {
      for (std::uint64_t i = 0; i < host.bytes(); ++i) bytes[i] = byte_of_words(i, host_copy_seed);
      device.poison();
      check(copy(stream), name);
      check(count_wrong_bytes(device.as<void>(), device.bytes(), host_copy_seed, Content::words, wrong.at(), stream), "checking");
      expect_none_wrong(wrong, stream, name, "bytes");
    } else {
      check(fill_words(device.as<void>(), device.bytes(), host_copy_seed, Content::words, stream), "filling");
      std::fill(bytes, bytes + host.bytes(), static_cast<unsigned char>(0xA5));
      check(copy(stream), name);
      check(cudaStreamSynchronize(stream), name);
      expect_words_on_host(host, host_copy_seed, name);
    }
  }
};

// Pageable memory in both directions: a thread and a stream each, started together.
class TwoThreads : public Job {
 public:
  TwoThreads(std::array<std::shared_ptr<Direction>, 2> directions, std::array<Lane, 2> lanes, std::shared_ptr<OnNode> near)
      : near_(std::move(near)), directions_(std::move(directions)), lanes_(std::move(lanes)) {}

  Timing run(int repetitions) override {
    std::atomic<int> ready{0};
    std::array<double, 2> device{};
    std::array<std::exception_ptr, 2> faults{};
    using Clock = std::chrono::steady_clock;
    std::array<Clock::time_point, 2> begun{}, ended{};
    const auto copies = [&](std::size_t way) {
      try {
        use(directions_[way]->ordinal);
        const Event begin = make_event(true), end = make_event(true);
        const cudaStream_t stream = lanes_[way].stream.handle();
        ready.fetch_add(1);
        while (ready.load() < 2) std::this_thread::yield();
        begun[way] = Clock::now();
        check(cudaEventRecord(begin.handle(), stream), "recording the start");
        for (int i = 0; i < repetitions; ++i) check(directions_[way]->copy(stream), "copying pageable memory");
        check(cudaEventRecord(end.handle(), stream), "recording the stop");
        check(cudaStreamSynchronize(stream), "waiting for copies");
        ended[way] = Clock::now();
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, begin.handle(), end.handle()), "reading the time between events");
        device[way] = 1e-3 * static_cast<double>(milliseconds);
      } catch (...) {
        faults[way] = std::current_exception();
        ready.fetch_add(2);  // the other thread must not wait
      }
    };
    std::thread other(copies, 1);
    copies(0);
    other.join();
    for (const auto& fault : faults)
      if (fault) std::rethrow_exception(fault);
    const double host = std::chrono::duration<double>(std::max(ended[0], ended[1]) - std::min(begun[0], begun[1])).count();
    return {std::max(device[0], device[1]) / repetitions, host / repetitions};
  }

 private:
  std::shared_ptr<OnNode> near_;  // threads begin on the processors of the one that starts them
  std::array<std::shared_ptr<Direction>, 2> directions_;
  std::array<Lane, 2> lanes_;
};

}  // namespace

static std::unique_ptr<Job> prepare_host_copy(Gpus& gpus, const Case& what) {
  if (what.bytes == 0) throw Unsupported("a copy needs bytes");
  if (!what.gpus.empty() && !what.pinned) throw Unsupported("several GPUs at once copy from and to pinned memory");
  const auto near = [&](int gpu) { return std::make_shared<OnNode>(numa_node_of(bus_of(gpus, gpu))); };
  const auto direction = [&](int gpu, bool to_device, const Lane& lane) {
    const int ordinal = gpus.ordinal(gpu);
    auto made =
        std::make_shared<Direction>(Direction{to_device, Buffer(ordinal, what.bytes),
                                              what.pinned ? pinned_memory(what.bytes) : pageable_memory(what.bytes), ordinal});
    made->try_and_check(lane.stream.handle(), std::to_string(what.bytes) + " bytes, GPU " + std::to_string(gpu) +
                                                  (to_device ? " from" : " to") + (what.pinned ? " pinned" : " pageable") + " host memory");
    return made;
  };
  const bool both = what.kind == ProbeKind::host_both_ways;
  if (both && !what.pinned) {
    auto beside = near(what.gpu);
    std::array<Lane, 2> lanes{make_lane(gpus, what.gpu), make_lane(gpus, what.gpu)};
    auto there = direction(what.gpu, true, lanes[0]), back = direction(what.gpu, false, lanes[1]);
    return std::make_unique<TwoThreads>(std::array{std::move(there), std::move(back)}, std::move(lanes), std::move(beside));
  }
  Work work;
  work.graph = what.graph && what.pinned;
  work.gated = what.pinned;
  work.cold = what.cold;
  std::vector<std::pair<Direction*, cudaStream_t>> copies;
  for (const int gpu : beside_host(what)) {
    auto beside = near(gpu);
    for (const bool to_device : {true, false}) {
      if (!both && to_device != (what.kind == ProbeKind::host_to_device)) continue;
      work.lanes.push_back(make_lane(gpus, gpu));
      auto made = direction(gpu, to_device, work.lanes.back());
      copies.emplace_back(made.get(), work.lanes.back().stream.handle());
      work.keeps.push_back(std::move(made));
    }
    if (what.gpus.empty()) work.keeps.push_back(std::move(beside));  // one thread cannot stay beside several
  }
  work.enqueue = [copies] {
    for (const auto& [way, stream] : copies) {
      use(way->ordinal);
      check(way->copy(stream), "copying");
    }
  };
  return std::make_unique<Batch>(gpus, std::move(work));
}

namespace {
const Prepares host_copy_probes{{ProbeKind::host_to_device, ProbeKind::device_to_host, ProbeKind::host_both_ways}, prepare_host_copy};
}  // namespace

}  // namespace fabricost::probes::measure::gpu
