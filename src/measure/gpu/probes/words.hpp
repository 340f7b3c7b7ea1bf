#pragma once
/// \file words.hpp
/// A few 32-bit words of one device in which kernels count, and their evaluation on the host.

#include "measure/gpu/resources.hpp"

#include <array>

namespace fabricost::measure::gpu {

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

/// The counting kernels set word 0 on any error and add up the errors in word 1 (which may wrap around).
/// \throws WrongResult
inline void expect_none_wrong(const Words& counted, cudaStream_t stream, const std::string& what, const std::string& unit) {
  const auto values = counted.read(stream);
  if (values[0] != 0) throw WrongResult(what + ": " + std::to_string(values[1]) + " " + unit + " are wrong");
}

}  // namespace fabricost::measure::gpu
