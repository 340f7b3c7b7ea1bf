/// \file memory.cpp
/// /proc/meminfo, the limits of control groups (version 2), aligned allocation.

#include "measure/mpi/host/memory.hpp"

#include "measure/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace fabricost::probes::measure::mpi {

namespace {

std::uint64_t meminfo(std::string_view key) {
  std::ifstream in{"/proc/meminfo"};
  std::string word;
  for (std::uint64_t kilobytes = 0; in >> word; std::getline(in, word))
    if (word == key && in >> kilobytes) return kilobytes * 1024;
  return 0;
}

/// Remaining memory of its own control group; the largest number if unknown.
std::uint64_t left_in_group() {
  std::uint64_t max = 0, used = 0;
  std::ifstream limit{"/sys/fs/cgroup/memory.max"}, current{"/sys/fs/cgroup/memory.current"};
  if (!(limit >> max) || !(current >> used)) return ~std::uint64_t{0};  // "max", or no group of its own
  return max > used ? max - used : 0;
}

}  // namespace

std::uint64_t available_memory() {
  const std::uint64_t host = meminfo("MemAvailable:");
  return host == 0 ? 0 : std::min(host, left_in_group());
}

std::uint64_t total_memory() { return meminfo("MemTotal:"); }

Buffer::Buffer(std::uint64_t bytes) : size_(bytes) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t whole = (std::max<std::uint64_t>(bytes, 1) + page - 1) / page * page;
  bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(page, whole)));
  if (!bytes_) throw OutOfMemory(fmt::format("no {} B of host memory", whole));
}

void Buffer::Free::operator()(std::byte* p) const { std::free(p); }

}  // namespace fabricost::probes::measure::mpi
