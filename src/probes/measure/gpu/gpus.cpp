/// Attributes, peers and agreement between processes.

#include "measure/gpu/gpus.hpp"

#include "measure/gpu/nccl_choice.hpp"

namespace fabricost::probes::measure::gpu {

Gpus::Gpus(int first, int count, int nodes, std::unique_ptr<Rendezvous> others)
    : first_(first), count_(count), nodes_(nodes), others_(std::move(others)) {}

int Gpus::ordinal(int gpu) const {
  if (gpu < 0 || gpu >= count_)
    throw Unsupported("there is no GPU " + std::to_string(gpu) + "; this process has " + std::to_string(count_));
  return first_ + gpu;
}

int Gpus::attribute(int gpu, int which) const {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, static_cast<decltype(cudaDevAttrL2CacheSize)>(which), ordinal(gpu)),
        "reading an attribute of GPU " + std::to_string(gpu));
  return value;
}
int Gpus::multiprocessors(int gpu) const { return attribute(gpu, cudaDevAttrMultiProcessorCount); }
std::uint64_t Gpus::l2_bytes(int gpu) const { return static_cast<std::uint64_t>(attribute(gpu, cudaDevAttrL2CacheSize)); }
int Gpus::compute(int gpu) const {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal(gpu)), "reading properties");
  return properties.major * 10 + properties.minor;
}

bool Gpus::can_reach(int from, int to) const {
  if (from == to) return true;
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, ordinal(from), ordinal(to)), "asking for peer access");
  return can != 0;
}

void Gpus::reach(int from, int to) {
  if (from == to || reached_.contains({from, to})) return;
  if (!can_reach(from, to))
    throw Unsupported("GPU " + std::to_string(from) + " has no peer access to GPU " + std::to_string(to) +
                      "; what it sends there goes through the host");
  use(ordinal(from));
  const cudaError_t status = cudaDeviceEnablePeerAccess(ordinal(to), 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled)
    static_cast<void>(cudaGetLastError());
  else
    check(status, "peer access of GPU " + std::to_string(from) + " to GPU " + std::to_string(to));
  reached_.insert({from, to});
}

const Buffer& Gpus::flusher(int gpu) {
  auto found = flushers_.find(gpu);
  if (found == flushers_.end()) {
    // where L2 is unknown, or (AMD) a larger cache is behind it: the Infinity Cache of an MI300X has 256 MiB
    const std::uint64_t l2 = l2_bytes(gpu), least = FABRICOST_HIP || l2 == 0 ? std::uint64_t{512} << 20U : 0;
    found = flushers_.emplace(gpu, Buffer(ordinal(gpu), std::max<std::uint64_t>(2 * l2, least))).first;
  }
  return found->second;
}

std::shared_ptr<Communicators> Gpus::communicators(const Case& what) {
  constexpr std::size_t kept = 3;
  const std::string key = communicator_key(what);
  for (auto entry = communicators_.begin(); entry != communicators_.end(); ++entry) {
    if (entry->first != key) continue;
    if (entry->second->broken()) {
      communicators_.erase(entry);
      break;
    }
    std::rotate(entry, entry + 1, communicators_.end());
    return communicators_.back().second;
  }
  if (communicators_.size() >= kept) communicators_.erase(communicators_.begin());  // before the new one allocates its memory
  std::vector<int> ordinals;
  for (const int gpu : what.gpus) ordinals.push_back(ordinal(gpu));
  auto made = std::make_shared<Communicators>(nccl_.library(what.nvls), ordinals, process(), processes(), nccl_environment(what),
                                              [this](void* bytes, std::size_t size) { broadcast(bytes, size); });
  communicators_.emplace_back(key, made);
  return made;
}

void Gpus::broadcast(void* bytes, std::size_t size) {
  try {
    if (others_) others_->broadcast(bytes, size);
  } catch (const RendezvousFault& fault) {
    throw DeviceLost(fault.what());
  }
}

double Gpus::highest(double value) {
  try {
    return others_ ? others_->highest(value) : value;
  } catch (const RendezvousFault& fault) {
    throw DeviceLost(fault.what());
  }
}

void Gpus::rethrow_as(int severity) {
  const std::string said = "in another process; its own message says why";
  switch (severity) {
    case 1: throw Unsupported("not supported " + said);
    case 2: throw OutOfMemory("out of memory " + said);
    case 3: throw WrongResult("wrong result " + said);
    case 4: throw DeviceFault("failed " + said);
    default: throw DeviceLost("a GPU was lost " + said);
  }
}

}  // namespace fabricost::probes::measure::gpu
