/// compute, compute_overlap: arithmetic that takes as long as a collective alone, then both concurrently. The
/// excess over the longer one is the cost of the collective's multiprocessors and traffic to the arithmetic.

#include "measure/gpu/nccl_choice.hpp"
#include "measure/gpu/probes/probes.hpp"

#include <cmath>

namespace fabricost::probes::measure::gpu {
namespace {

constexpr unsigned blocks_per_multiprocessor_wanted = 32;  // several times the number that runs concurrently
constexpr double first_rounds = 128;                       // a few microseconds, from which the number is found
constexpr float factor = -1, summand = 1;                  // x -> 1 - x: exact, and any number of rounds gives x or 1 - x

struct Arithmetic {
  std::vector<Buffer> results{};
  std::vector<unsigned> blocks{};
  std::vector<cudaStream_t> streams{};
  std::vector<int> ordinals{};
  std::uint64_t rounds = 1;

  void enqueue() const {
    for (std::size_t i = 0; i < results.size(); ++i) {
      use(ordinals[i]);
      check(arithmetic(results[i].as<float>(), rounds, factor, summand, blocks[i], streams[i]), "launching arithmetic");
    }
  }
};

Work arithmetic_work(const Gpus& gpus, const Case& what, std::shared_ptr<Arithmetic>& made) {
  Work work;
  made = std::make_shared<Arithmetic>();
  for (const int gpu : what.gpus) {
    work.lanes.push_back(make_lane(gpus, gpu));
    const unsigned blocks = blocks_per_multiprocessor_wanted * static_cast<unsigned>(gpus.multiprocessors(gpu));
    made->ordinals.push_back(gpus.ordinal(gpu));
    made->blocks.push_back(blocks);
    made->results.emplace_back(gpus.ordinal(gpu), std::uint64_t{blocks} * arithmetic_threads * sizeof(float));
    made->streams.push_back(work.lanes.back().stream.handle());
  }
  work.graph = what.graph;
  work.enqueue = [a = made.get()] { a->enqueue(); };
  work.keeps.push_back(made);
  return work;
}

void expect(const Arithmetic& a) {
  // 1 + 2 + 3 + 4 after an even number of rounds, (1 - 1) + (1 - 2) + (1 - 3) + (1 - 4) after an odd one
  const float wanted = a.rounds % 2 == 0 ? 10 : -6;
  for (std::size_t i = 0; i < a.results.size(); ++i) {
    check(cudaStreamSynchronize(a.streams[i]), "waiting for arithmetic");
    std::vector<float> found(a.results[i].bytes() / sizeof(float));
    check(cudaMemcpy(found.data(), a.results[i].as<void>(), a.results[i].bytes(), cudaMemcpyDefault), "reading results");
    for (const float value : found)
      if (value != wanted)
        throw WrongResult("arithmetic on GPU " + std::to_string(a.ordinals[i]) + " gave " + std::to_string(value) + " for " +
                          std::to_string(wanted));
  }
}

// Rounds with the time of the collective alone; the same for both probes and in all processes.
std::uint64_t rounds_as_long_as(Gpus& gpus, const Case& what) {
  const std::string key =
      communicator_key(what) + std::string(name(what.operation)) + std::string(name(what.dtype)) + std::to_string(what.bytes);
  if (const auto known = gpus.arithmetic_rounds().find(key); known != gpus.arithmetic_rounds().end()) return known->second;
  Case alone = what;
  alone.kind = ProbeKind::collective;
  const auto communication = prepare_collective(gpus, alone);
  static_cast<void>(communication->run(5));
  const double wanted = communication->run(20).device;
  double rounds = first_rounds;
  for (int i = 0; i < 4; ++i) {  // the time is linear in the rounds, almost through zero
    std::shared_ptr<Arithmetic> trial;
    Work work = arithmetic_work(gpus, what, trial);
    trial->rounds = static_cast<std::uint64_t>(rounds);
    Batch job(gpus, std::move(work));
    static_cast<void>(job.run(1));
    if (const double took = job.run(5).device; took > 0) rounds = std::clamp(rounds * wanted / took, 1.0, 1e12);
  }
  rounds = gpus.agreed(std::round(rounds));
  return gpus.arithmetic_rounds()[key] = static_cast<std::uint64_t>(rounds);
}

}  // namespace

static std::unique_ptr<Job> prepare_compute(Gpus& gpus, const Case& what) {
  const std::uint64_t rounds = rounds_as_long_as(gpus, what);
  std::shared_ptr<Arithmetic> arithmetic;
  Work work = arithmetic_work(gpus, what, arithmetic);
  arithmetic->rounds = rounds;
  arithmetic->enqueue();
  expect(*arithmetic);
  if (what.kind == ProbeKind::compute) return std::make_unique<Batch>(gpus, std::move(work));

  Case beside = what;
  beside.kind = ProbeKind::collective;
  static_cast<void>(prepare_collective(gpus, beside));  // its result is checked alone; beside arithmetic it is the same call
  Work both = collective_work(gpus, beside);
  for (Lane& lane : work.lanes) both.lanes.push_back(std::move(lane));
  both.keeps.push_back(arithmetic);
  both.enqueue = [communication = both.enqueue, arithmetic = arithmetic.get()] {
    communication();
    arithmetic->enqueue();
  };
  return std::make_unique<Batch>(gpus, std::move(both));
}

namespace {
const Prepares compute_probes{{ProbeKind::compute, ProbeKind::compute_overlap}, prepare_compute};
}  // namespace

}  // namespace fabricost::probes::measure::gpu
