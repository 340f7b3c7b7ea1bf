/// A published layout ran, so it fits. How many are said not to?

#include "support/measurements.hpp"

#include <fabricost/plan/evaluation/workload.hpp>
#include <fabricost/plan/memory/memory.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <catch.hpp>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

struct Counted {
  int rows = 0, unfit = 0;
  void add(bool fits) { ++rows, unfit += fits ? 0 : 1; }
};

/// Rows whose layout, recomputation included, is stated, by group. Groups composed from profiles of single layers ran nowhere.
std::map<std::string, Counted> counted(const std::filesystem::path& table) {
  std::map<std::string, Counted> out;
  std::map<std::string, MemoryStack> stacks;
  TrainingMachines machines;
  for (const TrainingRow& job : read_training_rows(table)) {
    if (!job.row.skipped.empty() || !job.row.fully_specified || job.row.group.starts_with("vtrain")) continue;
    const auto [stack, fresh] = stacks.try_emplace(job.stack);
    if (fresh) stack->second = load_stack(job.stack).memory;
    const TrainingMachine& machine = machines.on(job.system, job.overrides, job.gpus);
    const double capacity = machine.gpu.memory;
    const MemoryUse use = worst_stage(job.model, job.layout, memory_on(stack->second, machine.system.gpu.generation));
    out[job.row.group].add(fits(use, capacity));
    if (!fits(use, capacity))
      std::printf("%s %s %s: %.1f of %.1f GiB\n", job.row.id.c_str(), job.row.group.c_str(), job.row.model.c_str(), use.total() / gibibyte,
                  capacity / gibibyte);
  }
  return out;
}

Counted sum(const std::map<std::string, Counted>& groups) {
  Counted out;
  for (const auto& [name, group] : groups) {
    std::printf("%-26s %3d of %3d do not fit\n", name.c_str(), group.unfit, group.rows);
    out.rows += group.rows;
    out.unfit += group.unfit;
  }
  return out;
}

}  // namespace

TEST_CASE("published layouts that ran fit, but for one in fifty", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  auto training = counted(folder / "workloads" / "training.csv");
  const Counted all = sum(training);
  CHECK(all.rows > 400);
  CHECK(all.unfit <= 0.02 * all.rows);
  for (const char* group : {"nemo_h100", "dgxc_h100", "mosaic_fsdp_h100", "mosaic_fsdp_a100-40g", "torchtitan_h100"})
    CHECK(training[group].unfit <= 0.05 * training[group].rows);
  const Counted mlperf = sum(counted(folder / "second" / "workloads" / "mlperf.csv"));
  CHECK(mlperf.rows >= 40);
  CHECK(mlperf.unfit <= 0.02 * mlperf.rows);
}
