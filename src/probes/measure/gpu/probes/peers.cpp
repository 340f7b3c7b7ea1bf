/// peer_copy (copy engines), peer_read and peer_write (loads and stores of the multiprocessors): every pair
/// concurrently, one way or both.

#include "measure/gpu/probes/probes.hpp"

#include <algorithm>
#include <map>

namespace fabricost::probes::measure::gpu {
namespace {

// One direction of one pair, executed by `by`.
struct Crossing {
  int by, other;
  Buffer near{}, far{};  ///< of `by`, of `other`
  std::unique_ptr<Words> sum{};
  unsigned blocks = 1;
  std::uint32_t seed = 0;
  cudaStream_t stream{};
};

std::vector<std::pair<int, int>> directions(const Case& what) {
  std::vector<std::pair<int, int>> all;
  for (const auto& [from, to] : what.pairs) {
    all.emplace_back(from, to);
    if (what.both_ways) all.emplace_back(to, from);
  }
  return all;
}

std::string name_of(const Crossing& c, std::uint64_t bytes) {
  return "GPU " + std::to_string(c.by) + " and GPU " + std::to_string(c.other) + ", " + std::to_string(bytes) + " bytes";
}

// Checks on the GPU that holds the bytes, not on the sender.
void expect_words(const Gpus& gpus, int gpu, const Buffer& buffer, std::uint32_t seed, const std::string& name) {
  const Lane lane = make_lane(gpus, gpu);
  const Words wrong(gpus.ordinal(gpu));
  check(count_wrong_bytes(buffer.as<void>(), buffer.bytes(), seed, Content::words, wrong.at(), lane.stream.handle()), "checking");
  expect_none_wrong(wrong, lane.stream.handle(), name, "bytes");
}
void fill(const Gpus& gpus, int gpu, const Buffer& buffer, std::uint32_t seed) {
  const Lane lane = make_lane(gpus, gpu);
  check(fill_words(buffer.as<void>(), buffer.bytes(), seed, Content::words, lane.stream.handle()), "filling");
  check(cudaStreamSynchronize(lane.stream.handle()), "filling");
}

using Crossings = std::vector<Crossing>;

std::unique_ptr<Job> crossing_job(Gpus& gpus, const Case& what, std::shared_ptr<Crossings> all, std::vector<Lane> lanes,
                                  const std::function<void(const Crossing&)>& cross, const std::function<void(const Crossing&)>& expect) {
  Work work;
  work.lanes = std::move(lanes);
  const bool direct = std::all_of(all->begin(), all->end(), [&](const Crossing& c) { return gpus.can_reach(c.by, c.other); });
  work.graph = what.graph && direct;
  work.gated = direct;  // copies through the host may make it wait
  work.cold = what.cold;
  work.enqueue = [&gpus, all = all.get(), cross] {
    for (const Crossing& c : *all) {
      use(gpus.ordinal(c.by));
      cross(c);
    }
  };
  work.keeps.push_back(all);
  work.enqueue();
  for (const Crossing& c : *all) check(cudaStreamSynchronize(c.stream), "trying");
  for (const Crossing& c : *all) expect(c);
  return std::make_unique<Batch>(gpus, std::move(work));
}

}  // namespace

void check_pairs(const Case& what) {
  if (what.pairs.empty()) throw Unsupported("a probe between GPUs needs pairs");
  for (const auto& [from, to] : what.pairs)
    if (from == to) throw Unsupported("GPU " + std::to_string(from) + " is no pair with itself");
}

static std::unique_ptr<Job> prepare_peer_copy(Gpus& gpus, const Case& what) {
  check_pairs(what);
  if (what.bytes == 0) throw Unsupported("a copy needs bytes");
  auto all = std::make_shared<Crossings>();
  std::vector<Lane> lanes;
  for (const auto& [from, to] : directions(what)) {
    // without peer access the runtime copies through the host: the rate that programs get on this machine
    if (gpus.can_reach(from, to)) gpus.reach(from, to);
    if (gpus.can_reach(to, from)) gpus.reach(to, from);
    lanes.push_back(make_lane(gpus, from));
    const auto seed = static_cast<std::uint32_t>(all->size()) + 1;
    all->push_back({from, to, Buffer(gpus.ordinal(from), what.bytes), Buffer(gpus.ordinal(to), what.bytes), nullptr, 1, seed,
                    lanes.back().stream.handle()});
    fill(gpus, from, all->back().near, seed);
    all->back().far.poison();
  }
  const auto copy = [&gpus](const Crossing& c) {
    check(cudaMemcpyPeerAsync(c.far.as<void>(), gpus.ordinal(c.other), c.near.as<void>(), gpus.ordinal(c.by), c.near.bytes(), c.stream),
          "copying to a peer");
  };
  const auto expect = [&](const Crossing& c) { expect_words(gpus, c.other, c.far, c.seed, name_of(c, what.bytes)); };
  return crossing_job(gpus, what, all, std::move(lanes), copy, expect);
}

static std::unique_ptr<Job> prepare_peer_access(Gpus& gpus, const Case& what) {
  check_pairs(what);
  if (what.bytes == 0) throw Unsupported("loads and stores need bytes");
  const bool reads = what.kind == ProbeKind::peer_read;
  std::map<int, unsigned> kernels;  // concurrent kernels of one GPU, which share its multiprocessors instead of waiting for each other
  for (const auto& [by, other] : directions(what)) ++kernels[by];
  auto all = std::make_shared<Crossings>();
  std::vector<Lane> lanes;
  for (const auto& [by, other] : directions(what)) {
    gpus.reach(by, other);
    lanes.push_back(make_lane(gpus, by));
    const auto seed = static_cast<std::uint32_t>(all->size()) + 1;
    const unsigned blocks = std::max(1U, blocks_on(gpus, by, reads ? 0 : 1, what.bytes) / kernels[by]);
    all->push_back({by, other, Buffer(), Buffer(gpus.ordinal(other), what.bytes), std::make_unique<Words>(gpus.ordinal(by)), blocks, seed,
                    lanes.back().stream.handle()});
    if (reads)
      fill(gpus, other, all->back().far, seed);
    else
      all->back().far.poison();
  }
  const auto cross = [reads](const Crossing& c) {
    if (reads)
      check(read_memory(c.far.as<void>(), c.far.bytes(), 1, c.sum->at(2), c.blocks, c.stream), "reading from a peer");
    else
      check(write_memory(c.far.as<void>(), c.far.bytes(), 1, c.seed, c.blocks, c.stream), "writing to a peer");
  };
  const auto expect = [&](const Crossing& c) {
    if (!reads) return expect_words(gpus, c.other, c.far, c.seed, name_of(c, what.bytes));
    use(gpus.ordinal(c.by));
    check(sum_of_words(what.bytes, c.seed, c.sum->at(3), c.stream), "summing");
    if (const auto sums = c.sum->read(c.stream); sums[2] != sums[3])
      throw WrongResult(name_of(c, what.bytes) + ": the sum of what was read is wrong");
  };
  return crossing_job(gpus, what, all, std::move(lanes), cross, expect);
}

namespace {
const Prepares peer_copy_probes{{ProbeKind::peer_copy}, prepare_peer_copy};
const Prepares peer_access_probes{{ProbeKind::peer_read, ProbeKind::peer_write}, prepare_peer_access};
}  // namespace

}  // namespace fabricost::probes::measure::gpu
