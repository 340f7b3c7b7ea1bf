// Calibrates a machine from a log: constants fitted to its points, and how far off predictions are before and after.
#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/readings/points.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

using namespace fabricost;

int main(int argc, char** argv) {
  try {
    const std::filesystem::path log = argc > 1 ? argv[1] : data_directory() / "measurements" / "dgx-h100-all-reduce.txt";
    const std::string system = argc > 2 ? argv[2] : "dgx-h100";
    const Calibration fit = calibrate(read_points(log, {.system = system}), {.system = system});
    std::printf("%d of %d constants narrowed by %d points; median error %.2f -> %.2f %%\n", fit.determined, fit.constants, fit.points,
                fit.median_before, fit.median_after);
    for (const CalibratedSet& set : fit.sets)
      for (const FittedConstant& constant : set.fitted)
        if (constant.determined)
          std::printf("  %-20s %-40s %12.6g (before: %.6g)\n", set.name.c_str(), std::string{constant.key}.c_str(), constant.value,
                      constant.prior);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
