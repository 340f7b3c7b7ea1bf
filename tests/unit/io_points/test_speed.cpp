// The time and memory that reading a long log takes. The bounds are a slow machine's; the figures are printed.
#include "files.hpp"

#include <catch.hpp>

#include <fmt/format.h>

#include <sys/resource.h>
#include <cstdio>
#include <ctime>

using namespace fabricost::core;
using namespace fabricost::test;

namespace {

/// Sweeps of an all-reduce with noise that repeats every 997 rows, NCCL's own lines between them.
std::filesystem::path long_log(const Folder& folder, const char* name, int rows) {
  std::string text = "# Collective test starting: all_reduce_perf\n";
  for (int i = 0; i < 8; ++i)
    text += fmt::format("#  Rank {:2d} Group  0 Pid  61241 on  host0 device  {} [0x07] NVIDIA H100 80GB HBM3\n", i, i);
  text +=
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n";
  for (int i = 0; i < rows; ++i) {
    const double bytes = 1024.0 * static_cast<double>(1 << (i % 20)), us = (15 + bytes / 250e3) * (1 + 0.0001 * (i % 997)),
                 alg = bytes / us / 1e3;
    text += fmt::format("{:12.0f} {:13.0f} {:>9} {:>7} {:>7} {:8.2f} {:7.2f} {:7.2f} {:>6} {:8.2f} {:7.2f} {:7.2f} {:>6}\n", bytes,
                        bytes / 4, "float", "sum", -1, us, alg, alg * 1.75, 0, us, alg, alg * 1.75, 0);
    if (i % 4 == 0) text += "host0:4180122:4180165 [0] NCCL INFO Channel 00/24 : 0[0] -> 1[1] via P2P/CUMEM/read\n";
  }
  return folder.write(name, text);
}

/// Highest resident memory so far, in KiB.
long peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

double seconds_to_read(const std::filesystem::path& file, int rows) {
  const std::clock_t start = std::clock();  // of the processor: other programs may run
  const Points read = read_merged({file}, {.system = "dgx-h100"});
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  CHECK(read.points.size() == 20);
  int measured = 0;
  for (const Point& p : read.points) measured += p.repeats;
  CHECK(measured == 2 * rows);
  return took;
}

}  // namespace

TEST_CASE("a long log is read fast, in memory that does not grow with it") {
  const Folder folder;
  constexpr int rows = 160000;
  const auto small = long_log(folder, "small.log", rows), large = long_log(folder, "large.log", 3 * rows);
  double best = 1e9;
  for (int i = 0; i < 3; ++i) best = std::min(best, seconds_to_read(small, rows));
  const long before = peak_memory();
  (void)seconds_to_read(large, 3 * rows);
  const double megabytes = static_cast<double>(std::filesystem::file_size(small)) / 1e6;
  std::printf("reading nccl-tests text: %.0f MB/s (%.0f MB); %ld KiB more for three times as long a log\n", megabytes / best, megabytes,
              peak_memory() - before);
#ifdef NDEBUG
  CHECK(megabytes / best > 15);
#else
  std::puts("how fast is not checked: built for finding faults");
#endif
  CHECK(peak_memory() - before < 4096);
}
