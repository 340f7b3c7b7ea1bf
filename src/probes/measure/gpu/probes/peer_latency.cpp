/// peer_load, peer_store, peer_atomic: one thread of the first GPU of each pair accesses the second's memory,
/// one access after another.

#include "measure/gpu/probes/probes.hpp"

namespace fabricost::probes::measure::gpu {
namespace {

constexpr std::uint32_t stores = 4096;  // per launch; the same number of atomics

struct Access {
  int by, other;
  Buffer memory{};
  Ring ring{};
  Buffer end{};
  std::unique_ptr<Words> there{}, last{};
  cudaStream_t stream{};
};

bool has_native_atomics(const Gpus& gpus, int from, int to) {
#if FABRICOST_HIP
  static_cast<void>(gpus), static_cast<void>(from), static_cast<void>(to);
  return true;
#else
  int native = 0;
  check(cudaDeviceGetP2PAttribute(&native, cudaDevP2PAttrNativeAtomicSupported, gpus.ordinal(from), gpus.ordinal(to)),
        "asking for atomics between GPUs");
  return native != 0;
#endif
}

void enqueue(const Gpus& gpus, ProbeKind kind, const Access& a) {
  use(gpus.ordinal(a.by));
  switch (kind) {
    case ProbeKind::peer_load:
      return check(chase(static_cast<void* const*>(a.ring.start), a.ring.steps, false, a.end.as<void*>(), a.stream), "loading from a peer");
    case ProbeKind::peer_store: return check(store_and_fence(a.there->at(), stores, a.stream), "storing to a peer");
    default: return check(add_and_wait(a.there->at(), stores, a.last->at(), a.stream), "atomics on a peer");
  }
}

void expect(ProbeKind kind, const Access& a) {
  const std::string name = "GPU " + std::to_string(a.by) + " to GPU " + std::to_string(a.other);
  if (kind == ProbeKind::peer_load) {
    return expect_arrival(a.ring, a.end, a.stream, name);
  }
  if (const std::uint32_t found = a.there->read(a.stream)[0]; found != stores)
    throw WrongResult(name + ": " + std::to_string(stores) + " accesses left " + std::to_string(found));
  if (kind != ProbeKind::peer_atomic) return;
  if (const std::uint32_t before = a.last->read(a.stream)[0]; before != stores - 1)
    throw WrongResult(name + ": the last atomic returned " + std::to_string(before));
}

}  // namespace

static std::unique_ptr<Job> prepare_peer_latency(Gpus& gpus, const Case& what) {
  check_pairs(what);
  auto all = std::make_shared<std::vector<Access>>();
  Work work;
  work.graph = what.graph;
  for (const auto& [by, other] : what.pairs) {
    gpus.reach(by, other);
    if (what.kind == ProbeKind::peer_atomic && !has_native_atomics(gpus, by, other))
      throw Unsupported("GPU " + std::to_string(by) + " has no atomics on memory of GPU " + std::to_string(other));
    work.lanes.push_back(make_lane(gpus, by));
    Access access{by, other};
    access.stream = work.lanes.back().stream.handle();
    if (what.kind == ProbeKind::peer_load) {
      access.memory = Buffer(gpus.ordinal(other), ring_bytes(what.bytes == 0 ? ring_unless_said : what.bytes));
      access.ring = write_ring(access.memory.as<void>(), access.memory.bytes());
      access.end = Buffer(gpus.ordinal(by), sizeof(void*));
      access.end.poison();
    } else {
      access.there = std::make_unique<Words>(gpus.ordinal(other));
      access.last = std::make_unique<Words>(gpus.ordinal(by));
    }
    all->push_back(std::move(access));
  }
  work.repetitions_per_launch = what.kind == ProbeKind::peer_load ? all->front().ring.steps : stores;
  work.enqueue = [&gpus, kind = what.kind, all = all.get()] {
    for (const Access& access : *all) enqueue(gpus, kind, access);
  };
  work.keeps.push_back(all);
  work.enqueue();
  for (const Access& access : *all) expect(what.kind, access);
  return std::make_unique<Batch>(gpus, std::move(work));
}

namespace {
const Prepares peer_latency_probes{{ProbeKind::peer_load, ProbeKind::peer_store, ProbeKind::peer_atomic}, prepare_peer_latency};
}  // namespace

}  // namespace fabricost::probes::measure::gpu
