/// memory_read, memory_write, memory_copy, memory_scale, local_copy of one GPU.

#include "measure/gpu/probes/probes.hpp"
#include "measure/gpu/probes/work_shape.hpp"

namespace fabricost::probes::measure::gpu {
namespace {

constexpr std::uint32_t memory_seed = 7;
constexpr int read_number = 0, write_number = 1, copy_number = 2, scale_number = 3;

struct Sets {
  Buffer first{}, second{};
  Words sum;
};

}  // namespace

unsigned blocks_on(const Gpus& gpus, int gpu, int kernel, std::uint64_t bytes) {
  use(gpus.ordinal(gpu));
  int per_multiprocessor = 0;
  check(blocks_per_multiprocessor(kernel, &per_multiprocessor), "asking for the occupancy of a kernel");
  return blocks_for(bytes, gpus.multiprocessors(gpu), per_multiprocessor);
}

static std::unique_ptr<Job> prepare_memory(Gpus& gpus, const Case& what) {
  if (what.bytes == 0) throw Unsupported("a memory probe needs bytes");
  if (what.kind == ProbeKind::memory_scale && what.bytes < 4) throw Unsupported("memory_scale needs at least one float of 4 bytes");
  const int gpu = what.gpu, ordinal = gpus.ordinal(gpu);
  const std::uint64_t bytes = what.bytes;
  const bool copies = what.kind == ProbeKind::memory_copy || what.kind == ProbeKind::local_copy;
  auto sets = std::make_shared<Sets>(
      Sets{Buffer(ordinal, bytes), copies ? Buffer(ordinal, bytes) : Buffer(), Words(ordinal)});

  Work work;
  work.lanes.push_back(make_lane(gpus, gpu));
  work.graph = what.graph;
  work.cold = what.cold;
  work.keeps.push_back(sets);
  const cudaStream_t stream = work.lanes[0].stream.handle();
  void *const first = sets->first.as<void>(), *const second = sets->second.as<void>();
  const std::string name = "GPU " + std::to_string(gpu) + ", " + std::to_string(bytes) + " bytes";
  const auto expect = [&](const void* set, Content content) {
    sets->sum.clear();
    check(count_wrong_bytes(set, bytes, memory_seed, content, sets->sum.at(), stream), "checking");
    expect_none_wrong(sets->sum, stream, name, "bytes");
  };

  std::function<cudaError_t(int)> pass;  // `passes` over the set
  switch (what.kind) {
    case ProbeKind::memory_read: {
      const unsigned blocks = blocks_on(gpus, gpu, read_number, bytes);
      check(fill_words(first, bytes, memory_seed, Content::words, stream), "filling");
      pass = [=](int passes) { return read_memory(first, bytes, passes, sets->sum.at(2), blocks, stream); };
      check(pass(1), "reading");
      check(sum_of_words(bytes, memory_seed, sets->sum.at(3), stream), "summing");
      if (const auto sums = sets->sum.read(stream); sums[2] != sums[3])
        throw WrongResult(name + ": what was read sums to " + std::to_string(sums[2]) + ", what was written to " + std::to_string(sums[3]));
      break;
    }
    case ProbeKind::memory_write: {
      const unsigned blocks = blocks_on(gpus, gpu, write_number, bytes);
      sets->first.poison();
      pass = [=](int passes) { return write_memory(first, bytes, passes, memory_seed, blocks, stream); };
      check(pass(1), "writing");
      expect(first, Content::words);
      break;
    }
    case ProbeKind::memory_copy:
    case ProbeKind::local_copy: {
      check(fill_words(first, bytes, memory_seed, Content::words, stream), "filling");
      sets->second.poison();
      if (what.kind == ProbeKind::memory_copy) {
        const unsigned blocks = blocks_on(gpus, gpu, copy_number, bytes);
        pass = [=](int passes) { return copy_memory(second, first, bytes, passes, blocks, stream); };
      } else {
        pass = [=](int passes) {
          cudaError_t status = cudaSuccess;
          for (int i = 0; i < passes && status == cudaSuccess; ++i)
            status = cudaMemcpyAsync(second, first, bytes, cudaMemcpyDefault, stream);
          return status;
        };
      }
      check(pass(1), "copying");
      expect(second, Content::words);
      break;
    }
    case ProbeKind::memory_scale: {
      const std::uint64_t whole = bytes / 4 * 4;
      const unsigned blocks = blocks_on(gpus, gpu, scale_number, whole);
      check(fill_words(first, bytes, memory_seed, Content::floats, stream), "filling");
      pass = [=](int passes) { return scale_memory(first, whole, passes, -1, blocks, stream); };
      check(pass(1), "scaling");
      sets->sum.clear();
      check(count_wrong_bytes(first, whole, memory_seed, Content::floats_negated, sets->sum.at(), stream), "checking");
      expect_none_wrong(sets->sum, stream, name, "bytes");
      break;
    }
    default: throw Unsupported("not a memory probe");
  }

  const int passes = [&] {
    if (what.cold) return 1;  // a second pass would hit the lines of the first
    const Event begin = make_event(true), end = make_event(true);
    check(pass(1), "trying");
    check(cudaEventRecord(begin.handle(), stream), "recording");
    check(pass(1), "trying");
    check(cudaEventRecord(end.handle(), stream), "recording");
    check(cudaStreamSynchronize(stream), "trying");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.handle(), end.handle()), "reading the time between events");
    return passes_for(1e-3 * static_cast<double>(milliseconds));
  }();
  work.repetitions_per_launch = static_cast<std::uint64_t>(passes);
  work.enqueue = [=] { check(pass(passes), "launching a memory kernel"); };
  work.before = [=] { check(pass(1), "warming"); };
  return std::make_unique<Batch>(gpus, std::move(work));
}

namespace {
const Prepares memory_probes{
    {ProbeKind::memory_copy, ProbeKind::memory_read, ProbeKind::memory_write, ProbeKind::memory_scale, ProbeKind::local_copy},
    prepare_memory};
}  // namespace

}  // namespace fabricost::probes::measure::gpu
