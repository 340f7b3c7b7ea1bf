/// pointer_chase: latency of L1, L2 or HBM, by the size of the ring. The rings of the other chases.

#include "measure/gpu/probes/chase_cycle.hpp"
#include "measure/gpu/probes/probes.hpp"
#include "measure/gpu/probes/work_shape.hpp"

namespace fabricost::probes::measure::gpu {
namespace {

constexpr std::uint64_t line_bytes = 128;  // of NVIDIA's caches and of AMD's L2

struct Chase {
  Buffer memory;
  Ring ring;
  Buffer end;
  Words sum;
};

}  // namespace

std::uint64_t ring_bytes(std::uint64_t bytes) {
  const std::uint64_t lines = bytes / line_bytes;
  if (lines < 2 || lines > (std::uint64_t{1} << 32) - 1)
    throw Unsupported("a chase needs 256 bytes to 512 GiB, not " + std::to_string(bytes));
  return lines * line_bytes;
}

Ring write_ring(void* memory, std::uint64_t bytes) {
  const std::uint64_t lines = bytes / line_bytes;
  const auto next = chase_cycle(lines);
  if (!is_one_cycle(next)) throw WrongResult("the ring of the chase is no single cycle");
  auto* const begin = static_cast<char*>(memory);
  // the lines in memory order, part by part, so that a ring of many GiB needs no second copy on the host
  constexpr std::uint64_t part = 1 << 16;
  std::vector<void*> lines_of_part;
  for (std::uint64_t from = 0; from < lines; from += part) {
    const std::uint64_t count = std::min(part, lines - from);
    lines_of_part.assign(count * (line_bytes / sizeof(void*)), nullptr);
    for (std::uint64_t i = 0; i < count; ++i) lines_of_part[i * (line_bytes / sizeof(void*))] = begin + next[from + i] * line_bytes;
    check(cudaMemcpy(begin + from * line_bytes, lines_of_part.data(), count * line_bytes, cudaMemcpyDefault),
          "writing the ring of a chase");
  }
  check(cudaDeviceSynchronize(), "writing the ring of a chase");
  const std::uint64_t steps = chase_steps(lines, line_bytes);
  return {steps, begin, begin + after_steps(next, steps) * line_bytes};
}

void expect_arrival(const Ring& ring, const Buffer& end, cudaStream_t stream, const std::string& name) {
  check(cudaStreamSynchronize(stream), "chasing pointers");
  void* arrived = nullptr;
  check(cudaMemcpy(&arrived, end.as<void>(), sizeof arrived, cudaMemcpyDefault), "reading where a chase arrived");
  if (arrived != ring.end) throw WrongResult(name + ": the chase arrived at another line than its ring leads to");
}

static std::unique_ptr<Job> prepare_chase(Gpus& gpus, const Case& what) {
  const int ordinal = gpus.ordinal(what.gpu);
  Buffer memory(ordinal, ring_bytes(what.bytes));
  const Ring ring = write_ring(memory.as<void>(), memory.bytes());
  auto chased = std::make_shared<Chase>(Chase{std::move(memory), ring, Buffer(ordinal, sizeof(void*)), Words(ordinal)});
  Work work;
  work.lanes.push_back(make_lane(gpus, what.gpu));
  work.repetitions_per_launch = chased->ring.steps;
  work.graph = what.graph;
  work.cold = what.cold;
  work.keeps.push_back(chased);
  const cudaStream_t stream = work.lanes[0].stream.handle();
  const Chase* const c = chased.get();
  work.enqueue = [c, stream] {
    check(chase(static_cast<void* const*>(c->ring.start), c->ring.steps, true, c->end.as<void*>(), stream), "chasing pointers");
  };
  const unsigned blocks = blocks_on(gpus, what.gpu, 0, c->memory.bytes());
  work.before = [c, stream, blocks] {  // brings the set into L2, as far as it fits
    check(read_memory(c->memory.as<void>(), c->memory.bytes(), 1, c->sum.at(2), blocks, stream), "warming L2");
  };
  c->end.poison();
  work.enqueue();
  expect_arrival(c->ring, c->end, stream, "GPU " + std::to_string(what.gpu) + ", " + std::to_string(what.bytes) + " bytes");
  return std::make_unique<Batch>(gpus, std::move(work));
}

namespace {
const Prepares chase_probes{{ProbeKind::pointer_chase}, prepare_chase};
}  // namespace

}  // namespace fabricost::probes::measure::gpu
