/// host_read, host_write, host_load: kernels load from and store to page-locked host memory that is mapped into the GPU's addresses, over
/// PCIe or NVLink-C2C. The copy engines do the same in host_copy.cpp.

#include "measure/gpu/gpus.hpp"
#include "measure/gpu/numa.hpp"
#include "measure/gpu/probes/probes.hpp"

#include <algorithm>

namespace fabricost::probes::measure::gpu {
namespace {

constexpr std::uint32_t host_access_seed = 13;

// Page-locked memory beside a GPU, under the address that its kernels use.
struct Mapped {
  Memory host;
  void* seen = nullptr;

  Mapped(const Gpus& gpus, int gpu, std::uint64_t bytes) {
    const OnNode near(numa_node_of(bus_of(gpus, gpu)));
    use(gpus.ordinal(gpu));
    host = pinned_memory(bytes, cudaHostAllocMapped | cudaHostAllocPortable);
    check(cudaHostGetDevicePointer(&seen, host.as<void>(), 0), "mapping host memory");
  }
};

// One direction of one GPU: its kernel, and the check of the moved data.
struct HostAccess {
  bool reads;
  int ordinal;
  Mapped memory;
  Words sum;
  unsigned blocks;
  cudaStream_t stream;
  std::string name;

  void enqueue() const {
    use(ordinal);
    const std::uint64_t bytes = memory.host.bytes();
    if (reads)
      check(read_memory(memory.seen, bytes, 1, sum.at(2), blocks, stream), "reading host memory");
    else
      check(write_memory(memory.seen, bytes, 1, host_access_seed, blocks, stream), "writing host memory");
  }

  void try_and_check() const {
    const std::uint64_t bytes = memory.host.bytes();
    use(ordinal);
    if (reads) {
      check(fill_words(memory.seen, bytes, host_access_seed, Content::words, stream), "filling");
      enqueue();
      check(sum_of_words(bytes, host_access_seed, sum.at(3), stream), "summing");
      if (const auto sums = sum.read(stream); sums[2] != sums[3]) throw WrongResult(name + ": the sum of what was read is wrong");
    } else {
      std::fill_n(memory.host.as<unsigned char>(), bytes, static_cast<unsigned char>(0xA5));
      enqueue();
      check(cudaStreamSynchronize(stream), "writing host memory");
      expect_words_on_host(memory.host, host_access_seed, name);
    }
  }
};

struct HostChase {
  Mapped memory;
  Ring ring;
  Buffer end;
};

std::unique_ptr<Job> prepare_host_access(Gpus& gpus, const Case& what) {
  if (what.bytes == 0) throw Unsupported("loads and stores need bytes");
  if (!what.pinned) throw Unsupported("kernels load from and store to pinned memory");
  auto all = std::make_shared<std::vector<HostAccess>>();
  Work work;
  work.graph = what.graph;
  work.cold = what.cold;
  for (const int gpu : beside_host(what))
    for (const bool reads : {true, false}) {
      if (!what.both_ways && reads != (what.kind == ProbeKind::host_read)) continue;
      work.lanes.push_back(make_lane(gpus, gpu));
      const unsigned ways = what.both_ways ? 2 : 1;  // concurrent kernels share the multiprocessors instead of waiting for each other
      const unsigned blocks = std::max(1U, blocks_on(gpus, gpu, reads ? 0 : 1, what.bytes) / ways);
      all->push_back({reads, gpus.ordinal(gpu), Mapped(gpus, gpu, what.bytes), Words(gpus.ordinal(gpu)), blocks,
                      work.lanes.back().stream.handle(),
                      std::to_string(what.bytes) + " bytes, GPU " + std::to_string(gpu) + (reads ? " from" : " to") + " host memory"});
    }
  for (const HostAccess& access : *all) access.try_and_check();
  work.enqueue = [all = all.get()] {
    for (const HostAccess& access : *all) access.enqueue();
  };
  work.keeps.push_back(all);
  return std::make_unique<Batch>(gpus, std::move(work));
}

std::unique_ptr<Job> prepare_host_load(Gpus& gpus, const Case& what) {
  const int ordinal = gpus.ordinal(what.gpu);
  Mapped memory(gpus, what.gpu, ring_bytes(what.bytes == 0 ? ring_unless_said : what.bytes));
  const Ring ring = write_ring(memory.seen, memory.host.bytes());
  auto chased = std::make_shared<HostChase>(HostChase{std::move(memory), ring, Buffer(ordinal, sizeof(void*))});
  chased->end.poison();
  Work work;
  work.lanes.push_back(make_lane(gpus, what.gpu));
  work.repetitions_per_launch = ring.steps;
  work.graph = what.graph;
  work.enqueue = [c = chased.get(), stream = work.lanes[0].stream.handle()] {
    check(chase(static_cast<void* const*>(c->ring.start), c->ring.steps, false, c->end.as<void*>(), stream), "loading from host memory");
  };
  work.keeps.push_back(chased);
  work.enqueue();
  expect_arrival(ring, chased->end, work.lanes[0].stream.handle(), "GPU " + std::to_string(what.gpu) + " and host memory");
  return std::make_unique<Batch>(gpus, std::move(work));
}

const Prepares host_access_probes{{ProbeKind::host_read, ProbeKind::host_write}, prepare_host_access};
const Prepares host_load_probes{{ProbeKind::host_load}, prepare_host_load};

}  // namespace
}  // namespace fabricost::probes::measure::gpu
