#pragma once
/// The probes of the plugin, by kind, and the few words of a device in which kernels count.

#include "measure/checks/pattern.hpp"
#include "measure/gpu/batch.hpp"
#include "measure/gpu/resources.hpp"

#include <array>
#include <initializer_list>
#include <memory>

namespace fabricost::probes::measure::gpu {

class Words {
 public:
  explicit Words(int ordinal) : buffer_(ordinal, sizeof(std::array<std::uint32_t, 4>)) { buffer_.fill(0); }
  [[nodiscard]] std::uint32_t* at(std::size_t word = 0) const { return buffer_.as<std::uint32_t>() + word; }
  void clear() const { buffer_.fill(0); }
  /// Reads them after all work enqueued on this stream.
  [[nodiscard]] std::array<std::uint32_t, 4> read(cudaStream_t stream) const {
    check(cudaStreamSynchronize(stream), "waiting for a check");
    std::array<std::uint32_t, 4> values{};
    check(cudaMemcpy(values.data(), buffer_.as<void>(), sizeof values, cudaMemcpyDefault), "reading a check");
    return values;
  }

 private:
  Buffer buffer_;
};

/// Byte `i` of fill_words' words, on the host.
[[nodiscard]] inline unsigned char byte_of_words(std::uint64_t i, std::uint32_t seed) {
  return static_cast<unsigned char>(pattern_word(i / 4, seed) >> (8 * (i % 4)));
}
/// \throws WrongResult unless host memory holds fill_words' words
inline void expect_words_on_host(const Memory& host, std::uint32_t seed, const std::string& name) {
  std::uint64_t different = 0;
  for (std::uint64_t i = 0; i < host.bytes(); ++i) different += host.as<unsigned char>()[i] != byte_of_words(i, seed) ? 1 : 0;
  if (different != 0) throw WrongResult(name + ": " + std::to_string(different) + " bytes are wrong");
}

/// The counting kernels set word 0 on any error and add up the errors in word 1 (which may wrap around).
/// \throws WrongResult
inline void expect_none_wrong(const Words& counted, cudaStream_t stream, const std::string& what, const std::string& unit) {
  const auto values = counted.read(stream);
  if (values[0] != 0) throw WrongResult(what + ": " + std::to_string(values[1]) + " " + unit + " are wrong");
}

/// Makes a case ready. \throws Unsupported, OutOfMemory, WrongResult, DeviceFault, DeviceLost
using Prepare = std::unique_ptr<Job> (*)(Gpus& gpus, const Case& what);

/// Registers the kinds that a source prepares, when the plugin is loaded: `const Prepares
/// these{{ProbeKind::...}, function};`
class Prepares {
 public:
  Prepares(std::initializer_list<ProbeKind> kinds, Prepare prepare) {
    for (const ProbeKind kind : kinds) all()[static_cast<std::size_t>(kind)] = prepare;
  }
  /// nullptr if no source registered it.
  [[nodiscard]] static Prepare of(ProbeKind kind) { return all()[static_cast<std::size_t>(kind)]; }

 private:
  static std::array<Prepare, probe_table.size()>& all() {
    static std::array<Prepare, probe_table.size()> known{};
    return known;
  }
};

/// Also used by compute_overlap, which adds to it.
[[nodiscard]] std::unique_ptr<Job> prepare_collective(Gpus& gpus, const Case& what);
/// The work of a checked collective; compute_overlap adds to it.
[[nodiscard]] Work collective_work(Gpus& gpus, const Case& what);
/// Blocks of a kernel of memory.cu (numbered as in blocks_per_multiprocessor) that fill this GPU.
[[nodiscard]] unsigned blocks_on(const Gpus& gpus, int gpu, int kernel, std::uint64_t bytes);
/// A chase's ring and the loads of one launch.
struct Ring {
  std::uint64_t steps = 0;
  void* start = nullptr;
  void* end = nullptr;  ///< expected final address of a launch
};
/// The bytes of the lines that a ring of at most `bytes` consists of. \throws Unsupported for too few or too many
[[nodiscard]] std::uint64_t ring_bytes(std::uint64_t bytes);
/// Writes a ring into memory that the current device reaches, as many bytes as ring_bytes says.
[[nodiscard]] Ring write_ring(void* memory, std::uint64_t bytes);
/// The ring of a latency beyond caches, unless a case says its size.
inline constexpr std::uint64_t ring_unless_said = std::uint64_t{1} << 20U;
/// \throws WrongResult unless the chase on this stream ended where its ring leads to
void expect_arrival(const Ring& ring, const Buffer& end, cudaStream_t stream, const std::string& name);
/// The GPUs of a case between GPUs and their host: all at once, or one.
[[nodiscard]] inline std::vector<int> beside_host(const Case& what) { return what.gpus.empty() ? std::vector{what.gpu} : what.gpus; }
/// \throws Unsupported when a case does not name a pair of two GPUs
void check_pairs(const Case& what);

}  // namespace fabricost::probes::measure::gpu
