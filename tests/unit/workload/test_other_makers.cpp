// The error of assuming NVIDIA's shares of the peak for other makers' processors, by published steps priced without any of their own.
#include "support/measurements.hpp"
#include "support/written_file.hpp"

#include "text/csv.hpp"

#include <fabricost/plan/evaluation/workload.hpp>
#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <catch.hpp>

#include <cmath>
#include <map>
#include <set>
#include <string>

using namespace fabricost::plan;

namespace {

/// Rows of processors that are not NVIDIA's whose recomputation has a name; their MFU, where the figure is MaxText's own TFLOP/s.
std::string rows_of_other_makers(const std::filesystem::path& file, bool with_header) {
  CsvTable table(file);
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) out += (i == 0 ? "" : ",") + csv_quoted(cells[i]);
    out += "\n";
  };
  if (with_header) line(table.header());
  const std::set<std::string> known{"", "none", "selective", "full"};
  while (table.next()) {
    const auto cell = [&](const char* column) { return table.cell(table.column(column)); };
    const std::string gpu = cell("gpu");
    const bool other = gpu.starts_with("TPU") || gpu.starts_with("MI") || gpu.starts_with("Gaudi");
    if (!other || known.count(cell("recompute")) == 0 || cell("precision") == "INT8") continue;
    std::vector<std::string> cells;
    const bool maxtext = cell("measured_metric") == "model_tflops_per_gpu" && cell("secondary_metric") == "mfu_pct";
    for (std::size_t i = 0; i < table.header().size(); ++i) {
      const std::string& name = table.header()[i];
      cells.push_back(maxtext && name == "measured_metric" ? "mfu_pct"
                      : maxtext && name == "value"         ? cell("secondary_value")
                                                           : table.cell(static_cast<int>(i)));
    }
    line(cells);
  }
  return out;
}

}  // namespace

TEST_CASE("nine in ten published steps on AMD, TPU and Gaudi fall inside the interval, no wider than they need", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  const auto later = folder / "second" / "workloads";
  const fabricost::test::WrittenFile file(rows_of_other_makers(later / "newer_training.csv", true) + rows_of_other_makers(later / "mlperf.csv", false),
                               "fabricost_other_makers.csv");
  std::vector<TrainingRow> rows = read_training_rows(file.path());
  std::vector<TrainingRow> blind = rows;
  predict_training_rows(rows);
  predict_training_rows(blind, {.constants = [](Generation, ComputeConstants& c) { c = fabricost::core::compute_prior; }});
  int priced = 0, inside = 0;
  double square = 0;
  std::set<std::string> machines;
  for (const TrainingRow& r : rows) {
    if (!r.row.skipped.empty()) continue;
    CAPTURE(r.row.id, r.system, r.row.error());
    ++priced;
    machines.insert(r.system);
    inside += r.row.low <= r.row.measured && r.row.measured <= r.row.high ? 1 : 0;
  }
  for (const TrainingRow& r : blind)
    if (r.row.skipped.empty()) square += std::pow(std::log(r.row.predicted / r.row.measured), 2);
  CHECK(priced >= 20);
  CHECK(machines.size() >= 5);
  CHECK(inside >= 0.9 * priced);
  const double spread = std::sqrt(square / priced);
  CAPTURE(spread);
  CHECK(assumed_kernels_spread > 0.75 * spread);
  CHECK(assumed_kernels_spread < 1.5 * spread);
}

TEST_CASE("a step on processors without measurements is less sure than one on a generation that was", "[measured]") {
  const Stack stack = load_stack(unfitted_stack);
  const System h100 = load_system("dgx-h100"), gaudi = load_system("gaudi-3");
  CHECK_FALSE(kernels_assumed(h100));
  CHECK_FALSE(kernels_assumed(load_system("gb300-nvl72")));
  CHECK_FALSE(kernels_assumed(load_system("tpu-v7-cube")));
  CHECK_FALSE(kernels_assumed(load_system("mi300x-8")));
  CHECK_FALSE(kernels_assumed(load_system("mi355x-8")));
  for (const char* name : {"gaudi-3", "trn2"}) {
    INFO(name);
    CHECK(kernels_assumed(load_system(name)));
  }
  const auto [low, high] = interval_of(1, stack, gaudi, Precision::bf16);
  const double own = spread_of(stack, {Generation::gaudi, Precision::bf16});
  CHECK(std::log(high) == Approx(nine_in_ten * std::hypot(own, assumed_kernels_spread)));
  CHECK(low * high == Approx(1));
  CHECK(interval_of(1, stack, h100, Precision::bf16).second < high);
  System measured = gaudi;
  measured.constants.compute_basis = Basis::calibrated;  // as after a calibration of one's own
  CHECK(std::log(interval_of(1, stack, measured, Precision::bf16).second) == Approx(nine_in_ten * own));
}
