/// \file chase.cpp
/// pointer_chase: latency of L1, L2 or HBM, by the size of the ring.

#include "measure/gpu/probes/chase_cycle.hpp"
#include "measure/gpu/probes/probes.hpp"
#include "measure/gpu/probes/words.hpp"
#include "measure/gpu/probes/work_shape.hpp"

namespace fabricost::measure::gpu {
namespace {

constexpr std::uint64_t line_bytes = 128;  // of NVIDIA's caches and of AMD's L2

struct Chase {
  Ring ring{};
  Buffer end{};
  Words sum;
};

}  // namespace

Ring make_ring(const Gpus& gpus, int gpu, std::uint64_t bytes) {
  const std::uint64_t lines = bytes / line_bytes;
  if (lines < 2 || lines > (std::uint64_t{1} << 32) - 1)
    throw Unsupported("a chase needs 256 bytes to 512 GiB, not " + std::to_string(bytes));
  const auto next = chase_cycle(lines);
  if (!is_one_cycle(next)) throw WrongResult("the ring of the chase is no single cycle");
  Ring ring{Buffer(gpus.ordinal(gpu), lines * line_bytes), chase_steps(lines, line_bytes)};
  auto* const begin = ring.memory.as<char>();
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
  ring.start = begin;
  ring.end = begin + after_steps(next, ring.steps) * line_bytes;
  return ring;
}

static std::unique_ptr<Job> prepare_chase(Gpus& gpus, const Case& what) {
  const int ordinal = gpus.ordinal(what.gpu);
  auto chased = std::make_shared<Chase>(Chase{make_ring(gpus, what.gpu, what.bytes), Buffer(ordinal, sizeof(void*)), Words(ordinal)});
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
  const unsigned blocks = blocks_on(gpus, what.gpu, 0, c->ring.memory.bytes());
  work.before = [c, stream, blocks] {  // brings the set into L2, as far as it fits
    check(read_memory(c->ring.memory.as<void>(), c->ring.memory.bytes(), 1, c->sum.at(2), blocks, stream), "warming L2");
  };
  c->end.poison();
  work.enqueue();
  check(cudaStreamSynchronize(stream), "chasing pointers");
  void* arrived = nullptr;
  check(cudaMemcpy(&arrived, c->end.as<void>(), sizeof arrived, cudaMemcpyDefault), "reading where a chase arrived");
  if (arrived != c->ring.end)
    throw WrongResult("a chase of " + std::to_string(what.bytes) + " bytes arrived at another line than its ring leads to");
  return std::make_unique<Batch>(gpus, std::move(work));
}

namespace {
const Prepares chase_probes{{ProbeKind::pointer_chase}, prepare_chase};
}  // namespace

}  // namespace fabricost::measure::gpu
