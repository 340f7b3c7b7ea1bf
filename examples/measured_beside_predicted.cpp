/// Reads an nccl-tests log (or a point CSV) and puts a prediction beside every measured time.
///
///   measured_beside_predicted [LOG [SYSTEM]]

#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>
#include <fabricost/validation/validate.hpp>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  using namespace fabricost;
  try {
    const std::filesystem::path log = argc > 1 ? argv[1] : data_directory() / "measurements" / "dgx-h100-all-reduce.txt";
    const std::string system = argc > 2 ? argv[2] : "dgx-h100";

    const Points measured = read_points(log, {.system = system});
    const ValidationReport report = validate(measured);

    std::printf("%10s %12s %12s %8s  %s\n", "size", "measured", "predicted", "error", "runs");
    for (const ComparedPoint& p : report.points)
      std::printf("%10s %12s %12s %+7.1f%%  %s %s\n", size_text(Bytes::from_value(p.point.bytes)).c_str(),
                  time_text(Time::from_value(p.point.seconds)).c_str(), time_text(p.prediction.time()).c_str(), 100 * p.error(),
                  p.prediction.algorithm.c_str(), p.prediction.protocol.c_str());
    for (const Skipped& s : report.skipped) std::printf("skipped %d rows: %s\n", s.rows, s.reason.c_str());
    std::printf("median error %.1f %%, %.0f %% of the points within their interval\n", report.total.median_ape,
                100 * report.total.interval_coverage);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
