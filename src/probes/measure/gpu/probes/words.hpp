#pragma once
/// \file words.hpp
/// A few 32-bit words of one device in which kernels count, and their evaluation on the host.

#include "measure/checks/pattern.hpp"
#include "measure/gpu/resources.hpp"

#include <array>

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
inline void expect_words_on_host(const HostBuffer& host, std::uint32_t seed, const std::string& name) {
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

}  // namespace fabricost::probes::measure::gpu
