#pragma once
/// A compiled Curve at so many sizes that several threads share them, one stretch of independent sizes each.

#include <fabricost/predict/curve_array.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

namespace fabricost::core {

/// Sizes per thread from which starting it pays off: some ms of work.
inline constexpr std::size_t sizes_per_thread = std::size_t{1} << 20U;

namespace detail {
/// \param threads as requested; 0: one per sizes_per_thread, at least one, up to the number of processors
[[nodiscard]] inline std::size_t threads_for(std::size_t sizes, int threads) {
  if (threads > 0) return static_cast<std::size_t>(threads);
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  return std::clamp<std::size_t>(sizes / sizes_per_thread, 1, processors);
}
}  // namespace detail

/// evaluate_some with several threads.
[[nodiscard]] inline std::size_t evaluate_some(const Curve& curve, std::span<const double> bytes, double* seconds, int threads) {
  const std::size_t blocks = (bytes.size() + detail::block_size - 1) / detail::block_size;
  const std::size_t count = std::min(detail::threads_for(bytes.size(), threads), std::max<std::size_t>(1, blocks));
  if (count == 1) return evaluate_some(curve, bytes, seconds);
  const std::size_t each = (blocks + count - 1) / count * detail::block_size;
  std::vector<std::size_t> done(count);
  const auto work = [&](std::size_t k) {
    const std::size_t first = std::min(bytes.size(), k * each);
    done[k] = first + evaluate_some(curve, bytes.subspan(first, std::min(each, bytes.size() - first)), seconds + first);
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t k = 1; k < count; ++k) others.emplace_back(work, k);
    work(0);
  }
  for (std::size_t k = 0; k < count; ++k)
    if (done[k] < std::min(bytes.size(), (k + 1) * each)) return done[k];
  return bytes.size();
}

/// evaluate with `threads` threads; 0: one, and more for millions of sizes. \throws as evaluate
inline void evaluate(const Curve& curve, std::span<const double> bytes, std::span<double> seconds, int threads) {
  if (bytes.size() != seconds.size()) throw RequestError("as many times as sizes are wanted: the two spans differ in length");
  if (threads < 0 || threads > 1024) throw RequestError(std::to_string(threads) + " threads; take 1 to 1024, or 0 for as many as pay");
  if (evaluate_some(curve, bytes, seconds.data(), threads) != bytes.size()) throw_bad_size(bytes);
}

}  // namespace fabricost::core
