#include "stacks.hpp"

#include <fabricost/plan/evaluation/workload.hpp>

#include <catch.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

struct Errors {
  std::vector<double> percent;
  [[nodiscard]] double median() const {
    auto sorted = percent;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size();
    return n == 0 ? 0 : (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  }
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const double e : percent) sum += e;
    return percent.empty() ? 0 : sum / static_cast<double>(percent.size());
  }
};

}  // namespace

TEST_CASE("published peaks of memory are predicted, by group", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  const auto rows = predict_memory_rows(read_training_rows(folder / "workloads" / "training.csv"));
  std::map<std::string, Errors> errors;
  for (const WorkloadRow& row : rows) {
    errors[row.group].percent.push_back(100 * std::abs(row.error()));
    std::printf("%s %-18s %7.2f %7.2f %+6.1f%%\n", row.id.c_str(), row.group.c_str(), row.measured, row.predicted, 100 * row.error());
  }
  std::printf("%-22s %4s %8s %8s\n", "group", "rows", "median %", "mean %");
  for (const auto& [group, e] : errors) std::printf("%-22s %4zu %8.1f %8.1f\n", group.c_str(), e.percent.size(), e.median(), e.mean());
  CHECK(errors["simumax_b200"].percent.size() == 22);
  CHECK(errors["simumax_b200"].median() <= 3);
  CHECK(errors["torchtitan_h100"].median() <= 5);
  CHECK(errors["bloom_jz_a100"].median() <= 4);
  CHECK(errors["kempner_h200_fsdp_tp"].median() <= 8);
}

TEST_CASE("peaks in the logs of MLPerf's Llama 405B are predicted on Hopper and Blackwell", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  Errors errors;
  for (const WorkloadRow& row : predict_memory_rows(read_training_rows(folder / "second" / "workloads" / "mlperf.csv"))) {
    if (row.group != "mlperf_405b_nvidia") continue;
    errors.percent.push_back(100 * std::abs(row.error()));
    std::printf("%s %7.2f %7.2f %+6.1f%%\n", row.id.c_str(), row.measured, row.predicted, 100 * row.error());
  }
  CHECK(errors.percent.size() >= 10);
  CHECK(errors.median() <= 4);
  CHECK(errors.mean() <= 4);
}

TEST_CASE("peaks of adapters on frozen fp8 weights are predicted, with graphs and without", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  Errors errors;
  for (const WorkloadRow& row : predict_memory_rows(read_training_rows(folder / "second" / "workloads" / "mlperf.csv"))) {
    if (!row.group.starts_with("mlperf_lora")) continue;
    errors.percent.push_back(100 * std::abs(row.error()));
    std::printf("%s %7.2f %7.2f %+6.1f%%\n", row.id.c_str(), row.measured, row.predicted, 100 * row.error());
  }
  CHECK(errors.percent.size() >= 10);
  CHECK(errors.median() <= 3);
  CHECK(errors.mean() <= 4);
}
