#pragma once
/// Independent pieces of work on several threads.

#include <fabricost/namespaces.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace fabricost::core {

/// Processors of this machine, at least 1.
[[nodiscard]] inline std::size_t processors() { return std::max(1U, std::thread::hardware_concurrency()); }

/// visit(place) for 0 to count - 1, on this thread and `threads` - 1 others. The first exception ends them all; of several that of the
/// lowest place is thrown.
template <class Visit>
void on_threads(std::size_t count, std::size_t threads, const Visit& visit) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex one_at_a_time;
  std::exception_ptr failed;
  std::size_t failed_at = count;
  const auto work = [&] {
    for (std::size_t place = next++; place < count && !stop; place = next++) try {
        visit(place);
      } catch (...) {
        const std::scoped_lock lock(one_at_a_time);
        stop = true;
        if (place < failed_at) {
          failed_at = place;
          failed = std::current_exception();
        }
      }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(work);
    work();  // this thread is the one that can be interrupted (progress.hpp)
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace fabricost::core
